"""Specs of the lab t3_14_capstone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...planner import (
    Cluster,
    Model,
    Plan,
    PlanError,
    best_interval,
    daly_interval,
    run_mtbf,
    useful_share,
)
from ...planner.plan import GIB
from ...planner.trials import Problem, Split, tried
from ..cases import Level
from ..spec import Found, FunctionSpec

UNIT = "t3_14_capstone"
DAY = 86_400


# -- days_to_train -----------------------------------------------------------------------------


def days_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[float, float, int, float, bool]]:
    """The two published runs, and others."""
    yield 175e9, 300e9, 1024, 140.0, True
    yield 1e12, 450e9, 3072, 163.0, True
    yield 175e9, 300e9, 1024, 140.0, False
    for recomputed in (False, True) * (3 if level == "grader" else 1):
        yield (
            float(rng.integers(1, 600)) * 1e9, float(rng.integers(20, 15_000)) * 1e9,
            int(rng.integers(8, 9000)), float(rng.integers(50, 600)), recomputed,
        )  # fmt: skip


def days(parameters: float, tokens: float, gpus: int, tflops: float, recomputed: bool) -> float:
    """6 P T operations, 8 with a second forward, over what all GPUs do in a day."""
    return (8 if recomputed else 6) * parameters * tokens / (gpus * tflops * 1e12) / DAY


def _days(times: Callable[[bool], float]) -> Any:
    return lambda parameters, tokens, gpus, tflops, recomputed: (
        times(recomputed) * days(parameters, tokens, gpus, tflops, False) / 6
    )


DAYS_TO_TRAIN = FunctionSpec(
    "days_to_train", UNIT, 2, days_inputs, days,
    suspects={
        "never_recomputed": _days(lambda again: 6),
        "always_recomputed": _days(lambda again: 8),
        "exchanged": _days(lambda again: 6 if again else 8),
        "recomputed_backward": _days(lambda again: 12 if again else 6),
        "one_for_a_multiply_add": _days(lambda again: 4 if again else 3),
        "backward_as_forward": _days(lambda again: 6 if again else 4),
        "forward_only": _days(lambda again: 4 if again else 2),
        "in_seconds": _days(lambda again: DAY * (8 if again else 6)),
        "in_hours": _days(lambda again: 24 * (8 if again else 6)),
        "one_gpu": lambda parameters, tokens, gpus, tflops, recomputed: (
            gpus * days(parameters, tokens, gpus, tflops, recomputed)
        ),
        "tera_forgotten": _days(lambda again: 1e12 * (8 if again else 6)),
    },
    causes={
        "never_recomputed": "It is 6 P T also where everything is recomputed.",
        "always_recomputed": "It is 8 P T also where nothing is recomputed.",
        "exchanged": "The two cases are exchanged.",
        "recomputed_backward": "What is recomputed is the forward pass alone.",
        "one_for_a_multiply_add": "A multiply-add is counted as one operation.",
        "backward_as_forward": "The backward pass is counted like the forward one.",
        "forward_only": "The backward pass is missing.",
        "in_seconds": "These are seconds.",
        "in_hours": "These are hours.",
        "one_gpu": "The number of GPUs is left out.",
        "tera_forgotten": "tflops is taken for operations a second.",
    },
    hints={
        "never_recomputed": (
            "What does a recomputed layer do once more?",
            "Its forward pass: 2 operations more, 8 instead of 6.",
        ),
        "always_recomputed": (
            "How many operations has a forward and a backward pass?",
            "2 + 4 = 6; 8 only if recomputed.",
        ),
        "exchanged": ("In which case is there more to do?", "8 if recomputed else 6."),
        "recomputed_backward": (
            "Which pass runs a second time?",
            "The forward pass, with 2: 8 in all.",
        ),
        "one_for_a_multiply_add": (
            "How many operations is a multiply-add?",
            "Two, so 2 forward and 4 backward.",
        ),
        "backward_as_forward": (
            "How many products does the backward pass make for one of the forward?",
            "Two: 4 operations for each parameter and token.",
        ),
        "forward_only": ("What else does training do?", "The backward pass, with 4."),
        "in_seconds": ("Which unit is asked for?", "Divide by 86,400."),
        "in_hours": ("Which unit is asked for?", "Divide by 86,400 seconds, not 3,600."),
        "one_gpu": ("Who shares the work?", "Divide by gpus * tflops * 1e12."),
        "tera_forgotten": ("How much is a tera?", "tflops * 1e12 operations a second."),
    },
)  # fmt: skip


# -- held_bytes --------------------------------------------------------------------------------

Held = tuple[int, int, int, int, int, int, int, int, int, int, str]


def held_inputs(rng: np.random.Generator, level: Level) -> Iterator[Held]:
    """One rank; each stage of ZeRO; fewer and more microbatches than stages; each recomputation."""
    yield 2, 1000, 10, 100, 1, 1, 1, 0, 1, 1, "none"
    yield 24, 2048, 16, 1024, 4, 2, 1, 1, 2, 3, "selective"
    yield 24, 2048, 16, 1024, 4, 2, 1, 2, 1, 3, "none"
    yield 24, 2048, 16, 1024, 4, 2, 1, 3, 1, 3, "none"
    yield 24, 2048, 16, 1024, 3, 2, 4, 0, 3, 7, "none"
    yield 24, 2048, 16, 1024, 3, 2, 4, 1, 3, 2, "selective"
    yield 24, 2048, 16, 1024, 3, 4, 6, 1, 3, 9, "full"
    for _ in range(8 if level == "grader" else 2):
        tp, pp = int(rng.choice([1, 2, 4, 8])), int(rng.choice([1, 2, 4, 8]))
        yield (
            pp * int(rng.integers(2, 12)), 64 * int(rng.integers(10, 100)), 64,
            int(rng.choice([1024, 2048, 4096])), int(rng.integers(2, 40)), tp, pp,
            int(rng.integers(0, 4)), int(rng.integers(1, 9)), int(rng.integers(1, 20)),
            str(rng.choice(["none", "selective", "full"])),
        )  # fmt: skip


def _shares(zero: int, dp: int, first: Sequence[int] = (3, 2, 1)) -> float:
    """Bytes a parameter: weight 2, gradient 2, optimiser 12, each divided from its stage on."""
    sizes = zip((2, 2, 12), first, strict=True)
    return sum(size / (dp if zero >= stage else 1) for size, stage in sizes)


def held(
    layers: int,
    hidden: int,
    heads: int,
    sequence: int,
    dp: int,
    tp: int,
    pp: int,
    zero: int,
    microbatch: int,
    microbatches: int,
    recompute: str,
) -> tuple[float, float]:
    """States of 12 L h^2 / (t p) parameters, and activations of min(p, m) microbatches."""
    states = 12 * layers * hidden**2 / (tp * pp) * _shares(zero, dp)
    unit = sequence * microbatch * hidden / tp
    scores = 5 * heads * sequence / hidden
    kept = {"none": 34 + scores, "selective": 34.0, "full": 2.0}[recompute]
    working = unit * (34 + scores) if recompute == "full" else 0.0
    return states, unit * kept * layers / pp * min(pp, microbatches) + working


def _otherwise(change: Callable[..., tuple[float, float]]) -> Any:
    """A mistake: (right values, arguments by name) -> wrong ones."""
    names = ("layers", "hidden", "heads", "sequence", "dp", "tp", "pp", "zero", "microbatch",
             "microbatches", "recompute")  # fmt: skip
    return lambda *args: change(*held(*args), **dict(zip(names, args, strict=True)))


def _with(**other: Any) -> Any:
    """The mistake of taking other arguments for the activations."""

    def change(states: float, active: float, **given: Any) -> tuple[float, float]:
        return states, held(**{**given, **{k: f(given) for k, f in other.items()}})[1]

    return _otherwise(change)


def _states(how: Callable[[float, dict[str, Any]], float]) -> Any:
    """The mistake of other states: (bytes a parameter is to get, arguments)."""

    def change(states: float, active: float, **given: Any) -> tuple[float, float]:
        right = _shares(given["zero"], given["dp"])
        return states / right * how(right, given), active

    return _otherwise(change)


def _no_working_layer(states: float, active: float, **given: Any) -> tuple[float, float]:
    if given["recompute"] == "full":
        unit = given["sequence"] * given["microbatch"] * given["hidden"] / given["tp"]
        active -= unit * (34 + 5 * given["heads"] * given["sequence"] / given["hidden"])
    return states, active


def _without_sequence(states: float, active: float, **given: Any) -> tuple[float, float]:
    """Tensor parallelism alone leaves 10 s b h whole, and the input that full keeps."""
    unit = given["sequence"] * given["microbatch"] * given["hidden"]
    count = given["layers"] / given["pp"] * min(given["pp"], given["microbatches"])
    tp = given["tp"]
    if given["recompute"] == "full":
        return states, active + unit * (2 * count + 10) * (1 - 1 / tp)
    return states, active + unit * 10 * (1 - 1 / tp) * count


def _scaled(
    states: float, active: float, given: dict[str, Any], flight: int
) -> tuple[float, float]:
    """Activations with another number of microbatches on the way."""
    unit = given["sequence"] * given["microbatch"] * given["hidden"] / given["tp"]
    scores = 5 * given["heads"] * given["sequence"] / given["hidden"]
    working = unit * (34 + scores) if given["recompute"] == "full" else 0.0
    return states, (active - working) / min(given["pp"], given["microbatches"]) * flight + working


def _layers(states: float, active: float, given: dict[str, Any]) -> tuple[float, float]:
    """Activations of all layers instead of a stage's."""
    unit = given["sequence"] * given["microbatch"] * given["hidden"] / given["tp"]
    scores = 5 * given["heads"] * given["sequence"] / given["hidden"]
    working = unit * (34 + scores) if given["recompute"] == "full" else 0.0
    return states, (active - working) * given["pp"] + working


HELD_BYTES = FunctionSpec(
    "held_bytes", UNIT, 4, held_inputs, held,
    suspects={
        "all_microbatches": _otherwise(
            lambda states, active, **g: _scaled(states, active, g, g["microbatches"])
        ),
        "one_microbatch": _otherwise(lambda states, active, **g: _scaled(states, active, g, 1)),
        "always_p_microbatches": _otherwise(
            lambda states, active, **g: _scaled(states, active, g, g["pp"])
        ),
        "no_working_layer": _otherwise(_no_working_layer),
        "sequence_not_parallel": _otherwise(_without_sequence),
        "zero_one_stage_early": _states(lambda right, g: _shares(g["zero"], g["dp"], (2, 1, 0))),
        "zero_from_the_front": _states(lambda right, g: _shares(g["zero"], g["dp"], (1, 2, 3))),
        "zero_ignored": _states(lambda right, g: 16.0),
        "everything_divided": _states(
            lambda right, g: 16 / g["dp"] if g["zero"] else 16.0
        ),
        "no_master_weights": _states(
            lambda right, g: right - 4 / (g["dp"] if g["zero"] >= 1 else 1)
        ),
        "pipeline_keeps_all_parameters": _otherwise(
            lambda states, active, **g: (states * g["pp"], active)
        ),
        "activations_of_all_layers": _otherwise(
            lambda states, active, **g: _layers(states, active, g)
        ),
        "one_sequence": _otherwise(
            lambda states, active, **g: (states, active / g["microbatch"])
        ),
        "exchanged": _otherwise(lambda states, active, **g: (active, states)),
        "in_gib": _otherwise(lambda states, active, **g: (states / GIB, active / GIB)),
        "scores_kept": _with(
            recompute=lambda g: "none" if g["recompute"] == "selective" else g["recompute"]
        ),
    },
    causes={
        "all_microbatches": "It keeps every microbatch of the step; 1F1B begins to free after p.",
        "one_microbatch": "It keeps one microbatch; a first stage has several on the way.",
        "always_p_microbatches": "It keeps p microbatches also where the step has fewer.",
        "no_working_layer": "While a layer is recomputed, its activations are all there: that "
        "layer is missing.",
        "sequence_not_parallel": "10 s b h of a layer are left whole; with sequence parallelism "
        "all 34 are divided.",
        "zero_one_stage_early": "ZeRO divides one stage too early.",
        "zero_from_the_front": "ZeRO begins with the optimiser's states, not with the parameters.",
        "zero_ignored": "The stage of ZeRO is left out.",
        "everything_divided": "Stages 1 and 2 divide only a part of the states.",
        "no_master_weights": "8 bytes of optimiser states: the 32-bit copy of the weights is "
        "missing.",
        "pipeline_keeps_all_parameters": "A stage of the pipeline has 1/p of the layers.",
        "activations_of_all_layers": "A stage keeps the activations of its own layers.",
        "one_sequence": "A microbatch may have several sequences.",
        "exchanged": "The two values are exchanged.",
        "in_gib": "These are GiB.",
        "scores_kept": "Selective recomputation keeps no scores: the term with heads goes away.",
    },
    hints={
        "all_microbatches": (
            "When does the first stage get its first backward pass?",
            "After p forwards at most: min(pp, microbatches).",
        ),
        "one_microbatch": (
            "How many forwards does the first stage run before its first backward?",
            "min(pp, microbatches).",
        ),
        "always_p_microbatches": (
            "Can two microbatches be eight?",
            "min(pp, microbatches).",
        ),
        "no_working_layer": (
            "What does one layer hold during its own backward pass?",
            "With \"full\" add once what \"none\" keeps for a layer and a microbatch.",
        ),
        "sequence_not_parallel": (
            "Which part of a layer does sequence parallelism divide?",
            "The rest: all of 34 + 5 a s / h is divided by tp.",
        ),
        "zero_one_stage_early": (
            "What does stage 0 divide?",
            "Nothing.  Stage 1: the 12; stage 2: a 2 more; stage 3: all.",
        ),
        "zero_from_the_front": (
            "Which part is largest?",
            "Stage 1 divides the 12 of the optimiser, 2 the gradients, 3 the parameters.",
        ),
        "zero_ignored": (
            "What does zero say?",
            "From stage 1 on the 12 bytes are divided by dp.",
        ),
        "everything_divided": (
            "What does each rank need in its forward pass?",
            "Parameters stay whole before stage 3, gradients before stage 2.",
        ),
        "no_master_weights": (
            "Which three numbers has Adam for each parameter, in 32 bits?",
            "The weight and two moments: 12 bytes.",
        ),
        "pipeline_keeps_all_parameters": (
            "Which layers does a stage have?",
            "Divide the parameters by tp * pp.",
        ),
        "activations_of_all_layers": (
            "Which layers does a stage have?",
            "layers / pp of them.",
        ),
        "one_sequence": ("How long is a microbatch?", "sequence * microbatch tokens."),
        "exchanged": ("Which comes first?", "States, then activations."),
        "in_gib": ("Which unit is asked for?", "Bytes."),
        "scores_kept": (
            "What does selective recomputation recompute?",
            "The attention's core: 34 without the term 5 a s / h.",
        ),
        "wrong_values": (
            "Which of the two values differs, and for which recompute?",
            "states = 12 L h^2 / (t p) times bytes; activations = s b h / t times the "
            "coefficient, times layers / pp, times min(pp, microbatches).",
        ),
    },
)  # fmt: skip


# -- step_parts --------------------------------------------------------------------------------

Step = tuple[float, float, float, int, float, int, int, int, int, float, float, float]


def step_inputs(rng: np.random.Generator, level: Level) -> Iterator[Step]:
    """One rank; each kind alone; gradients that hide and that do not; all at once."""
    yield 8e12, 1e12, 0.5, 4, 1e9, 1, 1, 1, 3, 1e6, 1e11, 1e10
    yield 8e12, 1e12, 0.5, 4, 1e9, 1, 1, 2, 3, 1e6, 1e11, 1e10
    yield 8e12, 1e12, 0.5, 4, 1e9, 1, 4, 1, 3, 1e8, 1e11, 1e10
    yield 8e12, 1e12, 0.5, 4, 9e10, 4, 1, 1, 3, 1e6, 1e11, 1e10
    yield 8e15, 1e12, 0.5, 4, 9e9, 4, 1, 1, 3, 1e6, 1e11, 1e10
    for _ in range(8 if level == "grader" else 3):
        dp, tp, pp = (int(n) for n in rng.integers(2, 9, 3))
        yield (
            float(rng.integers(1, 90)) * 1e15, 3e14, float(rng.integers(5, 9)) / 10,
            pp * int(rng.integers(2, 9)), float(rng.integers(10, 2000)) * 1e9, dp, tp, pp,
            int(rng.integers(2, 30)), float(rng.integers(1, 90)) * 1e6, 3e11, 2.5e10,
        )  # fmt: skip


def step(
    flops: float,
    peak: float,
    efficiency: float,
    layers: int,
    parameters: float,
    dp: int,
    tp: int,
    pp: int,
    microbatches: int,
    passed: float,
    nvlink: float,
    nic: float,
) -> tuple[float, float, float, float]:
    """Products, all-reduces of activations, bubble, and gradients that nothing hides."""
    compute = flops / (dp * tp * pp) / (peak * efficiency)
    tensor = microbatches * layers / pp * 4 * 2 * (tp - 1) / tp * passed / nvlink
    bubble = (compute + tensor) * (pp - 1) / microbatches
    gradients = 2 * (dp - 1) / dp * 2 * parameters / (tp * pp) / nic
    return compute, tensor, bubble, max(0.0, gradients - compute * 2 / 3)


_STEP = ("flops", "peak", "efficiency", "layers", "parameters", "dp", "tp", "pp", "microbatches",
         "passed", "nvlink", "nic")  # fmt: skip


def _stepped(change: Callable[..., Sequence[float]]) -> Any:
    """A mistake: (the four right values, arguments by name) -> wrong ones."""
    return lambda *args: tuple(change(*step(*args), **dict(zip(_STEP, args, strict=True))))


def _raw(g: dict[str, Any]) -> float:
    """Seconds of the gradients' all-reduce."""
    return float(2 * (g["dp"] - 1) / g["dp"] * 2 * g["parameters"] / (g["tp"] * g["pp"]) / g["nic"])


STEP_PARTS = FunctionSpec(
    "step_parts", UNIT, 3, step_inputs, step,
    suspects={
        "nothing_hidden": _stepped(lambda c, t, b, d, **g: (c, t, b, _raw(g))),
        "hidden_below_zero": _stepped(lambda c, t, b, d, **g: (c, t, b, _raw(g) - c * 2 / 3)),
        "hidden_behind_all": _stepped(lambda c, t, b, d, **g: (c, t, b, max(0.0, _raw(g) - c))),
        "hidden_behind_the_forward": _stepped(
            lambda c, t, b, d, **g: (c, t, b, max(0.0, _raw(g) - c / 3))
        ),
        "bubble_of_products": _stepped(
            lambda c, t, b, d, **g: (c, t, c * (g["pp"] - 1) / g["microbatches"], d)
        ),
        "bubble_of_the_total": _stepped(
            lambda c, t, b, d, **g: (
                c, t, (c + t) * (g["pp"] - 1) / (g["microbatches"] + g["pp"] - 1), d
            )
        ),
        "gradients_of_all_parameters": _stepped(
            lambda c, t, b, d, **g: (
                c, t, b, max(0.0, _raw(g) * g["tp"] * g["pp"] - c * 2 / 3)
            )
        ),
        "gradients_one_way": _stepped(
            lambda c, t, b, d, **g: (c, t, b, max(0.0, _raw(g) / 2 - c * 2 / 3))
        ),
        "efficiency_forgotten": _stepped(
            lambda c, t, b, d, **g: step(**{**g, "efficiency": 1.0})
        ),
        "two_all_reduces": _stepped(
            lambda c, t, b, d, **g: (c, t / 2, (c + t / 2) * (g["pp"] - 1) / g["microbatches"], d)
        ),
        "all_layers": _stepped(
            lambda c, t, b, d, **g: (
                c, t * g["pp"], (c + t * g["pp"]) * (g["pp"] - 1) / g["microbatches"], d
            )
        ),
        "one_microbatch": _stepped(
            lambda c, t, b, d, **g: (
                c, t / g["microbatches"],
                (c + t / g["microbatches"]) * (g["pp"] - 1) / g["microbatches"], d,
            )
        ),
        "flops_of_all_gpus": _stepped(
            lambda c, t, b, d, **g: step(**{**g, "flops": g["flops"] * g["dp"] * g["tp"] * g["pp"]})
        ),
        "links_exchanged": _stepped(
            lambda c, t, b, d, **g: step(**{**g, "nvlink": g["nic"], "nic": g["nvlink"]})
        ),
    },
    causes={
        "nothing_hidden": "The all-reduce of the gradients runs behind the backward pass; what "
        "that hides is not taken off.",
        "hidden_below_zero": "Less than nothing cannot show.",
        "hidden_behind_all": "Gradients come in the backward pass, two thirds of the products.",
        "hidden_behind_the_forward": "Gradients come in the backward pass, two thirds of the "
        "products, not one.",
        "bubble_of_products": "The bubble waits for whole microbatches, their all-reduces "
        "included.",
        "bubble_of_the_total": "(p - 1) / (m + p - 1) is the share of the whole time; of the work "
        "it is (p - 1) / m.",
        "gradients_of_all_parameters": "A rank sends the gradients of its own parameters.",
        "gradients_one_way": "An all-reduce sends 2 (n - 1) / n of its bytes.",
        "efficiency_forgotten": "The products are taken at the whole peak.",
        "two_all_reduces": "The tensor part is half of what it should be: four all-reduces a "
        "layer, each of 2 (t - 1) / t of its bytes.",
        "all_layers": "A stage of the pipeline has layers / pp of the layers.",
        "one_microbatch": "Each microbatch has its own all-reduces.",
        "flops_of_all_gpus": "All GPUs share the products.",
        "links_exchanged": "Activations go over NVLink, gradients over the network.",
    },
    hints={
        "nothing_hidden": (
            "What runs at the same time?",
            "Take off 2/3 of compute, and not below 0.",
        ),
        "hidden_below_zero": ("Can a step get shorter by hiding?", "max(0, ...)."),
        "hidden_behind_all": ("When is the first gradient ready?", "2/3 of compute hide it."),
        "hidden_behind_the_forward": (
            "Which pass makes gradients, and how long is it?",
            "The backward pass, 2/3 of compute.",
        ),
        "bubble_of_products": (
            "What does a microbatch do on a stage besides products?",
            "(compute + tensor) * (pp - 1) / microbatches.",
        ),
        "bubble_of_the_total": (
            "Share of what: of the work, or of the whole?",
            "(pp - 1) / microbatches of the work.",
        ),
        "gradients_of_all_parameters": (
            "How many parameters has a rank?",
            "parameters / (tp * pp).",
        ),
        "gradients_one_way": ("Which operation is it?", "An all-reduce: 2 * (dp - 1) / dp."),
        "efficiency_forgotten": ("What do large products reach?", "peak * efficiency."),
        "two_all_reduces": (
            "How many all-reduces has a layer, both ways, and what does each send?",
            "4, and 2 * (tp - 1) / tp of passed.",
        ),
        "all_layers": ("Which layers has a rank?", "layers / pp."),
        "one_microbatch": ("How often is a layer passed?", "Times microbatches."),
        "flops_of_all_gpus": ("Who shares the work?", "Divide by dp * tp * pp."),
        "links_exchanged": (
            "Which group lies inside a node?",
            "tp: nvlink.  dp: nic.",
        ),
        "wrong_values": (
            "Which of the four values differs?  Try it with dp = tp = pp = 1, then turn one up.",
            "compute, tensor, bubble of both, and max(0, all-reduce - 2/3 compute).",
        ),
    },
)  # fmt: skip


# -- best_plan ---------------------------------------------------------------------------------


def _gpt(layers: int, hidden: int, heads: int) -> Model:
    return Model(layers, hidden, heads)


def _llama(layers: int, hidden: int, heads: int, sequence: int) -> Model:
    ffn = hidden * 7 // 2
    return Model(layers, hidden, heads, 32000, sequence, 8, ffn, gated=True)


def plan_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Problem]]:
    """A slow network and a factor of 3; nothing fits; long sequences; microbatches above 1; large;
    a microbatch of 3; and more for a grader.
    """
    kept = {"zero": 1, "recompute": "selective"}

    def one(model: Model, gpu: str, gpus: int, nic: float, batch: int) -> tuple[Problem]:
        plan = Plan(batch=batch, **kept)  # type: ignore[arg-type]
        return (Problem(model, Cluster(gpu, gpus, nic_gbs=nic), plan),)

    pick: Callable[[Sequence[Any]], Any] = lambda many: many[int(rng.integers(len(many)))]  # noqa: E731
    yield one(_gpt(pick((24, 30, 36)), 4096, 32), "A100", 24, pick((1.2, 1.5, 1.8)), 24)
    yield one(_gpt(pick((90, 96)), 12288, 96), "A100", 8, 25.0, 8)
    yield one(_llama(pick((28, 32, 36)), 4096, 32, 131_072), "H100", 32, pick((45.0, 50.0)), 4)
    yield one(_gpt(pick((28, 30, 32)), pick((7680, 8640, 9216)), 48), "A100", 16, 20.0, 32)
    yield one(_llama(pick((76, 80)), 8192, 64, 4096), "H100", 32, pick((45.0, 50.0)), 64)
    yield one(_gpt(24, 3072, 24), "A100", 8, 25.0, 6)
    if level == "grader":
        yield one(_gpt(pick((36, 40)), 5120, 40), "A100 40GB", 16, pick((1.5, 2.0)), 32)
        yield one(_gpt(pick((92, 96)), 12288, 96), "A100", 64, 25.0, 96)


@lru_cache(maxsize=64)
def _all(problem: Problem) -> tuple[tuple[Split, float, float], ...]:
    """(split, MFU, bytes) of all that run."""
    found = []
    for split in problem.splits():
        try:
            made = problem.made(split)
        except PlanError:
            continue
        found.append((split, made.mfu(), made.memory.total))
    return tuple(found)


#: What a search left out, if its plan is the best of what is left: slug -> what it still looks at.
_NARROW: dict[str, Callable[[Split, Problem], bool]] = {
    "powers_of_two": lambda split, problem: all(n & (n - 1) == 0 for n in split[1:4]),
    "microbatch_power_of_two": lambda split, problem: split[4] & (split[4] - 1) == 0,
    "microbatch_of_one": lambda split, problem: split[4] == 1,
    "no_context": lambda split, problem: split[3] == 1,
    "no_pipeline": lambda split, problem: split[2] == 1,
    "no_tensor": lambda split, problem: split[1] == 1,
    "tensor_of_a_node": lambda split, problem: split[1] == min(8, problem.cluster.gpus),
    "no_data": lambda split, problem: split[0] == 1,
}


def best(problem: Problem) -> float:
    """Largest MFU of the plans that fit; 0 if none does."""
    room = problem.cluster.memory
    return max((mfu for _, mfu, held in _all(problem) if held <= room), default=0.0)


def examine_plan(call: Sequence[Any], got: Any) -> Found | None:
    """A plan that runs, fits and is as good as the best, found with few questions."""
    problem: Problem = call[0]
    if not isinstance(got, dict) or got.keys() != {"plan", "calls", "stopped"}:
        return "not_told", "what came back is not what a search tells"
    plan, calls = got["plan"], got["calls"]
    count = sum(1 for _ in problem.splits())
    if got["stopped"] is True:
        return "too_many_questions", (
            f"cost was asked {calls:,} times and the search was stopped; there are {count:,} plans "
            "to ask about"
        )
    wrong = _judged(problem, plan)
    if wrong:
        return wrong
    if not isinstance(calls, int) or isinstance(calls, bool) or calls < 1:
        return "never_asked", "cost was not asked once"
    if calls > count:
        return "too_many_questions", (
            f"the plan is right, but cost was asked {calls:,} times; there are {count:,} plans "
            "whose degrees make the GPUs and whose microbatches make the batch"
        )
    return None


def _judged(problem: Problem, plan: Any) -> Found | None:
    room, top = problem.cluster.memory, best(problem)
    gpus, batch = problem.cluster.gpus, problem.base.batch
    if plan is None:
        if top == 0:
            return None
        return "none_though_one_fits", "it returned None, but there are plans that fit"
    whole = [type(n) is int for n in plan] if isinstance(plan, list) else []
    if len(whole) != 5 or not all(whole):
        return "wrong_type", f"it returned {_said(plan)}, not five whole numbers or None"
    dp, tp, pp, cp, microbatch = split = tuple(plan)
    if dp * tp * pp * cp != gpus:
        return "not_all_gpus", f"{split}: the degrees make {dp * tp * pp * cp:,} GPUs of {gpus}"
    if min(split) < 1 or batch % (dp * microbatch):
        return "batch_left_over", (
            f"{split}: dp x microbatch = {dp * microbatch} does not divide the batch of {batch}"
        )
    try:
        made = problem.made(split)
    except PlanError as error:
        fault = str(error).splitlines()[-1].strip()
        return "cannot_run", f"{split}: {fault}"
    if made.memory.total > room:
        return "does_not_fit", (
            f"{split} takes {made.memory.total / GIB:.1f} GiB of {room / GIB:.1f} (modelled)"
        )
    if made.mfu() >= top * (1 - 1e-9):
        return None
    what = f"{split} has an MFU of {made.mfu():.2%}; the best that fits has {top:.2%} (modelled)"
    fitting = [(one, mfu, held) for one, mfu, held in _all(problem) if held <= room]
    slugs = []
    for slug, kept in _NARROW.items():
        left = max((mfu for one, mfu, _ in fitting if kept(one, problem)), default=0.0)
        if kept(split, problem) and made.mfu() >= left * (1 - 1e-9):
            slugs.append(slug)
    if made.memory.total <= min(held for _, _, held in fitting) * (1 + 1e-9):
        slugs.append("least_memory")
    return (*slugs, "not_the_best"), what


def _said(plan: Any) -> str:
    if isinstance(plan, dict) and "opaque" in plan:
        return f"a {plan['opaque']}"
    text = repr(tuple(plan) if isinstance(plan, list) else plan)
    return text if len(text) < 60 else f"{text[:57]}..."


def say_problem(call: Sequence[Any]) -> str:
    """The problem in words."""
    problem: Problem = call[0]
    model, cluster = problem.model, problem.cluster
    return (
        f"{model.parameters / 1e9:.1f}e9 parameters, sequences of {model.sequence:,} tokens, "
        f"gpus = {cluster.gpus} ({cluster.gpu.name}), batch = {problem.base.batch}"
    )


def _reference(problem: Problem) -> None:
    """`examine_plan` judges; nothing is compared."""


BEST_PLAN = FunctionSpec(
    "best_plan", UNIT, 5, plan_inputs, _reference, examine=examine_plan, run=tried,
    takes=("cost", "gpus", "batch", "memory"), said=say_problem,
    causes={
        "too_many_questions": "It asks about plans that cannot be, or about one plan twice.",
        "none_though_one_fits": "The search misses all plans that fit.",
        "not_all_gpus": "The four degrees together have to use every GPU.",
        "batch_left_over": "Each data parallel rank takes whole microbatches.",
        "cannot_run": "cost gives None for such a plan.",
        "does_not_fit": "The MFU is compared, and the memory is not.",
        "least_memory": "It is the plan that takes the least memory; the exercise asks for the "
        "largest MFU that fits.",
        "microbatch_of_one": "It is the best plan with a microbatch of 1: the others are not "
        "tried.",
        "no_context": "It is the best plan without context parallelism.",
        "no_pipeline": "It is the best plan without a pipeline.",
        "no_tensor": "It is the best plan without tensor parallelism.",
        "tensor_of_a_node": "It is the best plan with tp of a whole node; with another tp and "
        "another pipeline there is a better one.",
        "powers_of_two": "It is the best plan whose degrees are powers of two.",
        "no_data": "It is the best plan with dp = 1.",
        "microbatch_power_of_two": "It is the best plan whose microbatch is a power of two.",
        "not_the_best": "It runs and fits, but another does more.",
        "never_asked": "The plan was not found by asking.",
    },
    hints={
        "too_many_questions": (
            "How many of the five numbers can you choose freely?",
            "Loop over divisors: tp of gpus, pp of what is left, cp of what is left then; dp is "
            "the rest; microbatch over the divisors of batch // dp.",
        ),
        "none_though_one_fits": (
            "Which plans does your loop leave out?",
            "Try every divisor, and keep the best with nbytes <= memory.",
        ),
        "not_all_gpus": ("What is the product?", "dp = gpus // (tp * pp * cp), with no rest."),
        "batch_left_over": (
            "How many sequences has a data parallel rank?",
            "batch // dp, with no rest; microbatch divides that.",
        ),
        "cannot_run": ("What did cost say?", "Skip a plan for which cost gives None."),
        "does_not_fit": (
            "What is the second value that cost gives?",
            "Compare it with memory before the MFU counts.",
        ),
        "least_memory": (
            "What is left over if you save memory you need not save?",
            "Among all plans that fit, take the largest MFU.",
        ),
        "microbatch_of_one": (
            "What does a larger microbatch change?",
            "Loop over all divisors of batch // dp.",
        ),
        "no_context": ("Which degree is always 1?", "Loop over cp, too."),
        "no_pipeline": ("Which degree is always 1?", "Loop over pp, too."),
        "no_tensor": ("Which degree is always 1?", "Loop over tp, too."),
        "tensor_of_a_node": ("Which degree is always the same?", "Loop over tp, too."),
        "powers_of_two": ("What are the divisors of 24?", "1, 2, 3, 4, 6, 8, 12 and 24."),
        "no_data": ("Which degree is always 1?", "dp is what the other three leave."),
        "microbatch_power_of_two": (
            "Which microbatches can three sequences of a rank make?",
            "1 and 3: loop over all divisors of batch // dp.",
        ),
        "not_the_best": (
            "Does your search stop at the first plan that cannot be bettered by one step?",
            "Try all plans and keep the best that fits.",
        ),
        "never_asked": ("Who tells how good a plan is?", "Call cost."),
        "wrong_type": (
            "What are the five numbers?",
            "return dp, tp, pp, cp, microbatch, all whole (// and not /); or None if nothing fits.",
        ),
    },
)  # fmt: skip


# -- audit_row ---------------------------------------------------------------------------------

Row = tuple[float, int, int, int, int, int, int, int, int, int, int, float]

#: Megatron-LM, arXiv 2104.04473, table 1: billions, heads, hidden, layers, tp, pp, GPUs, batch,
#: microbatch, TFLOP/s a GPU, percent of the peak, PFLOP/s in all.
TABLE: tuple[Row, ...] = (
    (1.7, 24, 2304, 24, 1, 1, 32, 512, 16, 137, 44, 4.4),
    (3.6, 32, 3072, 30, 2, 1, 64, 512, 16, 138, 44, 8.8),
    (7.5, 32, 4096, 36, 4, 1, 128, 512, 16, 142, 46, 18.2),
    (18.4, 48, 6144, 40, 8, 1, 256, 1024, 8, 135, 43, 34.6),
    (39.1, 64, 8192, 48, 8, 2, 512, 1536, 4, 138, 44, 70.8),
    (76.1, 80, 10240, 60, 8, 4, 1024, 1792, 2, 140, 45, 143.8),
    (145.6, 96, 12288, 80, 8, 8, 1536, 2304, 2, 148, 47, 227.1),
    (310.1, 128, 16384, 96, 8, 16, 1920, 2160, 1, 155, 50, 297.4),
    (529.6, 128, 20480, 105, 8, 35, 2520, 2520, 1, 163, 52, 410.2),
    (1008.0, 160, 25600, 128, 8, 64, 3072, 3072, 1, 163, 52, 502.0),
)
PEAK = 312.0
COLUMNS = ("billions", "heads", "hidden", "layers", "tp", "pp", "gpus", "batch", "microbatch",
           "tflops", "percent", "pflops")  # fmt: skip


def parameters_of(hidden: float, layers: float) -> float:
    """12 L h^2 (1 + 13 / 12h + (V + s) / 12Lh) for V = 51200 and s = 2048."""
    return 12 * layers * hidden**2 + 13 * layers * hidden + (51_200 + 2048) * hidden


def _meet(one: float, half: float, other: float, other_half: float) -> bool:
    """Whether two rounded numbers can be the same number.  A tie of floats counts as meeting."""
    return abs(one - other) <= half + other_half + 1e-9 * abs(other)


def audited(row: Row, **other: Any) -> list[str]:
    """What of a row cannot be true.  other: a mistaken audit's rules, for the suspects."""
    at = dict(zip(COLUMNS, row, strict=True))
    given = other.get("parameters", parameters_of)(at["hidden"], at["layers"]) / 1e9
    half = other.get("half", 0.5)
    split = at["gpus"] % (at["tp"] * at["pp"]) == 0 or other.get("no_product", False)
    split &= at["heads"] % at["tp"] == 0 or other.get("no_heads", False)
    split &= at["layers"] % at["pp"] == 0 or other.get("no_layers", False)
    dp = max(1, at["gpus"] // (at["tp"] * at["pp"]))
    each = dp * (1 if other.get("no_microbatch") else at["microbatch"])
    if other.get("all_gpus"):
        each = at["gpus"] * at["microbatch"]
    pairs = {
        "parameters": (at["billions"], 0.05, given, 0.0),
        "percent": (at["percent"], half, at["tflops"] / PEAK * 100, half / PEAK * 100),
        "petaflops": (at["pflops"], 0.05, at["gpus"] * at["tflops"] / 1e3, at["gpus"] * half / 1e3),
    }
    if other.get("one_side"):
        pairs |= {name: (*pairs[name][:3], 0.0) for name in ("percent", "petaflops")}
    if other.get("share"):
        pairs = {n: (a, other["share"] * c, c, 0.0) for n, (a, _, c, _) in pairs.items()}
    judge_batch = split or other.get("always_batch", False)
    good = {
        "parameters": _meet(*pairs["parameters"]),
        "split": split,
        "batch": not judge_batch or at["batch"] % each == 0,
        "percent": _meet(*pairs["percent"]),
        "petaflops": _meet(*pairs["petaflops"]),
    }
    return [name for name, fine in good.items() if not fine]


def audit(
    billions: float,
    heads: int,
    hidden: int,
    layers: int,
    tp: int,
    pp: int,
    gpus: int,
    batch: int,
    microbatch: int,
    tflops: int,
    percent: int,
    pflops: float,
) -> list[str]:
    """Names of what cannot be true, in order."""
    return audited((billions, heads, hidden, layers, tp, pp, gpus, batch, microbatch, tflops,
                    percent, pflops))  # fmt: skip


def audit_inputs(rng: np.random.Generator, level: Level) -> Iterator[Row]:
    """Those of `_rows` whose numbers do not lie exactly on the edge of what rounding allows."""
    for row in _rows(rng, level):
        at = dict(zip(COLUMNS, row, strict=True))
        edges = (
            abs(at["percent"] - at["tflops"] / PEAK * 100) - 0.5 - 50 / PEAK,
            abs(at["pflops"] - at["gpus"] * at["tflops"] / 1e3) - 0.05 - at["gpus"] * 5e-4,
            abs(at["billions"] - parameters_of(at["hidden"], at["layers"]) / 1e9) - 0.05,
        )
        if min(map(abs, edges)) > 1e-6:
            yield row


def _rows(rng: np.random.Generator, level: Level) -> Iterator[Row]:
    """Rows as printed; one cell wrong, far and near; two wrong; a split that cannot be."""
    rows = list(TABLE) if level == "grader" else [TABLE[k] for k in (0, 4, 5, 9)]
    yield from rows
    change: Callable[..., Row] = lambda row, **new: tuple(  # type: ignore[assignment]  # noqa: E731
        new.get(name, value) for name, value in zip(COLUMNS, row, strict=True)
    )
    pick: Callable[[], Row] = lambda: TABLE[int(rng.integers(len(TABLE)))]  # noqa: E731
    row = pick()
    yield change(row, billions=round(row[0] + float(rng.choice([-0.2, 0.2])), 1))
    yield change(row, tflops=row[9] + 4)
    row = TABLE[int(rng.integers(1, 8))]
    yield change(row, percent=row[10] + int(rng.choice([-2, 2])))
    yield change(row, pflops=round(row[11] * float(rng.choice([0.985, 1.015])), 1))
    yield change(TABLE[2], percent=45)  # 141.5 of 312 are 45.35: still
    yield change(TABLE[1], percent=43)
    yield change(TABLE[4], pflops=71.0)  # 512 x 138.5 are 70.91: no longer
    yield change(TABLE[8], tp=6)
    yield change(TABLE[0], pp=3)
    yield change(TABLE[6], heads=100)
    yield change(TABLE[5], layers=62, billions=78.6)
    yield change(TABLE[3], microbatch=6)
    yield change(TABLE[int(rng.integers(4, 7))], batch=2000)
    yield change(TABLE[7], tp=7, microbatch=int(rng.choice([7, 11])))
    yield change(TABLE[9], percent=39, pflops=514.2, billions=1006.6)
    if level == "grader":
        for _ in range(12):
            row = pick()
            off = int(rng.integers(-3, 4))
            yield change(row, tflops=row[9] + off, percent=row[10] + int(rng.integers(-1, 2)))


def _audit(**other: Any) -> Any:
    return lambda *row: audited(row, **other)


AUDIT_ROW = FunctionSpec(
    "audit_row", UNIT, 4, audit_inputs, audit,
    suspects={
        "rounded_on_one_side": _audit(one_side=True),
        "whole_unit": _audit(half=1.0),
        "one_percent": _audit(share=0.01),
        "five_percent": _audit(share=0.05),
        "half_of_a_tenth": _audit(half=0.05),
        "biases_forgotten": _audit(
            parameters=lambda h, layers: 12 * layers * h**2 + (51_200 + 2048) * h
        ),
        "positions_forgotten": _audit(
            parameters=lambda h, layers: 12 * layers * h**2 + 13 * layers * h + 51_200 * h
        ),
        "embeddings_forgotten": _audit(parameters=lambda h, layers: 12 * layers * h**2),
        "product_not_looked_at": _audit(no_product=True),
        "heads_not_looked_at": _audit(no_heads=True),
        "layers_not_looked_at": _audit(no_layers=True),
        "only_the_product": _audit(no_heads=True, no_layers=True),
        "microbatch_forgotten": _audit(no_microbatch=True),
        "batch_of_all_gpus": _audit(all_gpus=True),
        "batch_without_a_split": _audit(always_batch=True),
        "first_only": lambda *row: audited(row)[:1],
        "what_agrees": lambda *row: [
            name for name in ("parameters", "split", "batch", "percent", "petaflops")
            if name not in audited(row)
        ],
        "nothing_found": lambda *row: [],
        "sorted_by_name": lambda *row: sorted(audited(row)),
    },
    causes={
        "rounded_on_one_side": "tflops is taken as exact; it is printed as a whole number, so it "
        "may be half a unit off.",
        "one_percent": "A tolerance of a percent has nothing to do with how the numbers were "
        "rounded.",
        "five_percent": "A tolerance of five percent lets wrong cells through.",
        "half_of_a_tenth": "tflops and percent are whole numbers: half a unit is 0.5.",
        "whole_unit": "A number rounded to whole units is at most half a unit off.",
        "embeddings_forgotten": "12 L h^2 leaves out biases and the rows of vocabulary and "
        "positions.",
        "biases_forgotten": "13 L h are missing: biases and norms.",
        "positions_forgotten": "2,048 h are missing: the rows of the positions.",
        "product_not_looked_at": "tp x pp has to divide the GPUs, too.",
        "heads_not_looked_at": "tp has to divide the heads, too.",
        "layers_not_looked_at": "pp has to divide the layers, too.",
        "only_the_product": "Heads and layers have to come out even, too.",
        "microbatch_forgotten": "A data parallel rank takes whole microbatches, not single "
        "sequences.",
        "batch_of_all_gpus": "Only data parallel ranks share the batch.",
        "batch_without_a_split": "Where the split cannot be, there is no dp to ask about.",
        "first_only": "A row may have more than one fault.",
        "what_agrees": "These are the checks that hold.",
        "nothing_found": "It finds nothing, whatever the row.",
        "sorted_by_name": "The names are right, the order is not.",
    },
    hints={
        "rounded_on_one_side": (
            "What may 138 have been before it was rounded?",
            "137.5 to 138.5.  Ask whether the two intervals meet.",
        ),
        "one_percent": (
            "How far can 143.8 and 140 be from the numbers behind them?",
            "0.05 and 0.5: compare intervals.",
        ),
        "five_percent": (
            "How far can 143.8 and 140 be from the numbers behind them?",
            "0.05 and 0.5: compare intervals.",
        ),
        "half_of_a_tenth": ("How many digits has tflops?", "None: 0.5 to either side."),
        "whole_unit": ("What rounds to 44?", "43.5 to 44.5: half a unit to either side."),
        "embeddings_forgotten": (
            "What else has parameters?",
            "13 L h, and (51,200 + 2,048) h.",
        ),
        "biases_forgotten": ("What else has a layer?", "13 h for biases and norms."),
        "positions_forgotten": ("What else has rows?", "2,048 positions, h each."),
        "product_not_looked_at": ("How many GPUs has one replica?", "gpus % (tp * pp)."),
        "heads_not_looked_at": ("What does tp divide?", "heads % tp."),
        "layers_not_looked_at": ("What does pp divide?", "layers % pp."),
        "only_the_product": ("What do tp and pp divide?", "heads % tp and layers % pp."),
        "microbatch_forgotten": (
            "How many sequences go at a time, over all data parallel ranks?",
            "dp * microbatch has to divide the batch.",
        ),
        "batch_of_all_gpus": (
            "Which ranks see different sequences?",
            "dp = gpus // (tp * pp) of them.",
        ),
        "batch_without_a_split": (
            "What is dp where the split cannot be?",
            "Ask for the batch only if the split holds.",
        ),
        "first_only": ("What does your function do after a fault?", "Collect all names."),
        "what_agrees": ("Which names are asked for?", "Those that cannot be true."),
        "nothing_found": ("Which row is wrong?", "Try the failing call by hand."),
        "sorted_by_name": (
            "Which order does the exercise give?",
            "parameters, split, batch, percent, petaflops.",
        ),
        "wrong_values": (
            "Which name is missing or too many?  Work out that check for the first call.",
            "Two printed numbers agree if |a - b| is at most the sum of what rounding allows "
            "each.",
        ),
    },
)  # fmt: skip


# -- checkpoint_every --------------------------------------------------------------------------


def checkpoint_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[float, float, float, float, int]]:
    """Cheap and dear checkpoints, rare and frequent failures, steps longer than the best time."""
    yield 10.0, 60.0, 300.0, 50_000.0, 16_384
    yield 5.0, 240.0, 600.0, 20_000.0, 12_000
    yield 900.0, 30.0, 300.0, 50_000.0, 60_000
    yield 2.0, 5.0, 0.0, 50_000.0, 1024
    yield 1.0, 300.0, 60.0, 5000.0, 20_000  # M = 15 minutes: Daly's formula says 548, not 550
    yield 750.0, 60.0, 300.0, 50_000.0, 16_384  # 1.478 steps would be best; 2 beat 1
    for _ in range(8 if level == "grader" else 2):
        yield (
            float(rng.integers(1, 40)), float(rng.integers(60, 400)), float(rng.integers(0, 900)),
            float(rng.integers(5, 60)) * 1000, int(rng.integers(4000, 30_000)),
        )  # fmt: skip


def checkpoint(
    step_s: float, save_s: float, restart_s: float, gpu_mtbf_h: float, gpus: int
) -> tuple[int, float]:
    """The best whole number beside the best interval; the share is single-peaked."""
    mtbf = run_mtbf(gpu_mtbf_h * 3600, gpus)
    low = max(1, int(best_interval(save_s, mtbf) / step_s))
    share = lambda steps: useful_share(steps * step_s, save_s, restart_s, mtbf)  # noqa: E731
    steps = max((low, low + 1), key=share)
    return steps, share(steps)


def _rule(mtbf_of: Any, interval: Any, whole: Any = round) -> Any:
    """A rule of thumb's steps with their share; mtbf_of(hours, gpus) in seconds."""

    def mistaken(
        step_s: float, save_s: float, restart_s: float, gpu_mtbf_h: float, gpus: int
    ) -> tuple[int, float]:
        mtbf = mtbf_of(gpu_mtbf_h, gpus)
        steps = max(1, int(whole(interval(save_s, restart_s, mtbf) / step_s)))
        return steps, useful_share(steps * step_s, save_s, restart_s, mtbf)

    return mistaken


def _right(hours: float, gpus: int) -> float:
    return hours * 3600 / gpus


def _young(save: float, restart: float, mtbf: float) -> float:
    return math.sqrt(2 * save * mtbf)


def _exact(save: float, restart: float, mtbf: float) -> float:
    return best_interval(save, mtbf)


CHECKPOINT_EVERY = FunctionSpec(
    "checkpoint_every", UNIT, 2, checkpoint_inputs, checkpoint,
    suspects={
        "nearest": _rule(_right, _exact),
        "young": _rule(_right, _young),
        "young_rounded_down": _rule(_right, _young, math.floor),
        "young_less_save": _rule(_right, lambda s, r, m: _young(s, r, m) - s),
        "daly": _rule(_right, lambda s, r, m: daly_interval(s, m)),
        "two_forgotten": _rule(_right, lambda s, r, m: math.sqrt(s * m)),
        "restart_in_the_interval": _rule(_right, lambda s, r, m: math.sqrt(2 * (s + r) * m)),
        "one_gpu": _rule(lambda hours, gpus: hours * 3600, _exact),
        "one_gpu_young": _rule(lambda hours, gpus: hours * 3600, _young),
        "hours_for_seconds": _rule(lambda hours, gpus: hours / gpus, _exact),
        "rounded_up": _rule(_right, _exact, math.ceil),
        "rounded_down": _rule(_right, _exact, math.floor),
        "lost_share": lambda *args: (checkpoint(*args)[0], 1 - checkpoint(*args)[1]),
        "saving_alone": lambda step_s, save_s, restart_s, gpu_mtbf_h, gpus: (
            lambda n: (n, n * step_s / (n * step_s + save_s))
        )(checkpoint(step_s, save_s, restart_s, gpu_mtbf_h, gpus)[0]),
        "restart_forgotten": lambda step_s, save_s, restart_s, gpu_mtbf_h, gpus: checkpoint(
            step_s, save_s, 0.0, gpu_mtbf_h, gpus
        ),
        "seconds_returned": lambda step_s, *rest: (
            checkpoint(step_s, *rest)[0] * step_s, checkpoint(step_s, *rest)[1]
        ),
        "slower_than_needed": lambda *args: (checkpoint(*args)[0], 1 / checkpoint(*args)[1]),
    },
    causes={
        "young": "It is the rule of Young: a first estimate, which a dear checkpoint pulls off.",
        "young_rounded_down": "It is the rule of Young, rounded down.",
        "young_less_save": "It is the rule of Young less the checkpoint: a better estimate, and "
        "still one.",
        "daly": "It is Daly's formula for the interval, a series cut short: near the best, and not "
        "it.",
        "nearest": "The best interval is rounded to the nearest step; the better of its two "
        "neighbours need not be the nearer one.",
        "two_forgotten": "It is sqrt(delta M): the 2 of Young's rule is missing.",
        "restart_in_the_interval": "A restart costs the same however often one saves: it does not "
        "change the best interval.",
        "one_gpu": "The time between failures is that of one GPU; any of them stops the run.",
        "one_gpu_young": "The time between failures is that of one GPU; any of them stops the run.",
        "hours_for_seconds": "gpu_mtbf_h is in hours.",
        "rounded_up": "The best interval is rounded up without a look at its neighbour.",
        "rounded_down": "The best interval is rounded down without a look at its neighbour.",
        "lost_share": "The second value is the share that is lost.",
        "saving_alone": "The second value leaves the failures out.",
        "restart_forgotten": "The steps are right; the share is that of a run whose restarts take "
        "no time.",
        "seconds_returned": "The first value is in seconds, not in steps.",
        "slower_than_needed": "The second value is the time for each useful second.",
    },
    hints={
        "young": (
            "Is the share larger one step to the left?",
            "Start from Young's rule and walk, as long as the share grows.",
        ),
        "young_rounded_down": (
            "Is the share larger one step to the left?",
            "Start from Young's rule and walk, as long as the share grows.",
        ),
        "young_less_save": (
            "Is the share larger one step to the right?",
            "Start from Young's rule and walk, as long as the share grows.",
        ),
        "daly": (
            "Is the share larger one step to the right or to the left?",
            "Start from the formula and walk, as long as the share grows.",
        ),
        "nearest": (
            "What are the shares of both neighbours in the call that is named?",
            "Compute the share of the whole numbers below and above, and take the larger share.",
        ),
        "two_forgotten": (
            "What does a failure cost on average?",
            "Half an interval: sqrt(2 * save_s * mtbf) is the first estimate.",
        ),
        "restart_in_the_interval": (
            "Does a restart cost less if you save more often?",
            "No: it is in the share, by e^(R/M), and not in the interval.",
        ),
        "one_gpu": (
            "How often does the first of 16,384 GPUs fail?",
            "mtbf = gpu_mtbf_h * 3600 / gpus.",
        ),
        "one_gpu_young": (
            "How often does the first of 16,384 GPUs fail?",
            "mtbf = gpu_mtbf_h * 3600 / gpus.",
        ),
        "hours_for_seconds": ("Which unit has gpu_mtbf_h?", "Times 3600."),
        "rounded_up": ("Which of two whole numbers is better?", "Compare the shares of both."),
        "rounded_down": ("Which of two whole numbers is better?", "Compare the shares of both."),
        "lost_share": ("Which share is asked for?", "The useful one."),
        "saving_alone": (
            "What else takes time?",
            "work / (M e^(R/M) (e^((work + save)/M) - 1)).",
        ),
        "restart_forgotten": ("What comes after a failure?", "A factor of e^(R/M) in the time."),
        "seconds_returned": ("Which unit is asked for?", "Steps: work is steps * step_s."),
        "slower_than_needed": ("Is it above 1?", "A share is at most 1: turn it over."),
        "wrong_type": (
            "What are the two values?",
            "A whole number of steps, and a float: return steps, share.",
        ),
        "wrong_values": (
            "Which of the two values differs?",
            "share(n) = n step / (M e^(R/M) (e^((n step + save)/M) - 1)); take the n where it is "
            "largest.",
        ),
    },
)  # fmt: skip


SPECS = [DAYS_TO_TRAIN, HELD_BYTES, STEP_PARTS, BEST_PLAN, AUDIT_ROW, CHECKPOINT_EVERY]
