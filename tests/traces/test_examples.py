"""The ten examples: the files are what the script writes, and each has its cause and no other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from warpwise.traces import CAUSES, Trace, TraceError, example, shipped, write_trace
from warpwise.traces.examples import SHIPPED, SOUND, path_of

SINGLE = sorted(set(CAUSES) - {"exposed_all_reduce", "straggler"})


def busy(trace: Trace) -> float:
    """Share of the time in which the computing stream works."""
    return trace.busy_us("stream 7") / (trace.end_us - trace.start_us)


def in_a_step(trace: Trace, lane: str, name: str) -> float:
    return sum(event.name == name for event in trace.on(lane)) / len(trace.steps)


@pytest.mark.parametrize("number", SHIPPED)
def test_files_are_what_the_script_writes(number: int, tmp_path: Path) -> None:
    """Byte for byte, and each says how it was made and of which kind its times are."""
    cause, seed = SHIPPED[number]
    write_trace(example(cause, seed), tmp_path / "t.json")
    assert path_of(number).read_bytes() == (tmp_path / "t.json").read_bytes()
    assert "generated" in shipped(number).made and "modelled" in shipped(number).made
    assert cause not in path_of(number).read_text()


def test_each_cause_is_shipped_once() -> None:
    """Ten files, ten causes."""
    assert sorted(cause for cause, _ in SHIPPED.values()) == sorted(CAUSES)
    with pytest.raises(TraceError, match="no trace 11; there are 1 to 10"):
        shipped(11)
    with pytest.raises(TraceError, match="'slow' is no cause"):
        example("slow")


@pytest.mark.parametrize("seed", range(6))
def test_the_device_is_idle_for_the_causes_of_the_host_alone(seed: int) -> None:
    """Below 80 % for three of them; above 90 % for the rest, which use the device badly."""
    for cause in ("launch_bound", "sync_in_loop", "data_loader"):
        assert busy(example(cause, seed)) < 0.8, cause
    for cause in ("sound", "small_kernels", "uncoalesced", "wave_tail", "recompute"):
        assert busy(example(cause, seed)) > 0.9, cause


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cause", [*SINGLE, "sound"])
def test_a_trace_shows_its_own_cause_alone(cause: str, seed: int) -> None:
    """What proves one cause is not there in the traces of the others."""
    trace = example(cause, seed)
    kernels = [event for event in trace.on("stream 7") if "Memcpy" not in event.name]
    assert (in_a_step(trace, "host", "cudaStreamSynchronize") > 3) == (cause == "sync_in_loop")
    loading = sum(event.us for event in trace.on("host") if "DataLoader" in event.name)
    assert (loading > 0.2 * trace.end_us) == (cause == "data_loader")
    pageable = any("Pageable" in event.name for event in trace.on("stream 7"))
    assert pageable == (cause == "pageable_copies")
    wide = any(e.args.get("load sectors", 0) > 4 * e.args.get("load requests", 1) for e in kernels)
    assert wide == (cause == "uncoalesced")
    tail = any(e.args["grid"] % 108 and e.args["blocks an SM"] == 1 for e in kernels)
    assert tail == (cause == "wave_tail")
    first = [e for e in kernels if e.start_us < trace.steps[0][1]]
    layers = Counter(e.args["layer"] for e in first if e.name == "gemm_forward")
    assert (max(layers.values()) > 1) == (cause == "recompute")
    small = sum(e.us for e in kernels if "gemm" not in e.name) / sum(e.us for e in kernels)
    assert (small > 0.5) == (cause == "small_kernels") or cause == "uncoalesced"
    short = sorted(event.us for event in kernels)[len(kernels) // 2] < 6
    assert short == (cause == "launch_bound")


@pytest.mark.parametrize("seed", range(4))
def test_ranks_wait_for_one_or_for_the_network(seed: int) -> None:
    """A straggler's all-reduces are the shortest; exposed ones take equally long on all ranks."""
    times = {
        cause: [example(cause, seed).busy_us("stream 20", rank) for rank in range(4)]
        for cause in ("straggler", "exposed_all_reduce", "sound_ranks")
    }
    assert min(times["straggler"]) < 0.5 * max(times["straggler"])
    for cause in ("exposed_all_reduce", "sound_ranks"):
        assert min(times[cause]) > 0.9 * max(times[cause])
    exposed, sound = example("exposed_all_reduce", seed), example("sound_ranks", seed)
    assert busy(exposed) < 0.8 and busy(sound) > 0.9


def test_other_seeds_give_other_numbers() -> None:
    """The same cause with other layers and lengths; the same seed, the same trace."""
    for cause in (*CAUSES, *SOUND):
        assert example(cause, 1) == example(cause, 1)
        assert example(cause, 1).rows != example(cause, 2).rows
