"""The README of the grader: its commands parse, and its first fifteen minutes happen as written."""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from grading.__main__ import main
from grading.commands import COMMANDS
from warpwise import curriculum
from warpwise.curriculum import COURSE

README = (COURSE / "grading" / "README.md").read_text(encoding="utf-8")
LINES = re.findall(r"^python -m grading (.+)$", README, re.MULTILINE)
FIRST = README.partition("# Handing the course out")[0]
UNIT = "t1_01_threads"


@pytest.mark.parametrize("line", LINES)
def test_every_command_parses(line: str) -> None:
    """Its name and all its options are there."""
    name, *words = shlex.split(line)
    command = importlib.import_module(COMMANDS[name])
    parser = argparse.ArgumentParser(exit_on_error=False)
    command.arguments(parser)

    parser.parse_args(words)


def test_every_command_is_described() -> None:
    """A command that the README does not show is found by nobody."""
    shown = re.findall(r"python -m grading ([\w-]+)", README)

    assert set(shown) == set(COMMANDS)


@pytest.mark.slow
def test_the_first_fifteen_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pilot, class, policy, rescore, publish, export, question: as the lines stand."""
    monkeypatch.chdir(tmp_path)
    unit = curriculum.load().unit(UNIT)
    folder = tmp_path / "submissions"
    folder.mkdir()
    shutil.copy(unit.solution, folder / "ada.ipynb")
    shutil.copy(unit.lab, folder / "bob.ipynb")
    Path("class.csv").write_text(
        "login,submitted\nada,2026-03-03 10:00\nbob,2026-03-01 10:00\ncyd,\n", encoding="utf-8"
    )
    Path("exported.csv").write_text(
        "Student,ID,SIS Login ID,Section,Lab 1 (7)\n    Points Possible,,,,12\n"
        "Ada,1,ada,,\nBob,2,bob,,\nCyd,3,cyd,,\n",
        encoding="utf-8",
    )
    lines = re.findall(r"^python -m grading (.+)$", FIRST, re.MULTILINE)
    pilot, *others = [shlex.split(line) for line in lines]
    graded = [word for word in pilot if word != "--pilot"]
    assert pilot != graded

    assert main([*pilot, "--jobs", "1"]) == 0
    assert main([*graded, "--jobs", "1"]) == 0
    assert len(json.loads(Path("results/class.json").read_text())["students"]) == 3
    (policy,) = re.findall(r"^```toml\n(.*?)^```", FIRST, re.MULTILINE | re.DOTALL)
    Path("policy.toml").write_text(policy, encoding="utf-8")
    for line in others:
        assert main(line) == 0, line
    said = capsys.readouterr().out

    assert "Stopped after the pilot." in said and "Wrote" in said
    text = Path("results/exports/canvas.csv").read_text(encoding="utf-8")
    book = {row[2]: row[4] for row in csv.reader(text.splitlines())}
    # Ada's extension makes her early; an exercise is withdrawn with full marks for who handed in,
    # and Bob has two points more.
    assert (book["ada"], book["bob"], book["cyd"]) == ("12", "3", "0")
    assert Path("ada-again.ipynb").exists()
