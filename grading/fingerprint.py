"""What a result depends on, as short digests: equal digests, equal outcome.

engine    the text of the library that judges, and of the grader's judging modules
spec      one exercise's spec: its data, and the code of its functions with all they use
library   the text of what a student's process runs on

A digest is 32 hexadecimal digits of sha256.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import json
import platform
import re
import types
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from warpwise.curriculum import COURSE

_HERE = Path(__file__).parent
_SPECS = COURSE / "warpwise" / "check" / "specs"
# Of the grader: what reads, runs and takes down answers, and what judges them.
_ASKING = (
    "answers", "cells", "child", "client", "evidence", "kernels", "library", "parse", "probe",
    "questions", "rebuild", "rounds", "run", "tiles", "wire",
)  # fmt: skip
_JUDGING = ("apart", "evidence", "kernels", "tiles", "verify", "wire")
_PACKAGES = ("numpy", "numba", "torch", "triton", "ipykernel")
_NOT_JUDGING = ("authoring", "setup", "show")
_NOT_STUDENTS = ("authoring", "check", "setup")
_TEXT = (".py", ".json", ".toml")


class UnknownKind(TypeError):
    """A value whose meaning cannot be told from its data."""


def digest(*parts: Any) -> str:
    """The digest of plain data: numbers, texts, lists, dictionaries."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@functools.cache
def engine() -> str:
    """The digest of all that judges, but for the specs themselves."""
    files = (path for path in _library(_NOT_JUDGING) if _SPECS not in path.parents)
    ours = (_HERE / f"{name}.py" for name in _JUDGING)
    return digest(_texts([*files, *ours]), _environment())


@functools.cache
def library() -> str:
    """The digest of what a student's process runs on, and of what takes down its answers."""
    ours = (_HERE / f"{name}.py" for name in _ASKING)
    return digest(_texts([*_library(_NOT_STUDENTS), *ours]), _environment())


def spec(value: Any) -> str:
    """The digest of a spec with all that judges by it.

    Where something in it cannot be told from its data, the texts of all specs stand for it.
    """
    try:
        content = of(value)
    except UnknownKind:
        content = _all_specs()
    return digest("spec", engine(), content)


def of(value: Any) -> str:
    """The digest of a value by its content.  Raises UnknownKind."""
    return digest(_Walk().of(value))


@functools.cache
def _all_specs() -> str:
    return digest(_texts(_SPECS.glob("*.py")))


def _library(left_out: Iterable[str]) -> Iterable[Path]:
    """Files of the library that have a say, without these of its packages."""
    top = COURSE / "warpwise"
    for path in top.rglob("*"):
        if path.suffix in _TEXT and path.relative_to(top).parts[0] not in left_out:
            yield path


def _texts(paths: Iterable[Path]) -> list[list[str]]:
    """[place, digest of the bytes] of each file, in order of places."""
    found = ((str(path.relative_to(COURSE)), path) for path in paths)
    return [[name, hashlib.sha256(path.read_bytes()).hexdigest()] for name, path in sorted(found)]


def _environment() -> list[str]:
    """Python and the packages that compute; another version may round in another way."""
    found = [platform.python_version()]
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return found


class _Walk:
    """Turns values into plain data that is equal where they mean the same."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no id is given twice

    def of(self, value: Any) -> Any:
        """Plain data for `value`; what was seen before is told by its number."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return [type(value).__name__, repr(value)]
        if id(value) in self._known:
            return ["again", self._known[id(value)]]
        self._known[id(value)] = len(self._known)
        self._kept.append(value)
        return self._container(value) or self._data(value) or self._code(value)

    def _container(self, value: Any) -> Any:
        kind = type(value).__name__
        if isinstance(value, (tuple, list)):
            return [kind, [self.of(one) for one in value]]
        if isinstance(value, Mapping):
            return [kind, [[self.of(key), self.of(one)] for key, one in value.items()]]
        if isinstance(value, (set, frozenset)):
            return [kind, sorted(digest(_Walk().of(one)) for one in value)]
        return None

    def _data(self, value: Any) -> Any:
        if isinstance(value, np.ma.MaskedArray):
            return ["masked", self.of(np.ma.getmaskarray(value)), self.of(value.filled())]
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind != "O":
            array = np.asarray(value)
            content = hashlib.sha256(array.tobytes("C")).hexdigest()
            return ["array", str(array.dtype), list(array.shape), content]
        if type(value).__module__ == "torch" and hasattr(value, "untyped_storage"):
            data = bytes(value.detach().cpu().contiguous().clone().untyped_storage())
            shown = [str(value.dtype), list(value.shape)]
            return ["tensor", *shown, hashlib.sha256(data).hexdigest()]
        if isinstance(value, np.dtype):
            return ["dtype", str(value)]
        if isinstance(value, enum.Enum):
            return ["enum", type(value).__qualname__, value.name]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [[one.name, self.of(getattr(value, one.name))] for one in _fields(value)]
            return ["data", _name(type(value)), fields]
        if isinstance(value, (range, slice)) or value is Ellipsis:
            return ["plain", repr(value)]
        if isinstance(value, re.Pattern):
            return ["pattern", self.of(value.pattern), value.flags]
        return None

    def _code(self, value: Any) -> Any:
        if isinstance(value, types.CodeType):
            consts = [self.of(one) for one in value.co_consts]
            names = [list(value.co_names), list(value.co_varnames), list(value.co_freevars)]
            return ["code", value.co_code.hex(), consts, names]
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, functools.partial):
            parts = (value.func, value.args, value.keywords)
            return ["partial", *(self.of(part) for part in parts)]
        if isinstance(value, types.MethodType):
            return ["method", self.of(value.__func__), self.of(value.__self__)]
        wrapped = getattr(value, "__wrapped__", None)
        if isinstance(wrapped, types.FunctionType):  # such as by functools.cache
            return ["wrapped", type(value).__name__, self._function(wrapped)]
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__, _unhashed_text(value)]
        if isinstance(value, type):
            return ["class", _name(value), _unhashed_text(inspect.getmodule(value))]
        if isinstance(value, (types.BuiltinFunctionType, np.ufunc)):
            return ["builtin", _name(value)]
        if _is_ours(type(value)) and hasattr(value, "__dict__"):
            return ["object", self.of(type(value)), self.of(vars(value))]
        raise UnknownKind(f"{type(value).__module__}.{type(value).__qualname__}")

    def _function(self, function: types.FunctionType) -> Any:
        """Its code, defaults and closure; of the specs' own functions also the globals they use."""
        cells = [_content(cell) for cell in function.__closure__ or ()]
        found = [_name(function), self.of(function.__code__)]
        found += [self.of(part) for part in (function.__defaults__, function.__kwdefaults__, cells)]
        if _unhashed_text(inspect.getmodule(function)):
            used = sorted(_names(function.__code__) & function.__globals__.keys())
            found.append([[name, self.of(function.__globals__[name])] for name in used])
        return ["function", *found]


def _fields(value: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(value)


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _names(code: types.CodeType) -> set[str]:
    """Global and attribute names in a function and in the functions inside it."""
    inner = (one for one in code.co_consts if isinstance(one, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _is_ours(kind: type) -> bool:
    """Whether a class is the course's: its text counts, here or in `engine`."""
    path = _file(module) if (module := inspect.getmodule(kind)) else None
    return path is not None and _is_inside(path)


def _is_inside(path: Path) -> bool:
    """Whether a file is part of the course."""
    return COURSE.resolve() in path.parents and ".venv" not in path.parts


@functools.cache
def _file(module: types.ModuleType) -> Path | None:
    name = getattr(module, "__file__", None)
    return Path(name).resolve() if name else None


def _unhashed_text(module: types.ModuleType | None) -> str:
    """The digest of a module of the course's that `engine` leaves out; "" for any other."""
    path = _file(module) if module is not None else None
    if path is None or not _is_inside(path):
        return ""
    inside = path.relative_to(COURSE.resolve()).parts
    if inside[0] == "warpwise" and inside[1] not in _NOT_JUDGING and _SPECS.name not in inside:
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()
