"""Pictures of devices and code: what they say, at every setting, with and without widgets."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from warpwise.hardware import Op, timeline
from warpwise.show import (
    show_occupancy,
    show_roofline,
    show_sass,
    show_timeline,
    turn_roofline,
)
from warpwise.show.dial import Dial, Dialled

PNG = b"\x89PNG"


def png(bundle: dict[str, Any]) -> bytes:
    return base64.b64decode(bundle["image/png"])


def test_the_roofline_says_what_binds_each_point() -> None:
    """Left of the ridge memory, right of it arithmetic; the text stands beside the picture."""
    got = show_roofline("A100", {"saxpy": (1 / 6, None), "gemm": (90, 15.0)})
    assert "the ridge is at 9.75" in str(got)
    assert "saxpy: 0.167 operations a byte, at most 0.333 TFLOP/s, bound by DRAM" in str(got)
    assert "gemm: 90 operations a byte, 15 TFLOP/s, bound by fp32" in str(got)
    bundle = got._repr_mimebundle_()
    assert png(bundle).startswith(PNG) and "(modelled)" in bundle["text/plain"]


@pytest.mark.parametrize("device", ["V100", "T4", "B200", "laptop"])
def test_every_device_has_a_roofline(device: str) -> None:
    """With and without an L2 roof, points at the very ends."""
    got = show_roofline(device, {"none": (0.0, None), "all": (float("inf"), None)})
    assert png(got._repr_mimebundle_()).startswith(PNG)


def test_a_format_the_device_lacks_is_refused_at_once() -> None:
    """Not when the picture is drawn."""
    with pytest.raises(ValueError, match="A100 80GB has no fp8 peak"):
        show_roofline("A100", {}, kind="fp8")


def test_bytes_of_another_memory_have_another_ridge() -> None:
    """The A100's L2 moves 7,219 GB/s: 19.5 TFLOP/s need 2.7 operations for each of its bytes."""
    got = show_roofline("A100", {"8 x 8": (2.0, None), "16 x 16": (4.0, None)}, level="L2")
    assert "the ridge of L2 is at 2.7 operations a byte" in str(got)
    assert "8 x 8: 2 operations a byte, at most 14.4 TFLOP/s, bound by L2" in str(got)
    assert "16 x 16: 4 operations a byte, at most 19.5 TFLOP/s, bound by fp32" in str(got)
    assert png(got._repr_mimebundle_()).startswith(PNG)
    with pytest.raises(ValueError, match="T4 has no roof 'L2'"):
        show_roofline("T4", {}, level="L2")


def test_the_same_kernel_stands_under_other_roofs() -> None:
    """4 float64 operations a byte: memory binds on an A100, arithmetic on an RTX 4090."""
    turned = turn_roofline({"poly": (4.0, None)}, ("A100 40GB", "RTX 4090"))
    assert "A100 40GB, fp32" in repr(turned)
    assert "bound by DRAM" in turned.at(format="fp64")["text/plain"]
    assert "bound by fp64" in turned.at(device="RTX 4090", format="fp64")["text/plain"]


def test_the_occupancy_explorer_turns() -> None:
    """Each dial changes what the picture says."""
    explorer = show_occupancy("A100", 256, 40)
    assert "75 %" in repr(explorer) and "registers" in repr(explorer)
    assert "100 %" in explorer.at(registers=32)["text/plain"]
    assert "limited by shared memory" in explorer.at(shared_bytes=64 * 1024)["text/plain"]
    assert explorer.at(device="T4")["text/plain"].startswith("T4:")
    html = explorer.at()["text/html"]
    assert "binds" in html and "<svg" not in html and "<script" not in html


def test_a_block_that_does_not_fit_says_so() -> None:
    """512 threads of 129 registers."""
    assert "0 blocks fit" in show_occupancy("A100", 512, 129).at()["text/plain"]


def test_sliders_redraw_the_picture() -> None:
    """Turning a real ipywidgets slider gives the new picture."""
    pytest.importorskip("ipywidgets")
    seen: list[dict[str, Any]] = []
    explorer = show_occupancy("A100", 256, 40)
    box = explorer.sliders(seen.append)
    registers = next(child for child in box.children if child.description == "registers")
    registers.value = 32
    assert "100 %" in seen[-1]["text/plain"]


def test_dials_refuse_what_they_do_not_have() -> None:
    """A start that is no stop, a name that is no dial."""
    with pytest.raises(ValueError, match="starts at 3"):
        Dialled([Dial("x", (1, 2), 3)], lambda x: {})
    with pytest.raises(ValueError, match="no dial 'y'"):
        Dialled([Dial("x", (1, 2), 1)], lambda x: {}).at(y=1)


def test_machine_code_stands_under_its_line() -> None:
    """Loads and stores are marked; the tool that said it is named."""
    pytest.importorskip("triton", reason="nvdisasm comes with Triton")
    pytest.importorskip("numba.cuda.compiler")
    from tests.compiler import kernels
    from warpwise.compiler import compile_kernel

    x = np.ones(8, np.float32)
    shown = show_sass(compile_kernel(kernels.with_literal, (x, x), "sm_80"))
    assert "out[i] = 2.5 * x[i] + x[i]" in str(shown) and "ld   LDG" in str(shown)
    assert "f64  D" in str(shown) and "compiled: " in str(shown)
    html = shown._repr_html_()
    assert html.count("<details") == len(shown.lines) and "LDG" in html


def test_the_timeline_says_when_each_engine_works() -> None:
    """Copy, compute, copy back on two streams."""
    ops = [
        Op(f"{kind}{i}", kind, i + 1, 1.0) for i in range(2) for kind in ("h2d", "kernel", "d2h")
    ]
    shown = show_timeline(timeline(ops, launch_us=0))
    assert "4 ms in all" in str(shown) and "compute: kernel0 1 to 2, kernel1 2 to 3" in str(shown)
    assert png(shown._repr_mimebundle_()).startswith(PNG)
    assert png(show_timeline(timeline([]))._repr_mimebundle_()).startswith(PNG)


def test_a_timeline_of_several_streams_says_which_is_which() -> None:
    """A legend, and in the text a row a stream; nothing of the kind for a single one."""
    ops = [Op("in", "h2d", 1, 1.0), Op("other", "kernel", 0, 1.0), Op("out", "d2h", 1, 1.0)]
    shown = show_timeline(timeline(ops, launch_us=0))
    assert "  default stream: other\n  stream 1: in, out" in str(shown)
    (legend,) = shown.figure().legends
    assert [text.get_text() for text in legend.get_texts()] == ["default stream", "stream 1"]
    alone = show_timeline(timeline(ops[:1], launch_us=0))
    assert "stream" not in str(alone) and not alone.figure().legends


@pytest.mark.parametrize("point", [3, (-1.0, None), (1.0, 0.0), ("x", None), (1.0,)])
def test_a_point_that_is_none_is_named(point: Any) -> None:
    """Operations a byte and a rate, or None for it."""
    with pytest.raises(ValueError, match=r"gemm: a point is \(operations a byte, TFLOP/s\)"):
        show_roofline("A100", {"gemm": point})


def test_what_is_not_compiled_or_not_timed_is_refused() -> None:
    """Each says what to give instead."""
    with pytest.raises(TypeError, match="compile it first"):
        show_sass("kernel")
    with pytest.raises(TypeError, match="what timeline"):
        show_timeline([Op("a", "kernel", 0, 1.0)])  # type: ignore[arg-type]
