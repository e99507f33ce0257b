"""The picture in a notebook: a slider where there are widgets, a figure everywhere."""

from __future__ import annotations

import re
import subprocess
import sys

import nbclient
import nbconvert
import nbformat
import numpy as np
import pytest

from tests.show import kernels
from warpwise.show import show_threads
from warpwise.simt import OutOfBoundsError

WIDGET = "application/vnd.jupyter.widget-view+json"


def ten() -> list[np.ndarray]:
    return [np.ones(10, np.float32) for _ in range(3)]


def test_the_slider_asks_for_a_block_or_for_all() -> None:
    """From all blocks to one, and back again."""
    drawn: list[int | None] = []
    slider = show_threads(kernels.add[3, 4], *ten()).slider(drawn.append)

    assert [name for name, _ in slider.options] == ["all", "0", "1", "2"]

    slider.value = 1
    slider.value = -1
    assert drawn == [1, None]


def test_the_slider_redraws_the_figure_below_it() -> None:
    """Two outputs, and an update of the second when the slider moves."""
    program = """
import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from tests.show import kernels
from warpwise.show import picture, show_threads
InteractiveShell.instance()
launch = show_threads(kernels.add[3, 4], *(np.ones(10, np.float32) for _ in range(3)))
made = []
original = picture.Picture.slider
picture.Picture.slider = lambda self, draw: made.append(original(self, draw)) or made[0]
with capture_output() as seen:
    launch._ipython_display_()
    made[0].value = 1
for output in seen.outputs:
    print(" ".join(sorted(output.data)), output.update, "Block 1 wrote" in str(output.data))
print(seen.outputs[0].data["text/plain"])
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert run.stdout.splitlines() == [
        f"{WIDGET} text/plain False False",
        "text/html text/plain False False",
        "text/html text/plain True True",
        "(Run this cell for a slider over the blocks.)",
    ]


def test_an_exported_notebook_keeps_the_figure() -> None:
    """A page that may show the slider, without a network to load it from, shows the figure."""
    source = (
        "import numpy as np\nfrom tests.show import kernels\n"
        "from warpwise.show import show_threads\n"
        "show_threads(kernels.add[3, 4], *(np.ones(10, np.float32) for _ in range(3)))"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    without_scripts = re.sub(r"(?s)<script.*?</script>", "", page)

    assert notebook.metadata["widgets"]
    assert "10 of 10 elements of out written, each once." in without_scripts
    assert without_scripts.count("<figure") == 1


def test_a_page_gets_figure_and_text() -> None:
    """Whatever shows the picture picks the best form it can."""
    picture = show_threads(kernels.add[3, 4], *ten())
    bundle = picture._repr_mimebundle_()

    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/html"] == picture.html()
    assert bundle["text/plain"] == str(picture) == repr(picture)


def test_one_block_needs_no_slider() -> None:
    """There is nothing to move to."""
    assert show_threads(kernels.add[1, 16], *ten()).slider(print) is None


def test_without_ipywidgets_the_figure_stands_still(monkeypatch) -> None:
    """No error, only no slider."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)

    assert show_threads(kernels.add[3, 4], *ten()).slider(print) is None


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
