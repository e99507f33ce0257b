"""Making the environment: what is checked first, what a failure says, when nothing is done."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from warpwise.setup import environment
from warpwise.setup.environment import SetupError, explain_pip_failure

ROOT = environment.ROOT


@pytest.mark.parametrize("version", [(3, 10), (3, 15), (2, 7)])
def test_an_unsuitable_python_is_refused(version: tuple[int, int]) -> None:
    """The message names the version found, the ones that work, and how to choose one."""
    with pytest.raises(SetupError) as caught:
        environment.check_python(version)
    assert str(caught.value) == (
        f"This is Python {version[0]}.{version[1]}; the course needs 3.11, 3.12, 3.13 or 3.14.\n"
        "Install one of them, or name one you have:  make lab PYTHON=/path/to/python3.12"
    )


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13), (3, 14, 2)])
def test_a_suitable_python_passes(version: tuple[int, ...]) -> None:
    """Both ends of the range are in it."""
    environment.check_python(version)


def test_a_missing_venv_module_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian ships venv apart; the message names its package for this Python."""
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SetupError) as caught:
        environment.check_venv_module()
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    assert str(caught.value) == (
        "This Python cannot make virtual environments: its venv module is not installed.\n"
        f"On Debian or Ubuntu:  sudo apt-get install {package}\n"
        "Then run the same command again."
    )


@pytest.mark.parametrize(
    ("said", "begins"),
    [
        ("OSError: [Errno 28] No space left on device", "The disk is full."),
        ("[Errno 122] Disk quota exceeded", "Your disk quota is used up."),
        (
            "NewConnectionError: Temporary failure in name resolution\n"
            "ERROR: No matching distribution found for torch==2.13.0",
            "The package index could not be reached.",
        ),
        (
            "SSLError(SSLCertVerificationError(1, 'CERTIFICATE_VERIFY_FAILED'))",
            "The package index was reached, but its certificate was not accepted.",
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement jupyterlab==4.6.6 "
            "(from versions: none)\nERROR: No matching distribution found for jupyterlab==4.6.6",
            "The package index could not be reached.",
        ),
        ("ERROR: No matching distribution found for torch", "A pinned package has no build"),
        ("[Errno 13] Permission denied: '.venv'", "A file could not be written."),
        ("error: something else", "pip could not install the packages."),
    ],
)
def test_pip_failures_become_sentences(said: str, begins: str, tmp_path: Path) -> None:
    """The cause comes first, also when pip's last line says something else."""
    assert explain_pip_failure(said, tmp_path).startswith(begins)


def test_a_failed_install_shows_pips_words_and_the_sentence(tmp_path: Path) -> None:
    """An index that nobody listens on: pip's last lines, the sentence, the log's place."""
    venv = tmp_path / "venv"
    fake = environment.venv_python(venv)
    fake.parent.mkdir(parents=True)
    fake.write_text("#!/bin/sh\necho 'Collecting numpy'\necho 'Network is unreachable'\nexit 1\n")
    fake.chmod(0o755)
    shown: list[str] = []
    with pytest.raises(SetupError) as caught:
        environment.pip_install(venv, ["numpy"], shown.append)
    assert shown == ["  numpy"]
    assert str(caught.value) == (
        "Collecting numpy\nNetwork is unreachable\n\n"
        "The package index could not be reached.  Check the network (and HTTPS_PROXY where one is "
        "needed), then run the same command again.\n"
        f"All that pip said is in {venv / environment.LOG}"
    )


def ready_environment(tmp_path: Path) -> tuple[Path, Path]:
    """A course folder and an environment whose stamp says it is finished."""
    root, venv = tmp_path / "course", tmp_path / "course/.venv"
    python = environment.venv_python(venv)
    python.parent.mkdir(parents=True)
    python.write_text("")
    (root / "requirements.txt").write_text("numpy==1\n")
    stamp = environment.fingerprint(root, venv)
    (venv / environment.STAMP).write_text(json.dumps(stamp))
    return root, venv


def test_a_finished_environment_is_left_alone(tmp_path: Path) -> None:
    """The second run does nothing at all."""
    root, venv = ready_environment(tmp_path)
    assert environment.prepare(root, venv, pytest.fail) is False


def test_changed_requirements_are_noticed(tmp_path: Path) -> None:
    """A pull that changes a pin leads to a reinstall."""
    root, venv = ready_environment(tmp_path)
    (root / "requirements.txt").write_text("numpy==2\n")
    assert not environment.is_ready(root, venv)


def test_a_moved_course_is_noticed(tmp_path: Path) -> None:
    """Scripts of an environment name its place, so a moved one is made anew."""
    root, _ = ready_environment(tmp_path)
    moved = tmp_path / "elsewhere"
    root.rename(moved)
    assert not environment.is_ready(moved, moved / ".venv")
    assert not environment.is_usable(moved / ".venv")


@pytest.mark.parametrize("stamp", ["", "{", "[]", '"x"'])
def test_a_corrupted_stamp_counts_as_none(stamp: str, tmp_path: Path) -> None:
    """Anything unreadable leads to a fresh look, never to a crash."""
    root, venv = ready_environment(tmp_path)
    (venv / environment.STAMP).write_text(stamp)
    assert environment.read_stamp(venv) == {}
    assert not environment.is_ready(root, venv)


def test_a_half_made_environment_is_not_usable(tmp_path: Path) -> None:
    """An interrupted run leaves a Python without pip, or none."""
    assert not environment.is_usable(tmp_path / "none")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    assert not environment.is_usable(venv)


def run_make(target: str, path: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs make in this course with a PATH of the test's own, into no environment."""
    return subprocess.run(
        [shutil.which("make") or "make", target, *(f"{k}={v}" for k, v in variables.items())],
        cwd=ROOT,
        env={"PATH": path, "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with a shell and nothing else: a machine without Python."""
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "sed", "awk", "echo"):
        (folder / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    return folder


def test_make_without_python_says_what_to_install(tools: Path) -> None:
    """Two ways out: install one, or name one."""
    done = run_make("env", str(tools))
    assert done.returncode != 0
    assert "No Python from 3.11 to 3.14 was found." in done.stderr
    assert "make lab PYTHON=/path/to/python3.12" in done.stderr


def test_make_skips_a_python_that_does_not_start(tools: Path) -> None:
    """A version manager's shim exists and fails; the next candidate is taken."""
    for name, body in (("python3", "exit 127"), ("python3.12", 'echo "took $0" "$@"')):
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    done = run_make("env", str(tools))
    assert done.returncode == 0, done.stderr
    assert "python3.12 warpwise/setup/environment.py --venv .venv" in done.stdout


def test_make_refuses_a_named_python_that_is_too_old(tools: Path) -> None:
    """PYTHON= is taken at its word: no silent fallback."""
    (tools / "python3").write_text("#!/bin/sh\nexit 0\n")
    (tools / "python3").chmod(0o755)
    done = run_make("env", str(tools), PYTHON="python2.7")
    assert done.returncode != 0
    assert "PYTHON=python2.7 is not a Python from 3.11 to 3.14" in done.stderr


def test_make_help_lists_the_targets(tools: Path) -> None:
    """`make` alone explains itself, before anything is installed."""
    done = run_make("help", str(tools))
    assert done.returncode == 0
    for target in ("lab", "test", "check", "build", "grade", "gpu-test", "fmt", "clean"):
        assert f"make {target} " in done.stdout
