"""binder/: the steps that Binder takes, in its order, and the first lab within its memory."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.browser.server import copy_course
from tests.setup.clean_venv import CleanVenv, PeakMemory, clean_venv
from warpwise import curriculum
from warpwise.check.record import MIME

COURSE = curriculum.COURSE
BINDER = COURSE / "binder"
# What mybinder.org gives a session.  Source: its documentation, "User guidelines", memory limit.
MEMORY_BYTES = 2 * 2**30
INDEX_OPTION = re.compile(r"^--extra-index-url (\S+)$", re.MULTILINE)


def apt_packages() -> list[str]:
    """Names in apt.txt, comments left out, as repo2docker reads them."""
    lines = (BINDER / "apt.txt").read_text(encoding="utf-8").splitlines()
    return [name for line in lines if (name := line.partition("#")[0].strip())]


def test_apt_lists_plain_package_names() -> None:
    """repo2docker refuses anything but a name on a line."""
    assert apt_packages()
    for name in apt_packages():
        assert re.fullmatch(r"[a-z0-9.+-]+", name)


def test_the_binder_set_is_the_pinned_set() -> None:
    """One list of versions for everybody: binder/ adds an index and no version of its own."""
    lines = (BINDER / "requirements.txt").read_text(encoding="utf-8").splitlines()
    orders = [line for line in lines if line and not line.startswith("#")]
    assert orders[-1] == "-r ../requirements.txt"
    assert len(orders) == 2 and INDEX_OPTION.match(orders[0])


def test_the_python_is_one_that_the_course_supports() -> None:
    """repo2docker reads python-X.Y from runtime.txt."""
    found = re.fullmatch(r"python-3\.(\d+)\n", (BINDER / "runtime.txt").read_text())
    assert found and 11 <= int(found[1]) <= 14


def test_a_failing_line_stops_the_build() -> None:
    """Without set -e a failed step makes an image that looks fine."""
    lines = (BINDER / "postBuild").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "#!/bin/bash"
    assert next(line for line in lines if not line.startswith("#")) == "set -e"


def test_start_hands_over_to_what_binder_runs() -> None:
    """The last line replaces the script by JupyterLab, with its arguments as they were."""
    assert (BINDER / "start").read_text(encoding="utf-8").splitlines()[-1] == 'exec "$@"'


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_scripts_may_be_run(name: str) -> None:
    """git keeps the bit."""
    assert os.access(BINDER / name, os.X_OK)


def leave_out_unreachable_index(requirements: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without PyTorch's index the same version comes from the default one; that is said."""
    text = requirements.read_text(encoding="utf-8")
    index = INDEX_OPTION.search(text)
    assert index
    try:
        urllib.request.urlopen(index[1], timeout=10).close()
    except OSError:
        requirements.write_text(text.replace(index[0], ""), encoding="utf-8")
        with capsys.disabled():
            print(f"\nnot reached: {index[1]}; PyTorch comes from the default index")


def run_first_lab(venv: CleanVenv, output: Path) -> int:
    """Runs the first lab beside a JupyterLab server.  Returns the peak memory of both, in bytes."""
    unit = curriculum.load().written[0]
    lab = f"mine/{unit.tier}/{unit.lab.name}"
    options = ["--no-browser", "--ServerApp.port=0", "--ServerApp.root_dir=.", "--allow-root"]
    log = (output.parent / "jupyterlab.log").open("w")
    with (
        log,
        subprocess.Popen(
            ["binder/start", venv.python, "-m", "jupyterlab", *options],
            cwd=venv.course,
            env=venv.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        ) as server,
    ):
        try:
            watch = PeakMemory(os.getpid())
            watch.start()
            command = ["-m", "papermill", "-k", "warpwise", "--no-progress-bar"]
            venv.run(venv.python, *command, lab, output)
            assert server.poll() is None, Path(log.name).read_text()
            return watch.stop()
        finally:
            server.terminate()


@pytest.mark.slow
@pytest.mark.env
@pytest.mark.skipif(sys.platform != "linux", reason="Binder is Linux; its steps are tested there")
def test_binders_steps_lead_to_the_first_lab(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """apt, pip, postBuild and start in a clean environment; then the first lab within 2 GB."""
    course = copy_course(COURSE, tmp_path / "course")
    for name in apt_packages():
        assert shutil.which(name), f"apt.txt lists {name}; install it to run this test"
    leave_out_unreachable_index(course / "binder/requirements.txt", capsys)
    output = tmp_path / "lab.ipynb"
    with clean_venv(tmp_path / "env", course) as venv:
        venv.pip_install("-r", "binder/requirements.txt")
        venv.run("binder/postBuild")
        peak = run_first_lab(venv, output)
    assert (course / "mine/START.md").exists()
    cells = json.loads(output.read_text(encoding="utf-8"))["cells"]
    outputs = [out for cell in cells for out in cell.get("outputs", [])]
    statuses = [out["data"][MIME]["status"] for out in outputs if MIME in out.get("data", {})]
    assert statuses and set(statuses) == {"todo"}
    with capsys.disabled():
        print(f"\nfirst lab and JupyterLab on Binder: {peak / 2**20:.0f} MiB at the peak")
    assert peak < MEMORY_BYTES
