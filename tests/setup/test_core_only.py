"""The course without numba-cuda, CUDA wheels, Triton and PyTorch: what a Mac has, and less."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.server import copy_course
from tests.setup.clean_venv import CleanVenv, clean_venv
from warpwise import curriculum
from warpwise.setup import probes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.env,
    pytest.mark.skipif(sys.platform == "win32", reason="the environment is laid out as on Unix"),
]

ABSENT = ("numba_cuda", "triton", "cuda", "torch")
SUITES = ("tests/simt", "tests/check", "tests/authoring")


def core_requirements() -> list[str]:
    """The pinned set as macOS gets it.

    PyTorch is left out as well: its Linux wheels bring the CUDA libraries and Triton along.
    """
    kept = []
    for line in (probes.ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines():
        pin = line.partition("#")[0].strip()
        if pin and "sys_platform" not in pin and not pin.startswith("torch=="):
            kept.append(pin)
    return kept


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CleanVenv]:
    """One environment for all tests of this file."""
    folder = tmp_path_factory.mktemp("core")
    course = copy_course(probes.ROOT, folder / "course")
    with clean_venv(folder / "env", course) as made:
        made.pip_install(*core_requirements())
        made.run(made.python, "warpwise/setup/environment.py", "--here")
        yield made


def test_the_course_runs_with_numbas_core_alone(venv: CleanVenv) -> None:
    """Nothing optional is there; doctor, simulator tests and the first solution are fine."""
    code = "import importlib.util, json, sys; " + (
        "print(json.dumps([bool(importlib.util.find_spec(name)) for name in sys.argv[1:]]))"
    )
    assert json.loads(venv.run(venv.python, "-c", code, *ABSENT)) == [False] * len(ABSENT)

    report = json.loads(venv.run(venv.python, "-m", "warpwise", "doctor", "--json"))
    assert report["ok"]
    absent = {line["topic"] for line in report["findings"] if line["status"] == "absent"}
    assert {"Compiler", "Triton", "PyTorch"} <= absent

    suites = [name for name in SUITES if (venv.course / name).is_dir()]
    said = venv.run(venv.python, "-m", "pytest", "-q", "-m", "not slow and not env", *suites)
    assert " passed" in said.splitlines()[-1], said[-2000:]

    unit = curriculum.load().written[0]
    solution = f"solutions/{unit.tier}/{unit.solution.name}"
    output = venv.folder.parent / "solution.ipynb"
    venv.run(venv.python, "-m", "papermill", "-k", "warpwise", solution, output)
    statuses = [
        data["status"]
        for cell in json.loads(Path(output).read_text(encoding="utf-8"))["cells"]
        for out in cell.get("outputs", [])
        for mime, data in out.get("data", {}).items()
        if mime == "application/vnd.warpwise.record+json"
    ]
    assert statuses and set(statuses) == {"pass"}
