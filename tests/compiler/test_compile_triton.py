"""Triton's compiler without a GPU: which matrix instruction each architecture gets."""

from __future__ import annotations

import pytest

from warpwise.compiler import CompilerError, compile_triton

pytest.importorskip("triton", reason="Triton has wheels for Linux only")

from tests.compiler import triton_kernels as kernels

MATMUL = {"C": "*fp32", "A": "*fp16", "B": "*fp16", "K": "i32", "M": 64, "N": 64, "STEP": 32}
ADD = {"out": "*fp32", "x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": 1024}


@pytest.mark.parametrize(("arch", "instruction"), [
    ("sm_80", "mma.sync.aligned.m16n8k16"), ("sm_90", "wgmma.mma_async.sync.aligned.m64n64k16"),
    ("sm_100", "tcgen05.mma"), ("sm_120", "mma.sync.aligned.m16n8k16"),
])  # fmt: skip
def test_each_architecture_gets_its_matrix_instruction(arch: str, instruction: str) -> None:
    """mma.sync on Ampere, wgmma on Hopper, tcgen05 on data-centre Blackwell, mma.sync on 12.0."""
    compiled = compile_triton(kernels.matmul, MATMUL, arch)
    assert any(name.startswith(instruction) for name in compiled.matrix)
    assert all(count > 0 for count in compiled.matrix.values())
    assert compiled.shared_bytes > 0


def test_old_architectures_multiply_without_one() -> None:
    """On sm_75 this Triton uses plain arithmetic."""
    assert not compile_triton(kernels.matmul, MATMUL, "sm_75").matrix


def test_mma_count_follows_from_the_tile() -> None:
    """64 x 64 x 32 in m16n8k16 steps: 4 * 8 * 2 = 64 for four warps, 16 in each warp's code."""
    compiled = compile_triton(kernels.matmul, MATMUL, "sm_80", num_stages=1)
    assert sum(compiled.matrix.values()) == 64 // 4


def test_every_stage_can_be_read() -> None:
    """TTIR, TTGIR, PTX, registers, and machine code by Python line."""
    compiled = compile_triton(kernels.matmul, MATMUL, "sm_90")
    assert "tt.dot" in compiled.ttir and "ttng.warp_group_dot" in compiled.ttgir
    assert 16 <= compiled.registers <= 255 and compiled.spills == 0
    dots = [line for line in compiled.lines if "tl.dot" in line.text]
    assert dots and sum(line.kinds["matrix"] for line in dots) > 0


def test_code_kept_from_another_file_has_this_files_lines() -> None:
    """Triton's cache knows texts, not files; the lines are found all the same."""
    from dataclasses import replace

    compiled = compile_triton(kernels.matmul, MATMUL, "sm_90")
    moved = replace(compiled, file="/elsewhere/a_cell.py")
    files = {line.file for line in moved.lines}
    assert moved.file in files and compiled.file not in files


def test_sizes_that_divide_by_16_load_in_vectors() -> None:
    """1024 float32 over 128 threads: two 128-bit loads a thread and array, or eight single ones."""
    wide = compile_triton(kernels.add, {**ADD, "n": 4096}, "sm_80").ptx.operations
    assert wide["ld.global.v4.b32"] == 2 * 2 and wide["ld.global.b32"] == 0
    single = compile_triton(kernels.add, {**ADD, "n": 4095}, "sm_80").ptx.operations
    assert single["ld.global.b32"] == 2 * 8 and single["ld.global.v4.b32"] == 0


def test_a_stride_of_one_is_a_constant() -> None:
    """As in a launch: only so are the loads of a row wide."""
    args = {"out": "*fp32", "x": "*fp32", "step": 1, "BLOCK": 512}
    assert compile_triton(kernels.strided, args, "sm_80").load_bits["LDG", 128] == 1
    assert compile_triton(kernels.strided, {**args, "step": 2}, "sm_80").load_bits["LDG", 32] == 4


def test_tensors_and_numbers_give_their_types() -> None:
    """A call's own arguments may be given instead of type names."""
    torch = pytest.importorskip("torch")
    x = torch.zeros(64, dtype=torch.bfloat16)
    compiled = compile_triton(
        kernels.add, {"out": x, "x": x, "y": x, "n": 64, "BLOCK": 64}, "sm_90"
    )
    assert "!tt.ptr<bf16>" in compiled.ttir


@pytest.mark.parametrize(("args", "said"), [
    ({"out": "*fp32"}, "Missing: x, y, n, BLOCK"), ({**ADD, "z": 1}, "Unknown: z"),
    ({**ADD, "x": [1, 2]}, "x is a list"),
])  # fmt: skip
def test_wrong_arguments_are_named(args: dict, said: str) -> None:
    """Missing, unknown, of no type."""
    with pytest.raises(CompilerError, match=said):
        compile_triton(kernels.add, args)


def test_a_kernel_triton_refuses_keeps_tritons_reason() -> None:
    """Shapes that do not broadcast."""
    with pytest.raises(CompilerError, match="broken: Triton could not compile this for sm_80") as e:
        compile_triton(kernels.broken, {"out": "*fp32", "x": "*fp32", "BLOCK": 32})
    assert "32" in str(e.value) and "64" in str(e.value)


def test_what_is_no_triton_kernel_is_named() -> None:
    """A function without @triton.jit."""
    with pytest.raises(CompilerError, match="no Triton kernel"):
        compile_triton(lambda x: x, {"x": "*fp32"})
