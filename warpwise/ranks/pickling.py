"""Sends a function from a notebook to ranks, and what it returns back.

cloudpickle pickles functions of a notebook by value, but drops the name of the file that their
code came from; tracebacks would then lose the cell.  Here code objects keep it.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import pickle
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle

from . import sites

LARGE = 10_000_000  # bytes; every rank gets its own copy of what a function carries


def _code(file: str, make: Callable[..., types.CodeType], *parts: Any) -> types.CodeType:
    return make(*parts).replace(co_filename=file)


class Pickler(cloudpickle.Pickler):
    """cloudpickle's, with file names of code; tensors on a GPU arrive in the CPU's memory."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.files: set[str] = set()

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.CodeType):
            self.files.add(obj.co_filename)
            make, parts = cloudpickle.Pickler.dispatch_table[types.CodeType](obj)[:2]
            return _code, (obj.co_filename, make, *parts)
        torch = sys.modules.get("torch")  # not loaded: there are no tensors
        if torch is not None and isinstance(obj, torch.Tensor) and obj.is_cuda:
            return obj.cpu().__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return super().reducer_override(obj)


def dumps(value: Any) -> tuple[bytes, set[str]]:
    """The pickle of a value and the files that its code came from."""
    buffer = io.BytesIO()
    pickler = Pickler(buffer)
    pickler.dump(value)
    return buffer.getvalue(), pickler.files


def dumps_call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Pickle a call for the ranks.

    A function of the learner's own module travels by value, as one of a notebook does: ranks
    then run what this process has, need not import the file, and start faster.

    Raises: TypeError that names what cannot be pickled.
    Warns: RuntimeWarning that names what is large.
    """
    module = sys.modules.get(getattr(fn, "__module__", None) or "")
    by_value = (
        module is not None
        and module.__name__ != "__main__"
        and sites.is_learners(getattr(module, "__file__", None) or "<none>")
        and module.__name__ not in cloudpickle.list_registry_pickle_by_value()
    )
    if by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        call, files = dumps((fn, args, kwargs))
        payload, _ = dumps((sites.sources(files), call))
    except Exception as error:
        raise TypeError(_why_not(fn, args, kwargs, error)) from None
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)
    if len(payload) > LARGE:
        warnings.warn(_what_is_large(fn, args, kwargs, len(payload)), RuntimeWarning, stacklevel=3)
    return payload


def loads_call(payload: Any) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The function and its arguments; sources of cells become known to tracebacks."""
    texts, call = pickle.loads(payload)
    sites.remember(texts)
    return pickle.loads(call)


def _carried(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """What travels with a call, by name: variables of the function, then its arguments."""
    pending, seen = [fn], set()
    while pending:
        function = inspect.unwrap(pending.pop())
        owner = getattr(function, "__self__", None)
        if owner is not None and not inspect.ismodule(owner):
            yield "the object whose method it is", owner
        function = getattr(function, "__func__", getattr(function, "func", function))
        if id(function) in seen or not isinstance(function, types.FunctionType):
            continue
        seen.add(id(function))
        found = inspect.getclosurevars(function)
        for name, value in {**found.nonlocals, **found.globals}.items():
            if isinstance(value, types.FunctionType):
                pending.append(value)
            yield f"`{name}`", value
    for place, value in enumerate(args):
        yield f"argument {place + 1}", value
    for name, value in kwargs.items():
        yield f"argument `{name}`", value


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", None) or type(fn).__name__


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def _why_not(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> str:
    for name, value in _carried(fn, args, kwargs):
        try:
            dumps(value)
        except Exception:
            return (
                f"{_name(fn)} cannot be sent to the ranks: it carries {name}, "
                f"a {_kind(value)}, which cannot be pickled ({error}). "
                f"Make it inside the function, so that each rank has its own."
            )
    return f"{_name(fn)} cannot be sent to the ranks: it cannot be pickled ({error})."


def _size(value: Any) -> int:
    try:
        return len(dumps(value)[0])
    except Exception:
        return 0


def _what_is_large(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], total: int) -> str:
    sized = {name: (_size(value), value) for name, value in _carried(fn, args, kwargs)}
    large = sorted(sized.items(), key=lambda item: -item[1][0])[:3]
    parts = [f"{n} ({_kind(v)}, {s / 1e6:,.1f} MB)" for n, (s, v) in large if s > LARGE / 10]
    what = ", ".join(parts) or "many objects"
    return (
        f"{_name(fn)} carries {total / 1e6:,.1f} MB to every rank: {what}. "
        f"Each rank gets its own copy. Make large tensors inside the function, from a seed."
    )


def loads(block: bytes) -> Any:
    """What a rank returned."""
    return pickle.loads(block)


@contextlib.contextmanager
def nameless_file(payload: bytes) -> Iterator[int]:
    """A descriptor of a file that holds the bytes and has no name: it is gone when all close it."""
    with tempfile.TemporaryFile(prefix="warpwise-") as file:
        file.write(payload)
        file.flush()
        yield file.fileno()
