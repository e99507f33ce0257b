"""Kernels: what `@cuda.jit` makes of a function.

A kernel is lowered once for each set of argument types, at its first launch with them; its globals
are frozen then, as Numba does it.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import declared, failures, typing
from .arguments import Argument, bind, write_back
from .device import get_current_device
from .device_functions import DeviceFunction
from .dimensions import check_shared
from .errors import LaunchError, SourceError, TypingError, UnsupportedError
from .frozen import FrozenScope, told
from .inspection import Inspectable, Overload
from .launch import Observer, Run
from .launched import Launch
from .names import parameters_of
from .native import types_of
from .options import check_bounds
from .pickling import Picklable
from .program import Note, Program, Val
from .source import Scope, Source, TextScope, functions_in
from .statements import Function
from .streams import check_stream
from .texts import options_in, says, says_jit, signatures_in
from .typing import STATIC, Type
from .waiting import run_waiting

ORDERS = ("lockstep", "warp-serial")
_LOWERING = threading.RLock()


class Kernel(Picklable, Inspectable):
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
            if says(source.tree, "device"):
                given = signatures_in(source.tree, device=True)
                scope.define(other, DeviceFunction(source, scope, explicit=given))
        tree = functions[name].tree
        if says(tree, "device") or not says_jit(tree):
            raise SourceError(f"{name} is not a kernel: it needs @cuda.jit above its def.")
        signatures = [types_ for types_, _ in signatures_in(tree)]
        return cls(functions[name], scope, signatures=signatures, options=options_in(tree))

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
            launch = Launch(self, griddim, blockdim, sharedmem, stream)
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
        given = (
            declared.normalise(signature, False)[0][0]
            if not declared.is_types(signature)
            else signature
        )
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
        wanted = declared.wanted(self.name, self.explicit, args)
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

    def _changed(self, program: Program) -> Iterator[Note]:
        """A note, once, for each global that has changed since the program was compiled."""
        for function, scope in program.scopes:
            for name, (frozen, now) in scope.changed().items():
                if (function, name) not in self._told:
                    self._told.add((function, name))
                    yield Note("changed_global", 0, told(name, frozen, now, function))

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
        with failures.told(self.name):
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
        run.notes.extend(self._changed(program))
        run.notes.extend(program.slips)
        if lost := write_back(arguments):
            run.notes.append(Note("same_memory", 0, f"{self.name}: {lost}"))
        return run
