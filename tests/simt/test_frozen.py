"""Globals are frozen at compilation: a change shows in a note, never in a value."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warpwise.observe import profile
from warpwise.simt import KernelNote
from warpwise.simt import api as cuda

SCALE = 2
TABLE = np.array([1.0, 2.0])
PAIR = (1, 2.5)


class Settings:
    OFFSET = 10


@cuda.jit(device=True)
def scaled(x):
    return x * SCALE


def kernel() -> Any:
    """A new kernel that reads every kind of global."""

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        out[i] = scaled(i) + TABLE[1] + PAIR[1] + Settings.OFFSET + SCALE

    return k


def launch(k: Any, dtype: Any = np.float64) -> tuple[list[float], list[str]]:
    """(out, notes)"""
    out = np.zeros(2, dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        k[1, 2](out)
    return out.tolist(), [str(w.message) for w in caught if w.category is KernelNote]


def test_a_changed_global_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launch goes on with the old value, as on a GPU, and says so the first time."""
    k = kernel()
    before, notes = launch(k)
    assert (before, notes) == ([16.5, 18.5], [])
    monkeypatch.setattr("tests.simt.test_frozen.SCALE", 3)
    after, notes = launch(k)
    assert after == before
    assert sorted(notes) == [
        f"{name}: SCALE was 2 when this was compiled and is 3 now; the launch uses 2, as on a GPU."
        f"\n  Pass SCALE as an argument, or define {name} again after the change."
        for name in ("k", "scaled")
    ]
    assert launch(k) == (before, [])


def test_contents_attributes_and_rebinding_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array changed in place, a class attribute, a tuple, another function of the same name."""
    k = kernel()
    before, _ = launch(k)
    monkeypatch.setattr(Settings, "OFFSET", 11)
    monkeypatch.setattr("tests.simt.test_frozen.PAIR", (1, 3.5))
    monkeypatch.setattr("tests.simt.test_frozen.scaled", cuda.jit(device=True)(scaled.py_func))
    TABLE[1] = 7
    try:
        after, notes = launch(k)
    finally:
        TABLE[1] = 2
    assert after == before
    told = "\n".join(notes)
    assert "Settings.OFFSET was 10 when this was compiled and is 11 now" in told
    assert "PAIR was (1, 2.5) when this was compiled and is (1, 3.5) now" in told
    assert "TABLE was array([1., 2.]) when this was compiled and is array([1., 7.]) now" in told
    assert "scaled has been defined anew since this was compiled; the launch uses the old" in told


def test_observed_runs_use_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """profile() lowers the kernel again, with the globals of the first launch."""
    k = kernel()
    before, _ = launch(k)
    monkeypatch.setattr("tests.simt.test_frozen.SCALE", 5)
    monkeypatch.setattr("tests.simt.test_frozen.PAIR", (1, 3.5))
    out = np.zeros(2)
    profile(k[1, 2], out)
    assert out.tolist() == before


def test_other_argument_types_are_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Numba: a new set of types reads the globals of now, and says nothing."""
    k = kernel()
    launch(k)
    monkeypatch.setattr("tests.simt.test_frozen.PAIR", (1, 3.5))
    assert launch(k, np.float32) == ([17.5, 19.5], [])


def test_closures_are_frozen_too() -> None:
    """A variable of the function that makes the kernel."""
    size = 4

    def change() -> None:
        nonlocal size
        size = 8

    @cuda.jit
    def k(out):
        out[cuda.grid(1)] = size

    assert launch(k) == ([4, 4], [])
    change()
    out, notes = launch(k)
    assert out == [4, 4]
    assert notes[0].startswith("k: size was 4 when this was compiled and is 8 now")


def test_an_attribute_of_an_object_is_refused() -> None:
    """Numba reads attributes of modules and classes only."""
    settings = SimpleNamespace(n=3)

    @cuda.jit
    def k(out):
        out[0] = settings.n

    with pytest.raises(Exception, match="an attribute of a Python SimpleNamespace cannot be read"):
        launch(k)
