"""The probe: runs in the student's kernel after an exercise and publishes plain answers.

It calls the student's function on the inputs that papermill brought, or reads names.  It knows no
expected value and gives no verdict, so nothing here is worth changing.
"""

from __future__ import annotations

import base64
import importlib
import os
import pickle
import traceback
from typing import Any

from grading import wire

#: papermill's parameter: the exercise requests, as one line of JSON.
PARAMETER = "warpwise_requests"
#: Where the answers go: one line of JSON for each exercise.
ANSWERS = "WARPWISE_ANSWERS"

# Bound here, so that a student's own `open` or `json` in the notebook is not in the way.
_open, _write, _close = os.open, os.write, os.close


def publish(exercise: str, namespace: dict[str, Any]) -> None:
    """Answer the request for `exercise` from the notebook's names and append it to the file.

    A call that raises, or a value that is not plain data, is an answer too.  An interrupted call
    ends the list there; what came before it is kept.
    """
    request = wire.loads(namespace[PARAMETER])[exercise]
    answer: dict[str, Any] = {"exercise": exercise}
    try:
        if request["kind"] in _TRY:
            values: list[Any] = []
            answer["values"] = values
            _TRY[request["kind"]](request, namespace, values)
        else:
            answer["names"] = {
                name: _constant(namespace[name]) for name in request["names"] if name in namespace
            }
    finally:
        _append(wire.dumps(answer) + "\n")


def _call_all(request: dict[str, Any], namespace: dict[str, Any], values: list[Any]) -> None:
    """Append one outcome for each input: a value, what was raised, or why it is not plain.

    A name that holds a value instead of a function answers with the value.
    """
    if request["name"] not in namespace:
        values.append({"undefined": 1})
        return
    answer = namespace[request["name"]]
    for encoded in request["inputs"]:
        given = wire.decode(encoded)
        try:
            result = answer(*given) if callable(answer) else answer
        except KeyboardInterrupt:
            values.append({"interrupted": 1})
            raise
        except BaseException as error:
            values.append({"raised": _error(error)})
        else:
            values.append(_encoded(result) | _changed(encoded, given))


def _run_all(request: dict[str, Any], namespace: dict[str, Any], values: list[Any]) -> None:
    """Append what the library's own `run` tells of the answer on each input.

    The inputs were made by the grader, so that they may be more than plain data on this way.
    """
    if request["name"] not in namespace:
        values.append({"undefined": 1})
        return
    module, _, name = request["run"].partition(":")
    run = getattr(importlib.import_module(module), name)
    for encoded in request["inputs"]:
        given = pickle.loads(base64.b64decode(encoded))
        try:
            told = run(namespace[request["name"]], given)
        except KeyboardInterrupt:
            values.append({"interrupted": 1})
            raise
        except BaseException as error:
            values.append({"raised": _error(error)})
        else:
            values.append(_encoded(told))
            if isinstance(told, dict) and told.get("last") is True:
                return


_TRY = {"function": _call_all, "run": _run_all}


def _changed(encoded: Any, given: tuple[Any, ...]) -> dict[str, list[int]]:
    """Which arguments the function modified, by position."""
    before = encoded["tuple"]
    changed = [k for k, value in enumerate(given) if _encoded(value) != {"value": before[k]}]
    return {"changed": changed} if changed else {}


def _encoded(value: Any) -> dict[str, Any]:
    try:
        return {"value": wire.encode(value)}
    except wire.WireError as error:
        return {"not_plain": str(error)}
    except Exception as error:
        return {"not_plain": type(error).__name__}


def _constant(value: Any) -> dict[str, Any]:
    """A kernel's constant; what Triton wraps as one is told with its value."""
    if type(value).__name__ == "constexpr":
        return _encoded(getattr(value, "value", None)) | {"constexpr": 1}
    return _encoded(value)


def _error(error: BaseException) -> list[Any]:
    """The name of an exception, its text cut short, and the line of the cell it came from."""
    text, number, line = "", 0, ""
    try:
        text = str(error)[:300]
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
        if frames:
            number, line = frames[-1].lineno or 0, (frames[-1].line or "")[:200]
    except Exception:
        text = text or "(an error that cannot be shown)"
    return [_valid(type(error).__name__[:60]), _valid(text), number, _valid(line)]


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _append(line: str) -> None:
    file = _open(os.environ[ANSWERS], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        data = line.encode("utf-8")
        while data:
            data = data[_write(file, data) :]
    finally:
        _close(file)
