"""Kernels and device functions: what `@cuda.jit` makes of a function.

A kernel is lowered once for each set of argument types, at its first launch with them; its globals
are frozen then, as Numba does it.
"""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import native, typing
from .arguments import Argument, bind, write_back
from .capacity import CapacityError
from .device import get_current_device
from .errors import (
    LaunchError,
    SimtError,
    SourceError,
    TypingError,
    UnsupportedError,
    at_line,
)
from .frozen import FrozenScope, told
from .inspection import Inspectable, Overload
from .launch import Observer, Run, check_shared, configuration, shared_bytes
from .names import parameters_of
from .native import types_of
from .options import check_bounds, check_options
from .program import Note, Program, Val
from .signatures import same_bits
from .source import LiveScope, Scope, Source, TextScope, functions_in, source_of
from .statements import Function
from .streams import check_stream
from .typing import STATIC, Type
from .waiting import run_waiting

ORDERS = ("lockstep", "warp-serial")
_LOWERING = threading.RLock()


class DeviceFunction:
    """A function under `@cuda.jit(device=True)`: called by kernels, never launched."""

    def __init__(
        self,
        source: Source,
        scope: Scope,
        py_func: Any = None,
        explicit: Sequence[tuple[tuple[Type, ...], Type | None]] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.explicit = list(explicit)  # argument and result types of its signatures
        self.options = dict(options or {})
        self.native: Any = None  # Numba's own, when its compiler was asked
        self.source = source
        self.scope = scope
        self.py_func = py_func
        self.frozen: dict[Any, FrozenScope] = {}  # globals, by argument types, for all kernels
        self.__name__ = source.name
        self.__doc__ = ast.get_docstring(source.tree)

    def defaults(self) -> dict[str, Any]:
        """Parameter -> default value; of a text, literals and global names."""
        parameters = parameters_of(self.source.tree)
        nodes = self.source.tree.args.defaults
        if self.py_func is not None:
            values = list(self.py_func.__defaults__ or ())
        else:
            values = [
                self.scope.lookup(node.id) if isinstance(node, ast.Name) else _literal(self, node)
                for node in nodes
            ]
        return dict(zip(parameters[len(parameters) - len(values) :], values, strict=True))

    @property
    def overloads(self) -> Mapping[Any, Any]:
        """What Numba's compiler makes of it, by argument types."""
        for signature in self.explicit:
            self.compile_device(*signature)
        found: Mapping[Any, Any] = native.native(self).overloads
        return found

    def compile_device(self, args: Any, return_type: Any = None) -> Any:
        """What Numba's compiler makes of it for these argument types."""
        with native.compiler():
            return native.native(self).compile_device(tuple(args), return_type)

    def inspect_llvm(self, signature: Any = None) -> Any:
        """LLVM's intermediate representation, for all signatures or for one."""
        return self._inspect("inspect_llvm", signature)

    def inspect_asm(self, signature: Any = None) -> Any:
        """PTX, for all signatures or for one."""
        return self._inspect("inspect_asm", signature)

    def _inspect(self, what: str, signature: Any) -> Any:
        given = getattr(signature, "args", signature)
        if given is None:
            known = self.overloads
            return {types: self._inspect(what, types) for types in known}
        self.compile_device(given)
        with native.compiler():
            return getattr(native.native(self), what)(tuple(given))

    def inspect_sass(self, signature: Any = None) -> Any:
        """Refused: machine code is made of kernels."""
        raise RuntimeError("Cannot inspect SASS of a device function: ask a kernel that calls it")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise LaunchError(
            f"{self.__name__} is a device function: kernels call it; the host cannot."
        )

    def __getitem__(self, config: Any) -> Any:
        raise LaunchError(
            f"{self.__name__} is a device function and cannot be launched. "
            "Without device=True, @cuda.jit makes a kernel."
        )

    def __getstate__(self) -> dict[str, Any]:
        """What goes into a pickle: nothing that was compiled."""
        return {**self.__dict__, "native": None}

    def __repr__(self) -> str:
        return f"<device function {self.__name__}>"


class Kernel(Inspectable):
    """A function under `@cuda.jit`: `kernel[blocks, threads](*args)`."""

    is_kernel = True

    def __init__(
        self,
        source: Source,
        scope: Scope,
        py_func: Any = None,
        signatures: Sequence[tuple[Type, ...]] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.source = source
        self.scope = scope
        self.py_func = py_func
        self.explicit = tuple(signatures)
        self.options = dict(options or {})
        self.native: Any = None  # Numba's own, when its compiler was asked
        self.overloads: dict[tuple[Type, ...], Overload] = {}
        self.specialized = False
        self.specializations: dict[Any, Kernel] = {}
        self.name = source.name
        self.parameters = parameters_of(source.tree)
        self._frozen: dict[tuple[Type, ...], FrozenScope] = {}  # globals, by argument types
        self._told: set[tuple[str, str]] = set()  # changed globals that a note has named
        self._programs: dict[tuple[tuple[Type, ...], bool, bool], Program] = {}
        self.as_device: DeviceFunction | None = None  # for kernels that call this one
        self.__name__ = source.name
        self.__qualname__ = source.name
        self.__doc__ = ast.get_docstring(source.tree)
        self.__module__ = getattr(py_func, "__module__", "__main__")
        if py_func is not None:
            self.__wrapped__ = py_func

    @classmethod
    def from_source(
        cls, text: str, name: str, constants: Mapping[str, Any] | None = None
    ) -> Kernel:
        """A kernel from source text alone; nothing of the text is run.

        `constants` gives the values of global names; other functions of the text that are device
        functions can be called.  Raises SourceError when the text or the kernel in it is not there.
        """
        module, functions = functions_in(text)
        scope = TextScope(module, constants or {})
        if name not in functions:
            raise SourceError(f"there is no function {name} in the text.")
        for other, source in functions.items():
            if _says(source.tree, "device"):
                given = _signatures_in(source.tree, device=True)
                scope.define(other, DeviceFunction(source, scope, explicit=given))
        tree = functions[name].tree
        if _says(tree, "device") or not _says_jit(tree):
            raise SourceError(f"{name} is not a kernel: it needs @cuda.jit above its def.")
        signatures = [types_ for types_, _ in _signatures_in(tree)]
        options = {name: _says(tree, name) for name in ("debug", "fastmath")}
        return cls(functions[name], scope, signatures=signatures, options=options)

    def __getitem__(self, config: Any) -> Launch:
        if not isinstance(config, tuple) or not 2 <= len(config) <= 4:
            raise LaunchError(
                f"{self.name}[...] takes the number of blocks and the threads of a block: "
                f"{self.name}[blocks, threads](...). A stream and the bytes of dynamic shared "
                "memory may follow."
            )
        return self.configure(*config)

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> Launch:
        """The same as kernel[griddim, blockdim, stream, sharedmem]."""
        try:
            check_stream(stream)
            launch = Launch(self, griddim, blockdim, sharedmem)
            check_bounds(self.options, launch.block[0] * launch.block[1] * launch.block[2])
            return launch
        except LaunchError as error:
            raise LaunchError(f"{self.name}: {error}") from None

    def forall(
        self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0
    ) -> Callable[..., None]:
        """A 1-D launch of at least `ntasks` threads, in blocks of `tpb` or of 128; for no tasks,
        no launch."""
        if isinstance(ntasks, bool) or not hasattr(ntasks, "__index__"):
            raise LaunchError(f"{self.name}.forall takes a number of tasks, got {ntasks!r}")
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        threads = tpb or 128
        launch = self.configure(max(1, -(-ntasks // threads)), threads, stream, sharedmem)
        return launch if ntasks else lambda *args: None

    def __call__(self, *args: Any) -> None:
        raise LaunchError(
            f"{self.name} was called without a launch configuration.\n"
            f"  Write {self.name}[blocks, threads](...), for example "
            f"{self.name}[1, 32]({', '.join(self.parameters)})."
        )

    def __getstate__(self) -> dict[str, Any]:
        """What goes into a pickle: the function and how it was made, nothing that was compiled."""
        made_again: dict[str, Any] = {"as_device": None, "native": None}
        made_again |= {name: {} for name in ("_programs", "overloads", "specializations")}
        return {**self.__dict__, **made_again}

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(self.parameters)})>"

    # -- lowering ----------------------------------------------------------------

    def program(
        self, kinds: tuple[Type, ...], counted: bool = False, serial: bool = False
    ) -> Program:
        """The generated program for these argument types: plain, counting, or one that waits at
        barriers."""
        with _LOWERING:  # Numba's typing context is one for the process
            return self._lowered(kinds, counted, serial)

    def _lowered(self, kinds: tuple[Type, ...], counted: bool, serial: bool) -> Program:
        found = self._programs.get((kinds, counted, serial))
        if found is None:
            debug, fastmath = (bool(self.options.get(name)) for name in ("debug", "fastmath"))
            found = Program(
                self.name, counted=counted, serial=serial, debug=debug, fastmath=fastmath
            )
            entry = found.fresh(f"kernel_{self.name}")
            scope = self._frozen.setdefault(kinds, FrozenScope(self.scope))
            found.scopes.append((self.name, scope))
            function = Function(found, self.source, scope, kernel=True)
            values = [Val(name, kind, None) if kind is STATIC else Val(name, kind)
                      for name, kind in zip(self.parameters, kinds, strict=True)]  # fmt: skip
            try:
                function.lower(entry, values)
                found.compile(entry)
            except (SyntaxError, RecursionError, MemoryError):
                raise UnsupportedError(
                    f"{self.name}: this kernel is too long, or nested too deeply, for the "
                    "simulator.\n  Split it with device functions, or turn a long elif chain into "
                    "a loop over a table."
                ) from None
            self._programs[kinds, counted, serial] = found
        return found

    def compile(self, signature: Any) -> Overload:
        """Prepare the kernel for explicit argument types: numba types, or a signature as text."""
        given = _normalise(signature, False)[0][0] if not _is_types(signature) else signature
        try:
            kinds = [typing.from_signature(kind) for kind in given]
        except typing.NoSignature as error:
            raise TypingError(f"{self.name}: {error}") from None
        self.program(tuple(kinds))
        return self.overloads.setdefault(tuple(given), Overload(self, tuple(given)))

    @property
    def signatures(self) -> list[tuple[Type, ...]]:
        """The argument types it was compiled for."""
        return list(self.overloads)

    def specialize(self, *args: Any) -> Kernel:
        """A kernel for the types of these arguments alone."""
        if self.specialized:
            raise RuntimeError("Dispatcher already specialized")
        key = get_current_device().compute_capability, types_of(args)
        if key not in self.specializations:
            made = Kernel(self.source, self.scope, self.py_func, [key[1]], self.options)
            made.compile(key[1])
            made.specialized = True
            self.specializations[key] = made
        return self.specializations[key]

    def _remember(self, args: Sequence[Any]) -> None:
        """Note the argument types of a launch, for those who ask for the compiled code."""
        try:
            types = types_of(args)
        except Exception:  # a type the simulator knows and Numba's compiler does not
            return
        self.overloads.setdefault(types, Overload(self, types))

    def generated(self, *args: Any) -> str:
        """The NumPy source that a launch with these arguments runs."""
        arguments = self.bind(args)
        return self.program(tuple(a.kind for a in arguments)).text

    def bind(self, args: Sequence[Any]) -> list[Argument]:
        """Check and convert the arguments of a launch."""
        if len(args) != len(self.parameters):
            raise LaunchError(
                f"{self.name} takes {len(self.parameters)} argument"
                f"{'s' * (len(self.parameters) != 1)} ({', '.join(self.parameters)}), "
                f"got {len(args)}."
            )
        wanted = self._wanted(args)
        try:
            bound = [
                bind(name, value, wanted[k] if wanted else None)
                for k, (name, value) in enumerate(zip(self.parameters, args, strict=True))
            ]
        except LaunchError as error:
            raise LaunchError(f"{self.name}: {error}") from None
        return (
            [argument.retyped(kind) for argument, kind in zip(bound, wanted or (), strict=True)]
            if wanted
            else bound
        )

    def _wanted(self, args: Sequence[Any]) -> tuple[Type, ...] | None:
        """The explicit signature that fits, if the kernel was made with any."""
        if not self.explicit:
            return None
        fitting = [
            signature
            for signature in self.explicit
            if len(signature) == len(args)
            and all(_fits(value, kind) for value, kind in zip(args, signature, strict=True))
        ]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            return self._best(args, fitting)
        listed = "; ".join("(" + ", ".join(str(t) for t in s) + ")" for s in self.explicit)
        got = ", ".join(_kind_of(value) for value in args)
        raise LaunchError(
            f"{self.name} was compiled for {listed} only, and was called with ({got}).\n"
            "  Leave the signature out of @cuda.jit to let Numba choose it."
        )

    def _changed(self, program: Program) -> Iterator[Note]:
        """A note, once, for each global that has changed since the program was compiled."""
        for function, scope in program.scopes:
            for name, (frozen, now) in scope.changed().items():
                if (function, name) not in self._told:
                    self._told.add((function, name))
                    yield Note("changed_global", 0, told(name, frozen, now, function))

    def _best(self, args: Sequence[Any], fitting: Sequence[tuple[Type, ...]]) -> tuple[Type, ...]:
        """Of several signatures the one that converts least, by Numba's own rules."""
        try:
            return fitting[native.best_signature(self.name, types_of(args), fitting)]
        except TypeError:
            listed = "; ".join("(" + ", ".join(str(t) for t in s) + ")" for s in fitting)
            raise LaunchError(
                f"{self.name}: these arguments fit two of its signatures equally well: {listed}.\n"
                "  Convert them to the types that are meant, such as np.float32(x)."
            ) from None

    def run(
        self,
        grid: Any,
        block: Any,
        args: Sequence[Any],
        observers: Sequence[Observer] = (),
        sharedmem: int = 0,
        order: str = "lockstep",
        seed: int = 0,
    ) -> Run:
        """Launch with observers; returns the finished run.

        order: "lockstep", or "warp-serial": each warp runs alone to the next barrier, in an order
        drawn from the seed, so that a race shows as a wrong value.  Observers need lockstep.
        """
        if order not in ORDERS:
            raise ValueError(f"order is {order!r}; it can be {' or '.join(ORDERS)}")
        serial = order == "warp-serial"
        if serial and observers:
            raise ValueError("observers listen to runs in lockstep only")
        launch = self.configure(grid, block, 0, sharedmem)
        try:
            arguments = self.bind(args)
            counted = any(getattr(observer, "needs_counts", False) for observer in observers)
            kinds = tuple(a.kind for a in arguments)
            if not self.explicit and (kinds, counted, serial) not in self._programs:
                self._remember(args)
            program = self.program(kinds, counted, serial)
            values = {a.name: a.value for a in arguments if a.kind is not STATIC}
            if program.cooperative and serial:
                raise UnsupportedError(f"{self.name}: grid synchronisation needs lockstep order.")
            check_shared(self.name, sum(program.shared_bytes.values()), launch.sharedmem)
            configured = launch.grid, launch.block, values, launch.sharedmem
            if program.waits:
                run = run_waiting(
                    program, lambda: self.program(kinds, counted, True), *configured, observers,
                    seed,
                )  # fmt: skip
            else:
                run = Run(program, *configured, observers)
                run.execute(seed if serial else None)
        except SimtError:
            raise
        except typing.NoSignature as error:
            raise TypingError(f"{self.name}: {error}") from None
        except RecursionError:
            raise UnsupportedError(
                f"{self.name}: a device function calls itself more often than the simulator can "
                "follow.\n  Check that every path comes to the case that ends it; a GPU has room "
                "for few such calls, too."
            ) from None
        except CapacityError as error:
            raise LaunchError(f"{self.name}: {error}") from None
        except MemoryError:
            raise LaunchError(f"{self.name}: this launch does not fit into memory.") from None
        except Exception as error:
            raise SimtError(
                at_line(self.name, None, "", f"the simulator itself failed: {error!r}",
                        "This is a fault of the simulator, not of your kernel. Please report it.")
            ) from error  # fmt: skip
        run.notes.extend(self._changed(program))
        run.notes.extend(program.slips)
        if lost := write_back(arguments):
            run.notes.append(Note("same_memory", 0, f"{self.name}: {lost}"))
        return run


class Launch:
    """A kernel with its launch configuration, ready to be called."""

    def __init__(self, kernel: Kernel, grid: Any, block: Any, sharedmem: int = 0) -> None:
        self.kernel = kernel
        self.grid, self.block = configuration(grid, block)
        self.sharedmem = shared_bytes(sharedmem)
        #: Functions of (kernel, launch) that are called before each launch.
        self.pre_launch_callbacks: list[Callable[[Kernel, Launch], Any]] = []

    def __call__(self, *args: Any, **named: Any) -> None:
        if named:
            raise LaunchError(
                f"{self.kernel.name}: the arguments of a launch are given by position, in the "
                f"order ({', '.join(self.kernel.parameters)})."
            )
        for callback in self.pre_launch_callbacks:
            callback(self.kernel, self)
        try:
            run = self.kernel.run(self.grid, self.block, args, sharedmem=self.sharedmem)
        except SimtError as error:
            if error.__cause__ is not None:
                raise
            raise error.with_traceback(None) from None
        run.warn()

    def __repr__(self) -> str:
        return f"{self.kernel.name}[{self.grid}, {self.block}]"


def run(
    kernel: Any,
    grid: Any,
    block: Any,
    args: Sequence[Any],
    observers: Sequence[Observer] = (),
    sharedmem: int = 0,
    order: str = "lockstep",
    seed: int = 0,
) -> Run:
    """Launch a kernel in the simulator, whatever backend it was made for; see Kernel.run."""
    return as_kernel(kernel).run(grid, block, args, observers, sharedmem, order, seed)


def as_kernel(value: Any) -> Kernel:
    """The simulator's kernel for `value`: one of ours, or one that numba.cuda.jit made."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, Launch):
        return value.kernel
    fn = getattr(value, "py_func", None)
    if fn is not None and callable(fn):
        known: Kernel | None = getattr(fn, "_warpwise_kernel", None)
        if known is None:
            options = getattr(value, "targetoptions", None)
            known = Kernel(source_of(fn), LiveScope(fn), fn, options=options)
            fn._warpwise_kernel = known
        return known
    if callable(value) and hasattr(value, "__code__"):
        raise TypeError(f"{value.__name__} is not a kernel: put @cuda.jit above its def.")
    raise TypeError(f"a kernel is a function under @cuda.jit, not {type(value).__name__}.")


def device_function_of(value: Any) -> DeviceFunction | None:
    """The device function for what a kernel calls: a kernel, or what numba's jit made.

    Numba compiles any @cuda.jit, @jit or @njit function that a kernel calls as a device function.
    """
    if isinstance(value, Kernel):
        if value.as_device is None:
            value.as_device = DeviceFunction(
                value.source, value.scope, value.py_func, options=value.options
            )
        return value.as_device
    fn = getattr(value, "py_func", None)
    if fn is None or not type(value).__module__.startswith("numba"):
        return None
    known: DeviceFunction | None = getattr(fn, "_warpwise_device", None)
    if known is None:
        explicit = []
        if not getattr(value, "_can_compile", True):  # made with signatures
            explicit = [(args, made.signature.return_type)
                        for args, made in value.overloads.items()]  # fmt: skip
        known = DeviceFunction(source_of(fn), LiveScope(fn), fn, explicit)
        fn._warpwise_device = known
    return known


def jit(
    func_or_sig: Any = None, device: bool = False, **options: Any
) -> Any:  # options are the compiler's: fastmath, lineinfo, debug, opt, cache, max_registers...
    """@cuda.jit: makes a Kernel, or with device=True a DeviceFunction."""
    if func_or_sig is not None and callable(func_or_sig) and hasattr(func_or_sig, "__code__"):
        return _make(func_or_sig, device, [], options)
    signatures = [] if func_or_sig is None else _normalise(func_or_sig, device)

    def decorate(fn: Any) -> Any:
        return _make(fn, device, signatures, options)

    return decorate


def _make(
    fn: Any,
    device: bool,
    signatures: list[tuple[tuple[Type, ...], Type | None]],
    options: Mapping[str, Any],
) -> Any:
    if isinstance(fn, (Kernel, DeviceFunction)):
        raise LaunchError(f"{fn.__name__} has @cuda.jit twice; one is enough.")
    check_options(options, device)
    source = source_of(fn)
    count = len(parameters_of(source.tree))
    for types_, _ in signatures:
        if len(types_) != count:
            raise TypingError(
                f"{source.name} has {count} parameters, its signature {len(types_)} types."
            )
    if device:
        return DeviceFunction(source, LiveScope(fn), fn, signatures, options)
    kernel = Kernel(source, LiveScope(fn), fn, [types_ for types_, _ in signatures], options)
    for signature in kernel.explicit:
        kernel.compile(signature)  # as Numba: with a signature, errors show at the definition
    kernel.specialized = len(kernel.explicit) == 1
    return kernel


def _normalise(given: Any, device: bool) -> list[tuple[tuple[Type, ...], Type | None]]:
    """(argument types, result type) of signatures: a string, a numba signature, or a list."""
    from numba.core import sigutils

    listed = given if isinstance(given, list) else [given]
    found = []
    for one in listed:
        try:
            args, result = sigutils.normalize_signature(one)
        except Exception as error:
            raise TypingError(f"@cuda.jit: {one!r} is no signature ({error}).") from None
        if not device and result is not None and str(result) != "none":
            raise TypingError(
                f"@cuda.jit: a kernel returns nothing, so {one} has to start with void."
            )
        found.append((tuple(args), result))
    return found


def _is_types(given: Any) -> bool:
    from numba.core import types

    return isinstance(given, (tuple, list)) and all(isinstance(t, types.Type) for t in given)


def _literal(device: DeviceFunction, node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise SourceError(
            f"{device.__name__}: a default value of a parameter has to be a literal or a name."
        ) from None


def _fits(value: Any, kind: Type) -> bool:
    shape = getattr(value, "shape", ())
    if getattr(kind, "ndim", None) is None:
        return len(shape) == 0
    return len(shape) == kind.ndim and same_bits(
        typing.numba_type(np.dtype(value.dtype)), kind.dtype
    )


def _kind_of(value: Any) -> str:
    shape = getattr(value, "shape", ())
    if shape:
        return f"array({value.dtype}, {len(shape)}d)"
    return type(value).__name__


def _decorators(tree: ast.FunctionDef) -> list[tuple[str, ast.Call | None]]:
    found = []
    for node in tree.decorator_list:
        call = node if isinstance(node, ast.Call) else None
        found.append((ast.unparse(call.func if call else node), call))
    return found


def _says_jit(tree: ast.FunctionDef) -> bool:
    return any(name.split(".")[-1] == "jit" for name, _ in _decorators(tree))


def _says(tree: ast.FunctionDef, option: str) -> bool:
    """Whether @cuda.jit has this option, and it is true."""
    for name, call in _decorators(tree):
        if name.split(".")[-1] == "jit" and call is not None:
            for keyword in call.keywords:
                if keyword.arg == option and getattr(keyword.value, "value", None):
                    return True
    return False


def _signatures_in(
    tree: ast.FunctionDef, device: bool = False
) -> list[tuple[tuple[Type, ...], Type | None]]:
    """Explicit signatures in the decorator of a text.

    Numba evaluates signature strings as Python, so only texts made of type names get that far.
    """
    for name, call in _decorators(tree):
        if name.split(".")[-1] == "jit" and call is not None and call.args:
            given = call.args[0]
            parts = given.elts if isinstance(given, ast.List) else [given]
            texts = [
                part.value if isinstance(part, ast.Constant) else ast.unparse(part)
                for part in parts
            ]
            return _normalise([_only_types(tree.name, text) for text in texts], device)
    return []


_TYPE_NAMES = frozenset(
    [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + ["void", "none", "boolean", "bool_", "float16", "float32", "float64", "complex64"]
    + ["complex128", "intp", "uintp", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
    + ["b1", "c8", "c16", "int_", "uint", "float_", "double", "1"]
)


def _only_types(kernel: str, text: Any) -> str:
    """The text of a signature when it holds nothing but type names and brackets."""
    plain = re.sub(r"\b(numba|nb|types)\.", "", str(text))
    words = re.findall(r"\w+", plain)
    if not re.fullmatch(r"[\w\s\[\]():,]*", plain) or not _TYPE_NAMES.issuperset(words):
        raise SourceError(f"{kernel}: the signature in @cuda.jit(...) is not made of type names.")
    return plain
