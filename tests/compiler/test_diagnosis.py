"""Numba's typing errors in plain words."""

from __future__ import annotations

import numpy as np
import pytest

from warpwise.compiler import KernelTypeError, compile_kernel

pytest.importorskip("numba.cuda.compiler", reason="numba-cuda has no wheel for this system")

from tests.compiler import kernels

F = np.ones(8, np.float32)


@pytest.mark.parametrize(("name", "said", "line"), [
    ("no_such_attribute", "a value of type float32 has no .nothing", "out[i] = x[i].nothing"),
    ("text_plus_number", "+ does not take the text 'a' and float32", "out[i] = text + x[i]"),
    ("array_into_element", "float32 array (1-D) cannot be stored in an element [int64]", "= x"),
    ("spelling", "missing_name is not defined", "missing_name(x[i])"),
    ("calls_ordinary", "Put @cuda.jit(device=True) above the definition of ordinary", "ordinary("),
    ("uses_dict", "NAMES is a dict", 'NAMES["a"]'),
    ("indexes_number", "float32 cannot be indexed with", "x[i][0]"),
])  # fmt: skip
def test_typing_errors_say_what_and_where(name: str, said: str, line: str) -> None:
    """The sentence, the line of the learner's source, and the types compiled for."""
    with pytest.raises(KernelTypeError) as caught:
        compile_kernel(getattr(kernels, name), (F, F))
    message = str(caught.value)
    assert said in message
    assert line in message
    assert f"{name}, line " in message
    assert "Compiled for out: float32 array (1-D), x: float32 array (1-D)." in message
    assert len(message.splitlines()) == 3


def test_the_original_message_is_kept_behind_a_fold() -> None:
    """Numba's own text is there for whoever wants it."""
    with pytest.raises(KernelTypeError) as caught:
        compile_kernel(kernels.no_such_attribute, (F, F))
    assert "Unknown attribute" in caught.value.original
    assert "<details>" in caught.value._repr_html_()
    assert "\x1b[" not in caught.value.original


def test_a_kernel_that_returns_a_value_is_told_where_to_put_it() -> None:
    """Numba's own words are of a conversion to none."""

    def first(x):  # type: ignore[no-untyped-def]
        return x[0]

    with pytest.raises(KernelTypeError, match=r"a kernel returns nothing\. Store the result"):
        compile_kernel(first, (np.ones(4, np.float32),))
