"""System packages for the tests: installed where that may be done, otherwise said."""

from __future__ import annotations

import pytest

from warpwise.setup import system


def test_any_of_a_packages_commands_will_do() -> None:
    """Chromium has three names; bubblewrap is missing here."""
    present = {"google-chrome"}
    assert system.missing_packages(lambda name: name if name in present else None) == ["bubblewrap"]


def test_nothing_is_installed_for_someone_who_is_not_root(
    monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    """The exact command is offered, and the exit status stays 0."""
    monkeypatch.setattr(system, "missing_packages", lambda: ["chromium"])
    monkeypatch.setattr(system, "why_not", lambda: "this is not root")
    monkeypatch.setattr(system, "install", lambda missing: pytest.fail("must not install"))
    assert system.main() == 0
    assert capsys.readouterr().out == (
        "Not installed, because this is not root: chromium.  Tests that need them will be left "
        "out.\nOn Debian or Ubuntu:  sudo apt-get install chromium\n"
    )


def test_root_on_debian_gets_them_installed(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Only what is missing is asked for."""
    asked: list[list[str]] = []
    monkeypatch.setattr(system, "missing_packages", lambda: ["bubblewrap"])
    monkeypatch.setattr(system, "why_not", lambda: None)
    monkeypatch.setattr(system, "install", lambda missing: asked.append(missing) or True)
    assert system.main() == 0
    assert asked == [["bubblewrap"]]
    assert capsys.readouterr().out == "Installing bubblewrap for the tests\n"


def test_a_failed_install_is_said_and_does_not_stop(
    monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    """Tests then run without the package and list what they left out."""
    monkeypatch.setattr(system, "missing_packages", lambda: ["bubblewrap"])
    monkeypatch.setattr(system, "why_not", lambda: None)
    monkeypatch.setattr(system, "install", lambda missing: False)
    assert system.main() == 0
    assert "Not installed, because apt-get failed: bubblewrap." in capsys.readouterr().out
