"""Runs one module of Numba's own CUDA tests on the simulator and writes down what its kernels did.

This is the child process: `python -m tests.simt.numba_suite_worker MODULE OUT.json`.  The
simulator stays installed until the process ends, so nothing else may run in it.

Glossary
    attempt  one launch of one kernel, or its decoration when that is refused already
    verdict  what a test said: "passed", "skipped", or a failure with its kind and text
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
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

INTERNAL = "the simulator itself failed"


@dataclass
class Attempt:
    """One launch: `outcome` is "ran", "refused" or "internal"; `expected` is what Numba raises."""

    kernel: str
    file: str
    line: int
    outcome: str = "ran"
    reason: str = ""
    expected: str = ""


@dataclass
class Recorder:
    """Collects attempts and verdicts; `current` are the attempts of the running test."""

    tests: list[dict[str, Any]] = field(default_factory=list)
    current: list[Attempt] = field(default_factory=list)

    def install(self) -> None:
        """Install the simulator in this process and listen to it."""
        from warpwise import simt
        from warpwise.simt import kernel as kernels

        simt.install()
        make, run, configure = kernels._make, kernels.Kernel.run, kernels.Kernel.configure
        recorder = self

        def recording_make(fn: Any, device: bool, signatures: Any) -> Any:
            try:
                return make(fn, device, signatures)
            except Exception as error:
                if not device:
                    recorder.add(fn, error)
                return _Refused(fn, error)

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

        kernels._make = recording_make
        kernels.Kernel.run = recording_run  # type: ignore[method-assign]
        kernels.Kernel.configure = recording_configure  # type: ignore[method-assign]
        _listen_to_expectations(self)

    def add(self, fn: Any, error: BaseException | None = None) -> Attempt:
        """Write down that this kernel was tried."""
        code = fn.__code__
        parts = Path(code.co_filename).parts
        file = "/".join(parts[-2:]) if len(parts) > 1 else code.co_filename
        attempt = Attempt(fn.__qualname__.replace(".<locals>", ""), file, code.co_firstlineno)
        if error is not None:
            _fill(attempt, error)
        self.current.append(attempt)
        return attempt


class _Refused:
    """Stands for a kernel that was refused at its decorator, so that its module can go on."""

    def __init__(self, fn: Any, error: Exception) -> None:
        self.__name__ = fn.__name__
        self._error = error

    def __getitem__(self, config: Any) -> Any:
        raise self._error

    def __call__(self, *args: Any) -> Any:
        raise self._error


def _fill(attempt: Attempt, error: BaseException) -> None:
    from warpwise import simt

    text = str(error)
    known = isinstance(error, simt.SimtError) and INTERNAL not in text
    attempt.outcome = "refused" if known else "internal"
    attempt.reason = f"{type(error).__name__}: {text}"
    if not known:
        attempt.reason += "\n" + _where(error.__cause__ or error)


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames[:-4:-1])


def _listen_to_expectations(recorder: Recorder) -> None:
    """Mark the refusals that happen where the test says that Numba refuses, too."""
    context = unittest.case._AssertRaisesContext  # type: ignore[attr-defined]
    leave = context.__exit__

    def recording_leave(self: Any, kind: Any, value: Any, tb: Any) -> Any:
        if kind is not None and recorder.current:
            last = recorder.current[-1]
            if last.outcome != "ran":
                expected = self.expected
                names = expected if isinstance(expected, tuple) else (expected,)
                last.expected = "/".join(one.__name__ for one in names)
        return leave(self, kind, value, tb)

    context.__exit__ = recording_leave


class _Result(unittest.TestResult):
    """Gives every test one verdict; the first failure counts."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        self.verdict: dict[str, Any] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        self.recorder.current = []
        self.verdict = {"test": test.id(), "verdict": "passed", "kind": "", "text": ""}

    def stopTest(self, test: unittest.TestCase) -> None:
        self.verdict["attempts"] = [vars(one) for one in self.recorder.current]
        self.recorder.tests.append(self.verdict)
        self.recorder.current = []

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._say("skipped", "", reason)

    def addError(self, test: Any, err: Any) -> None:
        if not self.verdict:  # setUpClass
            self.startTest(test)
            self._fail(err)
            self.stopTest(test)
        else:
            self._fail(err)

    def addFailure(self, test: Any, err: Any) -> None:
        self._fail(err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._fail(err)

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._say("skipped", "", "expected to fail on a GPU, too")

    def addUnexpectedSuccess(self, test: Any) -> None: ...

    def _fail(self, err: Any) -> None:
        kind, value, tb = err
        self._say("failed", kind.__name__, str(value), "".join(traceback.format_tb(tb)[-3:]))

    def _say(self, verdict: str, kind: str, text: str, where: str = "") -> None:
        if self.verdict.get("verdict") == "passed":
            self.verdict.update(verdict=verdict, kind=kind, text=text[:2000], where=where)


def _prepare() -> None:
    """What the modules ask of a GPU machine at import: answer as the simulated device does."""
    from numba.cuda import config, testing

    from warpwise.simt.api import Device

    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    testing.cc_X_or_above = lambda *cc: Device.compute_capability >= cc
    warnings.simplefilter("ignore")


def _hide_file_checks() -> None:
    """FileCheck compares compiled code, which there is none of; only its import has to work."""
    for name in ("matcher", "options", "parser", "finput"):
        module = types.ModuleType(f"filecheck.{name}")
        for value in ("Matcher", "Options", "Parser", "pattern_for_opts", "FInput"):
            setattr(module, value, None)
        sys.modules[module.__name__] = module
    sys.modules["filecheck"] = types.ModuleType("filecheck")


def _suite(module: types.ModuleType) -> unittest.TestSuite:
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    for name, value in sorted(vars(module).items()):
        if name.startswith("test_") and inspect.isfunction(value):
            suite.addTest(unittest.FunctionTestCase(value))
    return suite


def main(name: str, out: str) -> None:
    """Run one module and write {"module", "error", "tests"}."""
    _hide_file_checks()
    recorder = Recorder()
    recorder.install()
    _prepare()
    found: dict[str, Any] = {"module": name, "error": ""}
    try:
        suite = _suite(importlib.import_module(name))
    except unittest.SkipTest as skip:
        found["error"] = f"skipped: {skip}"
    except BaseException as error:
        found["error"] = f"{type(error).__name__}: {error}\n{_where(error)}"
    else:
        at_import = [vars(one) for one in recorder.current]
        suite.run(_Result(recorder))
        if at_import:
            recorder.tests.append({"test": "import", "verdict": "passed", "attempts": at_import})
    found["tests"] = recorder.tests
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
    # Threads and queues of the tests must not keep the process.
    sys.stdout.flush()
    os._exit(0)
