"""The registry: one module per unit, each with a list `SPECS` in the order of its exercises."""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
from collections.abc import Mapping

from ..spec import Spec


class UnknownExerciseError(LookupError):
    """No exercise has this name; the message names the nearest one."""


@functools.cache
def all_specs() -> Mapping[str, Spec]:
    """Every spec by name, in the order of the units.

    Raises ValueError when two exercises share a name.
    """
    found: dict[str, Spec] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__)):
        for spec in importlib.import_module(f"{__name__}.{module}").SPECS:
            if spec.name in found:
                raise ValueError(f"two exercises are called {spec.name!r}")
            found[spec.name] = spec
    return found


def get(name: str) -> Spec:
    """The spec of an exercise; raises UnknownExerciseError with the nearest names."""
    specs = all_specs()
    if name in specs:
        return specs[name]
    near = difflib.get_close_matches(str(name), specs, n=1)
    guess = f'  Did you mean "{near[0]}"?' if near else ""
    raise UnknownExerciseError(f'There is no exercise called "{name}".{guess}')


def for_unit(unit: str) -> list[Spec]:
    """The specs of a unit, in order: `for_unit("t1_01_threads")`."""
    return [spec for spec in all_specs().values() if spec.unit == unit]
