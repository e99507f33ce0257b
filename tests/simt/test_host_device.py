"""Streams, events, the device and its context: what a host program asks, answered without a GPU."""

from __future__ import annotations

import asyncio
import math
import warnings
from typing import Any

import numpy as np
import pytest

from warpwise.simt import LaunchError
from warpwise.simt import api as cuda
from warpwise.simt.device import ATTRIBUTES


@cuda.jit
def add_one(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += 1


def test_work_in_streams_is_done_in_program_order() -> None:
    """Copies and launches in streams, as a program with a GPU writes them."""
    stream = cuda.stream()
    x = np.zeros(4)
    with stream.auto_synchronize():
        device = cuda.to_device(x, stream=stream)
        add_one[1, 4, stream](device)
        device.copy_to_host(x, stream=stream)
    assert x.tolist() == [1] * 4
    assert device.stream is stream
    assert device[:2].stream is stream
    assert device.bind(0).stream == 0
    add_one.forall(4, stream=stream)(device)
    add_one.configure(1, 4, stream)(device)
    assert device.copy_to_host().tolist() == [3] * 4


def test_what_streams_tell() -> None:
    """Handles, callbacks, awaitables, names."""
    called: list[Any] = []
    stream = cuda.stream()
    stream.add_callback(lambda *args: called.append(args), "x")
    assert called == [(stream, 0, "x")]
    with pytest.warns(UserWarning, match="Exception in stream callback: nothing to divide"):
        stream.add_callback(lambda *args: (_ for _ in ()).throw(ValueError("nothing to divide")))

    async def wait() -> Any:
        return await stream.async_done()

    assert asyncio.run(wait()) is stream
    assert int(cuda.default_stream()) == 0
    assert (int(cuda.legacy_default_stream()), int(cuda.per_thread_default_stream())) == (1, 2)
    assert "External" in repr(cuda.external_stream(99))
    assert stream.__cuda_stream__() == (0, stream.handle)


@pytest.mark.parametrize("stream", [1024, -1, "s", 2.0, True])
def test_what_is_no_stream(stream: Any) -> None:
    """Bytes of shared memory in the place of the stream: the message writes the right call."""
    with pytest.raises(LaunchError) as error:
        add_one[1, 32, stream]
    hint = (
        f"Dynamic shared memory is the fourth: kernel[blocks, threads, 0, {stream}]."
        if type(stream) is int
        else "Use cuda.stream(), or 0 for the default stream."
    )
    assert str(error.value) == (
        f"add_one: the third part of the configuration is a stream, got {stream!r}. {hint}"
    )


def test_events_know_no_time() -> None:
    """The order of work, yes; seconds never: NaN, with a warning."""
    start, end = cuda.event(), cuda.event()
    with pytest.raises(RuntimeError, match="the first event was not recorded"):
        cuda.event_elapsed_time(start, end)
    start.record()
    add_one[1, 1](np.zeros(1))
    end.record(cuda.stream())
    end.synchronize()
    end.wait()
    assert end.query()
    with pytest.warns(UserWarning, match="the simulator has no GPU clock"):
        assert math.isnan(start.elapsed_time(end))
    untimed = cuda.event(timing=False)
    untimed.record()
    with pytest.raises(RuntimeError, match="timing=False: it has no time"):
        untimed.elapsed_time(end)


def test_the_device_answers_what_its_architecture_fixes() -> None:
    """Limits of compute capability 8.0; what only a real GPU knows is refused."""
    device = cuda.get_current_device()
    assert device.compute_capability == (8, 0)
    assert (device.WARP_SIZE, device.MAX_THREADS_PER_BLOCK, device.MULTIPROCESSOR_COUNT) == (
        32, 1024, 108,
    )  # fmt: skip
    for name in ATTRIBUTES:
        assert isinstance(getattr(device, name), int)
    with pytest.raises(AttributeError, match="no CLOCK_RATE: only a real GPU has a value for it"):
        device.CLOCK_RATE  # noqa: B018
    with pytest.raises(AttributeError, match="the simulated device has no nonsense"):
        device.nonsense  # noqa: B018
    assert cuda.is_float16_supported()
    assert cuda.is_bfloat16_supported()
    assert not cuda.is_fp8_supported()


def test_attributes_are_names_of_cuda() -> None:
    """Each attribute of the device exists in CUDA's own list."""
    driver = pytest.importorskip("cuda.bindings.driver")
    known = {name.removeprefix("CU_DEVICE_ATTRIBUTE_") for name in dir(driver.CUdevice_attribute)}
    assert set(ATTRIBUTES) <= known


def test_there_is_one_device(capsys: pytest.CaptureFixture[str]) -> None:
    """Number 0, under every name that numba.cuda has for it."""
    device = cuda.get_current_device()
    assert list(cuda.gpus) == list(cuda.list_devices()) == [device]
    assert cuda.gpus.current is cuda.select_device(0) is cuda.current_context().device is device
    with cuda.gpus[0], cuda.defer_cleanup(), cuda.profiling():
        add_one[1, 1](np.zeros(1))
    for ask in (cuda.select_device, cuda.current_context):
        with pytest.raises(ValueError, match="one device, number 0; there is no 1"):
            ask(1)
    with pytest.raises(IndexError):
        cuda.gpus[1]
    context = cuda.current_context()
    context.push()
    context.pop()
    context.synchronize()
    context.reset()
    assert context.memalloc(12).size == 12
    assert context.create_event().query()
    with pytest.raises(AttributeError, match=r"that part of CUDA's driver needs a GPU"):
        context.create_module_ptx  # noqa: B018
    device.reset()
    cuda.profile_start()
    cuda.profile_stop()
    cuda.synchronize()
    cuda.close()
    assert cuda.is_available()
    assert cuda.detect()
    assert "the Warpwise simulator (no GPU)" in capsys.readouterr().out
    assert cuda.require_context(lambda x: x + 1)(1) == 2


def test_launches_of_a_number_of_tasks() -> None:
    """forall: at least as many threads; none for no tasks."""
    x = np.zeros(1000)
    add_one.forall(1000)(x)
    add_one.forall(np.int32(1000), tpb=64)(x)
    add_one.forall(0)(x)
    assert x.tolist() == [2] * 1000
    with pytest.raises(ValueError, match="negative task count: -1"):
        add_one.forall(-1)
    with pytest.raises(LaunchError, match=r"takes a number of tasks, got 2\.5"):
        add_one.forall(2.5)


def test_callbacks_before_a_launch() -> None:
    """Called with the kernel and the configuration, each time."""
    launch = add_one[1, 1]
    seen: list[Any] = []
    launch.pre_launch_callbacks.append(lambda *args: seen.append(args))
    launch(np.zeros(1))
    launch(np.zeros(1))
    assert seen == [(add_one, launch)] * 2


def larger(a, b):
    return max(a, b)


@pytest.mark.parametrize("n", [0, 1, 31, 128, 129, 1000, 20000])
def test_reductions(n: int) -> None:
    """Sums and maxima of host and device arrays, parts of them, with a start and a place."""
    total, largest = cuda.reduce(lambda a, b: a + b), cuda.Reduce(larger)
    x = np.random.default_rng(n).integers(-99, 99, n)
    assert total(x) == x.sum()
    assert total(cuda.to_device(x), init=5) == x.sum() + 5
    assert total(x, size=n // 2) == x[: n // 2].sum()
    assert largest(x, init=-100) == max([-100, *x.tolist()])
    if n:
        place = cuda.device_array(1, x.dtype)
        assert total(x, res=place) is None
        assert place[0] == x.sum()


def test_reductions_of_what_is_no_array() -> None:
    """Lists and matrices are named."""
    total = cuda.reduce(lambda a, b: a + b)
    with pytest.raises(TypeError, match="a reduction takes an array, got a list"):
        total([1, 2])
    with pytest.raises(TypeError, match="this one has 2 dimensions"):
        total(np.zeros((2, 2)))


def test_nothing_here_warns_but_the_clock() -> None:
    """Host programs run without noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        device = cuda.to_device(np.zeros(4))
        add_one[1, 4, cuda.stream()](device)
        cuda.event().record()
        np.asarray(device)
