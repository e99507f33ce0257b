"""Every public name of numba.cuda is in the simulator's `cuda`, or refused with an alternative."""

from __future__ import annotations

import types as python_types
from typing import Any

import numpy as np
import pytest

from warpwise.simt import SimtError, install, uninstall
from warpwise.simt import api as ours
from warpwise.simt.install import _ABSENT
from warpwise.simt.install import _saved as installed
from warpwise.simt.kernel import Kernel
from warpwise.simt.refusals import ALTERNATIVES, alternative
from warpwise.simt.symbols import DEVICE_NAMES, Symbol

theirs = pytest.importorskip("numba.cuda")
pytest.importorskip("numba_cuda")

# Without what an installed simulator adds.
NAMES = sorted(
    name for name in dir(theirs)
    if not name.startswith("_") and (theirs, name, _ABSENT) not in installed
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _numbas_own() -> Any:
    """numba.cuda as it comes: other tests may have installed the simulator."""
    uninstall()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_works_or_says_what_to_use(name: str) -> None:
    """Types and modules are Numba's own, host functions and device names ours; the rest is refused
    with what to write instead."""
    instead = "" if name in DEVICE_NAMES else alternative(name)
    if instead:
        with pytest.raises(AttributeError) as error:
            getattr(ours, name)
        assert str(error.value) == f"cuda.{name} is not in the simulator: {instead}."
        assert len(instead) > 20
        return
    mine, numbas = getattr(ours, name), getattr(theirs, name)
    if name == "warpsize":
        assert mine == 32
    elif isinstance(mine, Symbol):
        assert mine.name == name
    elif mine is not numbas:  # a function or class of ours for one of Numba's
        assert type(mine).__module__.startswith(("warpwise.simt", "builtins", "numba"))
        assert callable(mine) == callable(numbas)
        assert name in ours.__all__ or name == "bfloat16"
    else:
        driverless = name in ours.NUMBAS_OWN or not isinstance(numbas, python_types.FunctionType)
        assert driverless, "would ask for a driver"


def test_refusals_name_what_exists() -> None:
    """No alternative for a name that numba.cuda does not have."""
    assert set(ALTERNATIVES) <= set(NAMES)


@pytest.mark.parametrize("name", [n for n in NAMES if alternative(n)])
def test_a_refused_name_is_refused_in_a_kernel_too(name: str) -> None:
    """The same words, with the line."""
    text = f"@cuda.jit\ndef k(out):\n    v = cuda.{name}(out, 0)\n    out[0] = 1\n"
    with pytest.raises(SimtError) as error:
        Kernel.from_source(text, "k")[1, 1](np.zeros(3))
    assert f"cuda.{name} is not in the simulator\n  line 3:" in str(error.value)
    assert alternative(name)[1:] in str(error.value)


def test_a_misspelt_name() -> None:
    """Not everything that is missing was ever there."""
    with pytest.raises(AttributeError, match="cuda has no sharde: check the spelling"):
        ours.sharde  # noqa: B018
    text = "@cuda.jit\ndef k(out):\n    out[0] = cuda.threadIdX.x\n"
    with pytest.raises(SimtError, match=r"no threadIdX\n.*\n  Did you mean cuda.threadIdx"):
        Kernel.from_source(text, "k")[1, 1](np.zeros(3))


def test_installing_makes_numba_cuda_ours_and_back() -> None:
    """Every host name of ours takes the place of Numba's, and gives it back."""
    before = {name: getattr(theirs, name, None) for name in ours.__all__}
    install()
    try:
        assert all(getattr(theirs, name) is getattr(ours, name) for name in ours.__all__)
        device = theirs.to_device(np.zeros(3))
        assert isinstance(device, theirs.cudadrv.devicearray.DeviceNDArray)
        assert theirs.devicearray.is_cuda_ndarray(device)
    finally:
        uninstall()
    assert {name: getattr(theirs, name, None) for name in ours.__all__} == before
