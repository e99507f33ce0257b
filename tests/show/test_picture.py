"""The picture in a notebook: a slider where there are widgets, a figure everywhere."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.show import kernels
from warpwise.show import show_threads
from warpwise.simt import OutOfBoundsError

WIDGET = "application/vnd.jupyter.widget-view+json"


def ten() -> list[np.ndarray]:
    return [np.ones(10, np.float32) for _ in range(3)]


def test_the_slider_redraws_the_figure() -> None:
    """From all blocks to one: the figure below changes, and back again."""
    picture = show_threads(kernels.add[3, 4], *ten())
    slider, shown = picture.slider().children

    assert [name for name, _ in slider.options] == ["all", "0", "1", "2"]
    assert shown.value == picture.html()

    slider.value = 1
    assert shown.value == picture.html(1)
    assert "Block 1 wrote 4 elements of out." in shown.value

    slider.value = -1
    assert shown.value == picture.html()


def test_a_notebook_gets_widget_figure_and_text() -> None:
    """Whatever shows the notebook picks the best form it can."""
    picture = show_threads(kernels.add[3, 4], *ten())
    bundle = picture._repr_mimebundle_()

    assert set(bundle) == {"text/plain", "text/html", WIDGET}
    assert bundle["text/html"] == picture.html()
    assert bundle["text/plain"] == str(picture) == repr(picture)


def test_one_block_needs_no_slider() -> None:
    """There is nothing to move to."""
    assert WIDGET not in show_threads(kernels.add[1, 16], *ten())._repr_mimebundle_()


def test_without_ipywidgets_the_figure_stands_still(monkeypatch) -> None:
    """No error, only no slider."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    picture = show_threads(kernels.add[3, 4], *ten())

    assert picture.slider() is None
    assert set(picture._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_drawing_changes_no_argument() -> None:
    """The kernel runs on copies."""
    out, a, b = ten()
    show_threads(kernels.add[3, 4], out, a, b)

    assert (out == 1).all()


def test_a_launch_of_numba_itself_can_be_drawn() -> None:
    """`numba.cuda.jit` gives a dispatcher; its launch is drawn in the simulator."""
    from numba import cuda

    if not hasattr(cuda, "dispatcher"):
        pytest.skip("needs numba-cuda")

    @cuda.jit
    def fill(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = i

    assert "        0  0:0  0:1  1:0\n" in str(show_threads(fill[2, 2], np.zeros(3)))


def test_a_kernel_without_a_launch_shape_is_a_sentence() -> None:
    """What to write instead."""
    with pytest.raises(TypeError) as error:
        show_threads(kernels.add, *ten())

    assert str(error.value) == (
        "give the kernel with its launch shape, add[blocks, threads], then its arguments."
    )


def test_an_unknown_array_lists_the_known_ones() -> None:
    """Names of parameters, as the kernel has them."""
    with pytest.raises(ValueError) as error:
        show_threads(kernels.add[3, 4], *ten(), array="c")

    assert str(error.value) == "add has no array 'c'; it has out, a, b."


def test_a_kernel_that_is_stopped_raises_the_simulators_message() -> None:
    """Without the frames of the drawing in between."""
    with pytest.raises(OutOfBoundsError, match="beyond: out-of-bounds store"):
        show_threads(kernels.beyond[2, 4], np.zeros(5))
