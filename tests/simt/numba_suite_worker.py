"""Runs one module of Numba's own CUDA tests on the simulator and writes down what its kernels did.

This is the child process: `python -m tests.simt.numba_suite_worker MODULE OUT.json`.  The
simulator stays installed until the process ends, so nothing else may run in it.

Glossary
    attempt  one launch of one kernel, or its decoration when that is refused already
    unit     a test, or a subtest of it: its verdict and the attempts made in it
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
import traceback
import types
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.simt.numba_suite_machine import hide_file_checks, prepare, replace
from tests.simt.numba_suite_reasons import FAILS_TOO

INTERNAL = "the simulator itself failed"


@dataclass
class Attempt:
    """One launch: `outcome` is "ran", "refused" or "internal".

    `expected` names the error that the test waits for where this one was refused.
    """

    kernel: str
    file: str
    line: int
    outcome: str = "ran"
    reason: str = ""
    expected: str = ""


@dataclass
class Recorder:
    """Collects units; `current` are the attempts of the running one."""

    units: list[dict[str, Any]] = field(default_factory=list)
    current: list[Attempt] = field(default_factory=list)
    importing: bool = True

    def install(self) -> None:
        """Install the simulator in this process and listen to it."""
        from warpwise import simt
        from warpwise.simt import decorator
        from warpwise.simt.kernel import Kernel

        simt.install()
        make, run, configure = decorator._make, Kernel.run, Kernel.configure
        recorder = self

        def recording_make(fn: Any, device: bool, *rest: Any) -> Any:
            try:
                return make(fn, device, *rest)
            except Exception as error:
                if recorder.importing:
                    return _Refused(recorder, fn, error)
                if hasattr(fn, "__code__"):
                    recorder.add(fn, error)
                raise

        def recording_run(kernel: Any, *args: Any, **options: Any) -> Any:
            attempt = recorder.add(kernel.py_func)
            try:
                return run(kernel, *args, **options)
            except BaseException as error:
                _fill(attempt, error)
                raise

        def recording_configure(kernel: Any, *args: Any, **options: Any) -> Any:
            try:
                return configure(kernel, *args, **options)
            except simt.SimtError as error:
                recorder.add(kernel.py_func, error)
                raise

        replace(decorator, _make=recording_make)
        replace(Kernel, run=recording_run, configure=recording_configure)
        _listen_to_expectations(self)

    def add(self, fn: Any, error: BaseException | None = None) -> Attempt:
        """Write down that this kernel was tried."""
        code = fn.__code__
        name = fn.__qualname__.replace(".<locals>", "")
        attempt = Attempt(name, Path(code.co_filename).stem, code.co_firstlineno)
        if error is not None:
            _fill(attempt, error)
        self.current.append(attempt)
        return attempt

    def cut(self, verdict: dict[str, Any]) -> None:
        """End a unit: what was tried since the last one belongs to it."""
        attempts, self.current = self.current, []
        self.units.append({**verdict, "attempts": [vars(one) for one in attempts]})


class _Refused:
    """Stands for what was refused while its module was imported, so that the rest can run."""

    def __init__(self, recorder: Recorder, fn: Any, error: Exception) -> None:
        self.__name__ = fn.__name__
        self._recorder, self._fn, self._error = recorder, fn, error

    def __getitem__(self, config: Any) -> Any:
        self._recorder.add(self._fn, self._error)
        raise self._error


def _fill(attempt: Attempt, error: BaseException) -> None:
    from warpwise import simt

    text = str(error)
    known = isinstance(error, simt.SimtError) and INTERNAL not in text
    attempt.outcome = "refused" if known else "internal"
    attempt.reason = f"{type(error).__name__}: {text}"
    if not known:
        cause = error.__cause__ or error
        attempt.reason += "\n" + trail(cause.__traceback__)


def trail(tb: Any) -> str:
    """The frames of a failure, innermost first, without those of unittest."""
    frames = [f for f in traceback.extract_tb(tb) if "unittest" not in f.filename]
    return " < ".join(f"{Path(f.filename).stem}:{f.lineno}:{f.name}" for f in frames[::-1])


def _listen_to_expectations(recorder: Recorder) -> None:
    """Where a test waits for Numba's error and ours comes, mark that and let the test go on."""
    from warpwise import simt

    context = unittest.case._AssertRaisesContext  # type: ignore[attr-defined]
    leave = context.__exit__

    def recording_leave(self: Any, kind: Any, value: Any, tb: Any) -> Any:
        refused = [one for one in recorder.current[-1:] if one.outcome == "refused"]
        if isinstance(value, simt.SimtError) and refused:
            names = self.expected if isinstance(self.expected, tuple) else (self.expected,)
            refused[0].expected = "/".join(one.__name__ for one in names)
            self.exception = value
            return True
        return leave(self, kind, value, tb)

    replace(context, __exit__=recording_leave)


class _Result(unittest.TestResult):
    """Cuts the run into units; a unit's first failure counts."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        self.verdict: dict[str, Any] = {}

    def startTest(self, test: Any) -> None:
        self.recorder.current = []
        self.verdict = {"test": test.id(), "verdict": "passed", "kind": "", "text": "", "where": ""}

    def stopTest(self, test: Any) -> None:
        self.recorder.cut(self.verdict)
        self.verdict = {}

    def addSkip(self, test: Any, reason: str) -> None:
        self._say(test, "skipped", "", reason)

    def addError(self, test: Any, err: Any) -> None:
        self._fail(test, err)

    def addFailure(self, test: Any, err: Any) -> None:
        self._fail(test, err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        outer = self.verdict
        self.verdict = {**outer, "verdict": "passed", "kind": "", "text": "", "where": ""}
        if err is not None:
            self._fail(test, err)
        self.recorder.cut(self.verdict)
        self.verdict = outer

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._say(test, "skipped", "", FAILS_TOO)

    def _fail(self, test: Any, err: Any) -> None:
        kind, value, tb = err
        if kind.__name__ == "Skipped":  # pytest's own
            self._say(test, "skipped", "", str(value))
        else:
            self._say(test, "failed", kind.__name__, str(value), trail(tb))

    def _say(self, test: Any, verdict: str, kind: str, text: str, where: str = "") -> None:
        if not self.verdict:  # a class that failed before its first test
            self.startTest(test)
            self._say(test, verdict, kind, text, where)
            self.stopTest(test)
        elif self.verdict["verdict"] == "passed":
            self.verdict.update(verdict=verdict, kind=kind, text=text[:2000], where=where)


def _suite(module: types.ModuleType) -> unittest.TestSuite:
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    for name, value in sorted(vars(module).items()):
        if name.startswith("test_") and inspect.isfunction(value):
            suite.addTest(unittest.FunctionTestCase(value))
    return suite


def main(name: str, out: str) -> None:
    """Run one module and write {"module", "error", "units"}."""
    hide_file_checks()
    recorder = Recorder()
    recorder.install()
    prepare()
    found: dict[str, Any] = {"module": name, "error": ""}
    try:
        suite = _suite(importlib.import_module(name))
        recorder.importing = False
        recorder.cut({"test": "import", "verdict": "passed", "kind": "", "text": "", "where": ""})
    except BaseException as error:
        found["error"] = f"{type(error).__name__}: {error}"
    else:
        suite.run(_Result(recorder))
    found["units"] = recorder.units
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
    # Threads and queues of the tests must not keep the process.
    sys.stdout.flush()
    os._exit(0)
