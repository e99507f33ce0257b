"""The doctor: what each finding says, and which of them stop the course."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from warpwise import doctor
from warpwise.setup import probes
from warpwise.setup.probes import Finding

FINE = Finding("NumPy", "ok", "2.4.6")
NO_GPU = Finding("GPU", "absent", "none found; every lab can be finished on the simulator")
GPU = Finding("GPU", "ok", "NVIDIA T4, 580.65, 15360 MiB, 7.5; ran a kernel")
BROKEN = Finding("Simulator", "broken", "does not run: ImportError", "pip install x")


def with_findings(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> None:
    """Lets the doctor see these findings instead of this machine."""
    monkeypatch.setattr(doctor, "examine", lambda: list(findings))


def test_no_gpu_is_no_failure(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """The course runs without a GPU, so the exit status is 0."""
    with_findings(monkeypatch, FINE, NO_GPU)
    assert doctor.main([]) == 0
    assert capsys.readouterr().out == (
        "ok      NumPy      2.4.6\n"
        "absent  GPU        none found; every lab can be finished on the simulator\n"
        "\n"
        "The course runs here, on the simulator.\n"
    )


def test_a_working_gpu_is_said(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """The last line says where kernels run."""
    with_findings(monkeypatch, FINE, GPU)
    assert doctor.main([]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "The course runs here, and kernels run on the GPU."


def test_a_broken_cpu_path_fails_and_says_what_mends_it(
    monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    """Exit status 1, the topic named, the command on its own line."""
    with_findings(monkeypatch, FINE, NO_GPU, BROKEN)
    assert doctor.main(["--quiet"]) == 1
    assert capsys.readouterr().out == (
        "broken  Simulator  does not run: ImportError\n"
        "                   to mend it:  pip install x\n"
        "\n"
        "The course does not run here yet: Simulator.\n"
    )


def test_quiet_says_nothing_when_all_is_well(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Set-up calls it this way."""
    with_findings(monkeypatch, FINE, NO_GPU)
    assert doctor.main(["--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_json_holds_the_same_findings(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Tools read the same facts as people."""
    with_findings(monkeypatch, NO_GPU, BROKEN)
    assert doctor.main(["--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert (facts["ok"], facts["gpu"]) == (False, False)
    assert facts["findings"][1] == BROKEN.to_dict()


def test_need_gpu_refuses_with_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """`make gpu-test` stops here on a machine without a GPU."""
    monkeypatch.setattr(doctor, "probe_gpu", lambda cuda: NO_GPU)
    assert doctor.main(["--need-gpu"]) == 3
    assert capsys.readouterr().err == (
        "This needs an NVIDIA GPU that works: none found; every lab can be finished on the "
        "simulator.\n"
    )


@pytest.mark.parametrize(
    ("cuda", "ptx", "gpu_runs", "status", "text"),
    [
        (None, (9, 0), False, "absent", "no NVIDIA driver; lessons run on the simulator"),
        ((13, 0), (9, 0), False, "ok", "supports CUDA 13.0 and reads the compiler's PTX 9.0"),
        ((13, 4), (9, 0), False, "ok", "supports CUDA 13.4 and reads the compiler's PTX 9.0"),
        ((12, 4), None, False, "ok", "supports CUDA 12.4"),
        ((12, 4), (9, 0), True, "ok", "supports CUDA 12.4"),
        (
            (12, 4),
            (9, 0),
            False,
            "absent",
            "supports CUDA 12.4 and reads PTX up to 8.4; the compiler writes PTX 9.0, so kernels "
            "do not run on this GPU and the simulator is used",
        ),
        (
            (11, 8),
            (9, 0),
            False,
            "absent",
            "supports CUDA 11.8 and reads PTX up to 7.8; the compiler writes PTX 9.0, so kernels "
            "do not run on this GPU and the simulator is used",
        ),
    ],
)
def test_the_driver_is_compared_with_the_compiler(
    cuda: tuple[int, int] | None,
    ptx: tuple[int, int] | None,
    gpu_runs: bool,
    status: str,
    text: str,
) -> None:
    """An old driver and a new compiler: both versions and what follows."""
    finding = probes.probe_driver(cuda, ptx, gpu_runs)
    assert (finding.status, finding.text) == (status, text)


def test_an_old_driver_comes_with_the_release_that_works() -> None:
    """The step that mends it names the driver release."""
    finding = probes.probe_driver((12, 4), (9, 0), False)
    assert finding.mend == "install NVIDIA driver 580 or newer"


def test_a_package_that_crashes_does_not_take_the_doctor_along() -> None:
    """Packages are tried in another process."""
    works, said = probes.run_python("-c", "import os; os.abort()")
    assert not works
    assert said


def test_a_failing_import_is_told_in_its_own_last_line() -> None:
    """The traceback stays out, the error is kept."""
    works, said = probes.run_python("-c", "import no_such_package")
    assert (works, said) == (False, "ModuleNotFoundError: No module named 'no_such_package'")


def test_a_missing_package_is_broken_only_where_nothing_runs_without_it() -> None:
    """Optional packages are absent, needed ones broken."""
    needed = probes.probe_import("X", "no-such-package", True, "nothing runs without it")
    optional = probes.probe_import("X", "no-such-package", False, "one lesson is left out")
    assert (needed.status, optional.status) == ("broken", "absent")
    assert needed.text == "not installed; nothing runs without it"
    assert needed.mend == probes.REINSTALL


def test_a_machine_without_the_compiler_says_what_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On macOS there is nothing to mend, so no command is offered."""
    monkeypatch.setattr(probes, "version_of", lambda package: None)
    monkeypatch.setattr(probes.sys, "platform", "darwin")
    finding, ptx = probes.probe_compiler()
    assert finding == Finding(
        "Compiler",
        "absent",
        "no wheels for macOS; what the real compiler says about a kernel is left out",
    )
    assert ptx is None


def test_the_real_compiler_writes_the_ptx_the_requirements_promise() -> None:
    """requirements.txt says PTX 9.0; drivers from release 580 on read it."""
    if probes.version_of("numba-cuda") is None:
        pytest.skip("numba-cuda is not installed")
    finding, ptx = probes.probe_compiler()
    assert finding.status == "ok", finding.text
    assert ptx == (9, 0)


@pytest.mark.slow
def test_the_doctor_finds_this_machine_fit() -> None:
    """The whole command, as a person types it."""
    done = subprocess.run(
        [sys.executable, "-m", "warpwise", "doctor"],
        cwd=probes.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1].startswith("The course runs here")
