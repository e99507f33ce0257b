"""The probe: runs in the student's kernel after an exercise and publishes plain answers.

It calls the student's function on the inputs that papermill brought, or reads names.  It knows no
expected value and gives no verdict, so nothing here is worth changing.
"""

from __future__ import annotations

import os
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
        if request["kind"] == "function":
            values: list[Any] = []
            answer["values"] = values
            _call_all(request, namespace, values)
        else:
            answer["names"] = {
                name: _encoded(namespace[name]) for name in request["names"] if name in namespace
            }
    finally:
        _append(wire.dumps(answer) + "\n")


def _call_all(request: dict[str, Any], namespace: dict[str, Any], values: list[Any]) -> None:
    """Append one outcome for each input: a value, what was raised, or why it is not plain."""
    if request["name"] not in namespace:
        values.append({"undefined": 1})
        return
    function = namespace[request["name"]]
    for encoded in request["inputs"]:
        try:
            result = function(*wire.decode(encoded))
        except KeyboardInterrupt:
            values.append({"interrupted": 1})
            raise
        except BaseException as error:
            values.append({"raised": _error(error)})
        else:
            values.append(_encoded(result))


def _encoded(value: Any) -> dict[str, Any]:
    try:
        return {"value": wire.encode(value)}
    except wire.WireError as error:
        return {"not_plain": str(error)}
    except Exception as error:
        return {"not_plain": type(error).__name__}


def _error(error: BaseException) -> list[str]:
    """The name of an exception and its text, cut short."""
    try:
        text = str(error)[:300]
    except Exception:
        text = ""
    return [type(error).__name__[:60], text.encode("utf-8", "replace").decode("utf-8")]


def _append(line: str) -> None:
    file = _open(os.environ[ANSWERS], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        data = line.encode("utf-8")
        while data:
            data = data[_write(file, data) :]
    finally:
        _close(file)
