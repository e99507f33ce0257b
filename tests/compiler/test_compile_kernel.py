"""The real compiler: registers, types, machine code by line, for every architecture."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from warpwise.compiler import (
    ArchitectureError,
    CompilerError,
    CompilerMissingError,
    compile_kernel,
    toolchain,
)
from warpwise.compiler.sass import CLASSES

pytest.importorskip("numba.cuda.compiler", reason="numba-cuda has no wheel for this system")

from tests.compiler import kernels

F = np.ones(64, np.float32)
H = np.ones(64, np.float16)
M = np.ones((64, 64), np.float32)
ARGUMENTS = {
    "saxpy": (F, F, F, np.float32(2)), "with_literal": (F, F), "without_literal": (F, F),
    "tiled": (M, M, M), "shuffled": (F, F), "local": (F, F), "half": (H, H), "grid_wide": (F, F),
    "many_values": (F, F),
}  # fmt: skip
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
needs_disassembler = pytest.mark.skipif(
    toolchain.tool("nvdisasm") is None, reason="Triton, which brings nvdisasm, is for Linux only"
)


@pytest.mark.parametrize("arch", [
    arch if arch == "sm_90" else pytest.param(arch, marks=pytest.mark.slow)
    for arch in ARCHITECTURES
])  # fmt: skip
@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_every_kind_of_kernel_compiles_for_every_architecture(name: str, arch: str) -> None:
    """Device functions, shared and local memory, shuffles, atomics, fp16, grid sync: a report."""
    compiled = compile_kernel(getattr(kernels, name), ARGUMENTS[name], arch)
    assert compiled.architecture == arch
    assert 4 <= compiled.registers <= 255
    assert compiled.label == "compiled"


@pytest.mark.parametrize("name", ["saxpy", "tiled", "shuffled", "local", "many_values"])
def test_registers_are_the_assemblers(name: str, tmp_path: Path) -> None:
    """Registers, stack and shared bytes equal what ptxas -v says of the PTX that is shown."""
    tool = toolchain.tool("ptxas")
    if tool is None:
        pytest.skip("no ptxas on this system")
    compiled = compile_kernel(getattr(kernels, name), ARGUMENTS[name], "sm_80")
    (tmp_path / "k.ptx").write_text(compiled.ptx.text)
    said = subprocess.run(
        [tool, "-v", "-arch=sm_80", tmp_path / "k.ptx", "-o", tmp_path / "k.cubin"],
        check=True, capture_output=True, text=True,
    ).stderr  # fmt: skip
    assert f"Used {compiled.registers} registers" in said
    assert f"{compiled.resources.stack} bytes stack frame" in said
    if compiled.shared_bytes:
        assert f"{compiled.shared_bytes} bytes smem" in said


def test_shared_memory_is_counted_in_bytes() -> None:
    """Two tiles of 16 x 16 float32 are 2048 bytes, with one barrier in use."""
    compiled = compile_kernel(kernels.tiled, ARGUMENTS["tiled"], "sm_90")
    assert compiled.shared_bytes == 2 * 16 * 16 * 4
    assert compiled.resources.barriers == 1


def test_a_literal_lets_float64_in() -> None:
    """2.5 * x[i] is computed in float64 and converted back; np.float32(2.5) is not."""
    assert compile_kernel(kernels.with_literal, (F, F)).float64 >= 3
    assert compile_kernel(kernels.without_literal, (F, F)).float64 == 0


def test_a_python_float_argument_lets_float64_in() -> None:
    """The same kernel with a Python float and with a float32 scalar."""
    assert compile_kernel(kernels.saxpy, (F, F, F, 2.0)).float64 > 0
    assert compile_kernel(kernels.saxpy, (F, F, F, np.float32(2))).float64 == 0


def test_types_are_numbas() -> None:
    """Each variable of the learner's has its inferred type."""
    types = compile_kernel(kernels.tiled, ARGUMENTS["tiled"]).types
    assert types["total"] == "float32"
    assert types["row"] == "int64" and types["tx"] == "int32"
    assert types["A"] == "array(float32, 2d, C)"


def test_a_local_array_lives_on_the_stack() -> None:
    """64 float32 with a computed index: 256 bytes a thread, and nothing spilled."""
    compiled = compile_kernel(kernels.local, ARGUMENTS["local"], "sm_80")
    assert compiled.resources.stack == 256
    assert compiled.spills == 0


def test_too_few_registers_spill() -> None:
    """32 values in 24 registers: the compiler has to put values into memory."""
    roomy = compile_kernel(kernels.many_values, (F, F), "sm_80")
    tight = compile_kernel(kernels.many_values, (F, F), "sm_80", max_registers=24)
    assert roomy.spills == 0
    assert tight.registers <= 24 and tight.spills > 0
    assert "spilled" in str(tight)


def test_options_of_the_decorator_reach_the_compiler() -> None:
    """fastmath divides with one approximate instruction instead of the IEEE routine."""
    exact = compile_kernel(kernels.divided, (F, F)).ptx.operations
    fast = compile_kernel(kernels.divided_fast, (F, F)).ptx.operations
    assert exact["div.rn.f32"] == 1 and not any(name.startswith("div.approx") for name in exact)
    assert any(name.startswith("div.approx") for name in fast) and fast["div.rn.f32"] == 0


def test_no_instruction_is_of_two_kinds() -> None:
    """Each name stands in one class."""
    names = [name for members in CLASSES.values() for name in members]
    assert len(set(names)) == len(names)


@needs_disassembler
def test_machine_code_is_grouped_by_python_line() -> None:
    """Loads, stores, barriers and arithmetic stand at the lines that ask for them."""
    compiled = compile_kernel(kernels.tiled, ARGUMENTS["tiled"], "sm_90")
    by_text = {line.text: line.kinds for line in compiled.lines}
    assert by_text["cuda.syncthreads()"]["barrier"] == 1
    inner = by_text["total += a[ty, k] * b[k, tx]"]
    assert inner["float32"] == 16  # the loop over 16 is unrolled
    assert by_text["C[row, col] = total"]["store"] == 1
    copied = by_text["a[ty, tx] = A[row, step * TILE + tx]"]
    assert copied["load"] == 1 and copied["store"] == 1
    assert sum(len(line.instructions) for line in compiled.lines) == len(compiled.sass)


@needs_disassembler
def test_wide_loads_show_their_width() -> None:
    """The tiled kernel reads a row of its tile as 128-bit words."""
    compiled = compile_kernel(kernels.tiled, ARGUMENTS["tiled"], "sm_90")
    assert compiled.load_bits["LDS", 128] == 4
    assert compiled.load_bits["LDG", 32] == 2


@needs_disassembler
def test_shuffles_and_atomics_are_told_apart() -> None:
    """Five shuffles and one reduction."""
    kinds = compile_kernel(kernels.shuffled, (F, F), "sm_80").kinds
    assert kinds["shuffle"] == 5
    assert kinds["atomic"] == 1


@needs_disassembler
def test_the_code_ends_with_the_kernels_last_instruction() -> None:
    """The branch to itself and the NOPs after the end are no code of the kernel's."""
    code = compile_kernel(kernels.saxpy, ARGUMENTS["saxpy"], "sm_90").sass
    assert code[-1].name in ("EXIT", "BRA", "RET.REL.NODEC")
    assert not any(instruction.name == "NOP" for instruction in code)


def test_half_precision_functions_are_inlined() -> None:
    """fp16 math comes from C++ helpers; after linking no call and no stack are left."""
    compiled = compile_kernel(kernels.half, (H, H), "sm_90")
    assert compiled.resources.stack == 0
    assert "call" not in {name.split(".")[0] for name in compiled.ptx.operations}


def test_a_grid_barrier_is_linked_with_its_library() -> None:
    """The report is the kernel's own, not the library's functions'."""
    compiled = compile_kernel(kernels.grid_wide, (F, F), "sm_80")
    assert compiled.ptx.synchronises_grid
    assert compiled.registers < 64 and compiled.shared_bytes == 0


def test_the_same_question_is_answered_from_memory() -> None:
    """Equal source, constants, types and architecture: the same object."""
    assert compile_kernel(kernels.saxpy, ARGUMENTS["saxpy"], 9.0) is compile_kernel(
        kernels.saxpy, (F + 1, F[:3], F, np.float32(5)), "sm_90"
    )


def test_a_changed_constant_is_another_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tile size is compiled in, so changing it compiles again."""
    before = compile_kernel(kernels.tiled, ARGUMENTS["tiled"])
    monkeypatch.setattr(kernels, "TILE", 8)
    assert compile_kernel(kernels.tiled, ARGUMENTS["tiled"]).shared_bytes == 2 * 8 * 8 * 4
    monkeypatch.undo()
    assert compile_kernel(kernels.tiled, ARGUMENTS["tiled"]).shared_bytes == before.shared_bytes


def test_signatures_types_and_values_mean_the_same() -> None:
    """Arguments may be values, Numba types or a signature as text."""
    from numba import float32

    by_value = compile_kernel(kernels.with_literal, (F, F))
    assert compile_kernel(kernels.with_literal, "void(float32[::1], float32[::1])") is by_value
    assert compile_kernel(kernels.with_literal, (float32[::1], float32[::1])) is by_value


def test_layout_matters() -> None:
    """A strided argument is another type than a contiguous one."""
    strided = compile_kernel(kernels.with_literal, (F[::2], F[::2]))
    assert "A" in strided.arguments[0] and strided.arguments[0] != "array(float32, 1d, C)"


@pytest.mark.parametrize(("arch", "said"), [
    ("sm_70", "CUDA 13 no longer compiles"), ("sm_999", "not known"), ("A100", "no architecture"),
])  # fmt: skip
def test_unknown_architectures_are_named_with_the_known_ones(arch: str, said: str) -> None:
    """The message lists what there is."""
    with pytest.raises(ArchitectureError, match=said) as caught:
        compile_kernel(kernels.saxpy, ARGUMENTS["saxpy"], arch)
    assert "sm_90" in str(caught.value)


@pytest.mark.parametrize(("args", "said"), [
    ((F,), "takes 2 arguments; 1 types"), ((F, object()), "argument 2 is a object"),
    ("void(float32[::1]", "no signature"), (3, "signature or as a list"),
])  # fmt: skip
def test_mixed_up_arguments_get_a_sentence(args: object, said: str) -> None:
    """Wrong counts, foreign objects, broken signatures."""
    with pytest.raises(CompilerError, match=said):
        compile_kernel(kernels.with_literal, args)


def test_what_is_no_kernel_is_named() -> None:
    """An object without a Python function behind it."""
    with pytest.raises(CompilerError, match="no Python function"):
        compile_kernel(len, (F,))


def test_a_missing_compiler_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """On macOS there is no numba-cuda."""
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    with pytest.raises(CompilerMissingError, match="macOS"):
        compile_kernel(kernels.saxpy, ARGUMENTS["saxpy"])


def test_without_triton_the_linker_assembles(monkeypatch: pytest.MonkeyPatch) -> None:
    """No ptxas: nvJitLink's report; no nvdisasm: a sentence."""
    monkeypatch.setattr(toolchain, "tool", lambda name: None)
    monkeypatch.setattr(toolchain, "version", lambda name: "")
    compiled = compile_kernel(kernels.with_literal, (F[:32], F[:32]), "sm_86")
    assert compiled.resources.tool.startswith("nvJitLink") and compiled.registers > 4
    with pytest.raises(CompilerMissingError, match="nvdisasm"):
        _ = compiled.sass


def test_the_compiled_report_is_plain_data() -> None:
    """to_dict() is what JSON takes."""
    import json

    record = json.loads(json.dumps(compile_kernel(kernels.saxpy, ARGUMENTS["saxpy"]).to_dict()))
    assert record["label"] == "compiled" and record["registers"] > 0


def test_what_stops_the_compiler_inside_is_a_sentence() -> None:
    """Numba types np.multiply, and then looks for code that it does not have."""
    with pytest.raises(
        CompilerError, match=r"times: Numba's compiler stopped with KeyError.*multi"
    ):
        compile_kernel(kernels.times, (F, F))


@pytest.mark.parametrize("value", ["text", [1, 2], {1: 2}, {1}, b"x"])
def test_values_that_no_kernel_takes_are_refused(value: object) -> None:
    """Numba has types for some of them, and then fails elsewhere."""
    with pytest.raises(CompilerError, match=f"argument 2 is a {type(value).__name__}, which no"):
        compile_kernel(kernels.times, (F, value))
