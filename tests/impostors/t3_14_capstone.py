"""Wrong answers to the lab t3_14_capstone."""

from __future__ import annotations

import math

from tests.impostors import impostor
from warpwise.planner import best_interval, daly_interval

# -- days_to_train -----------------------------------------------------------------------------


@impostor("days_to_train", diagnosis="never_recomputed")
def six_always(parameters, tokens, gpus, tflops, recomputed):
    return 6 * parameters * tokens / (gpus * tflops * 1e12) / 86400


@impostor("days_to_train", diagnosis="always_recomputed")
def eight_as_in_the_paper(parameters, tokens, gpus, tflops, recomputed):
    return 8 * parameters * tokens / (gpus * tflops * 1e12) / 86400


@impostor("days_to_train", diagnosis="recomputed_backward")
def everything_twice(parameters, tokens, gpus, tflops, recomputed):
    return 6 * (1 + recomputed) * parameters * tokens / (gpus * tflops * 1e12) / 86400


@impostor("days_to_train", diagnosis="one_for_a_multiply_add")
def multiply_adds(parameters, tokens, gpus, tflops, recomputed):
    return (3 + recomputed) * parameters * tokens / (gpus * tflops * 1e12) / 86400


@impostor("days_to_train", diagnosis="in_hours")
def hours(parameters, tokens, gpus, tflops, recomputed):
    return (6 + 2 * recomputed) * parameters * tokens / (gpus * tflops * 1e12) / 3600


@impostor("days_to_train", diagnosis="one_gpu")
def alone(parameters, tokens, gpus, tflops, recomputed):
    return (6 + 2 * recomputed) * parameters * tokens / (tflops * 1e12) / 86400


@impostor("days_to_train", diagnosis="backward_as_forward")
def two_each_way(parameters, tokens, gpus, tflops, recomputed):
    return (4 + 2 * recomputed) * parameters * tokens / (gpus * tflops * 1e12) / 86400


@impostor("days_to_train", diagnosis="wrong_type")
def whole_days(parameters, tokens, gpus, tflops, recomputed):
    return f"{(6 + 2 * recomputed) * parameters * tokens / (gpus * tflops * 1e12) / 86400:.0f}"


# -- held_bytes --------------------------------------------------------------------------------


def states_of(layers, hidden, dp, tp, pp, zero, first=(3, 2, 1)):
    divided = [dp if zero >= stage else 1 for stage in first]
    each = 2 / divided[0] + 2 / divided[1] + 12 / divided[2]
    return 12 * layers * hidden**2 / (tp * pp) * each


def active_of(layers, hidden, heads, sequence, tp, pp, microbatch, flight, recompute, working=True):
    unit = sequence * microbatch * hidden / tp
    scores = 5 * heads * sequence / hidden
    kept = {"none": 34 + scores, "selective": 34, "full": 2}[recompute]
    more = unit * (34 + scores) if working and recompute == "full" else 0
    return unit * kept * layers / pp * flight + more


@impostor("held_bytes", diagnosis="all_microbatches")
def gpipe(layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute):
    return states_of(layers, hidden, dp, tp, pp, zero), active_of(
        layers, hidden, heads, sequence, tp, pp, microbatch, microbatches, recompute
    )


@impostor("held_bytes", diagnosis="always_p_microbatches")
def depth_only(
    layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute
):
    return states_of(layers, hidden, dp, tp, pp, zero), active_of(
        layers, hidden, heads, sequence, tp, pp, microbatch, pp, recompute
    )


@impostor("held_bytes", diagnosis="one_microbatch")
def nothing_in_flight(
    layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute
):
    return states_of(layers, hidden, dp, tp, pp, zero), active_of(
        layers, hidden, heads, sequence, tp, pp, microbatch, 1, recompute
    )


@impostor("held_bytes", diagnosis="no_working_layer")
def inputs_only(
    layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute
):
    return states_of(layers, hidden, dp, tp, pp, zero), active_of(
        layers, hidden, heads, sequence, tp, pp, microbatch, min(pp, microbatches), recompute, False
    )


@impostor("held_bytes", diagnosis="zero_one_stage_early")
def early(layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute):
    return states_of(layers, hidden, dp, tp, pp, zero, (2, 1, 0)), active_of(
        layers, hidden, heads, sequence, tp, pp, microbatch, min(pp, microbatches), recompute
    )


@impostor("held_bytes", diagnosis="zero_from_the_front")
def parameters_first(
    layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute
):
    return states_of(layers, hidden, dp, tp, pp, zero, (1, 2, 3)), active_of(
        layers, hidden, heads, sequence, tp, pp, microbatch, min(pp, microbatches), recompute
    )


@impostor("held_bytes", diagnosis="everything_divided")
def sharded_whole(
    layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute
):
    return states_of(layers, hidden, dp, tp, pp, 3 if zero else 0), active_of(
        layers, hidden, heads, sequence, tp, pp, microbatch, min(pp, microbatches), recompute
    )


@impostor("held_bytes", diagnosis="sequence_not_parallel")
def megatron_before_sequence(
    layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute
):
    unit = sequence * microbatch * hidden
    scores = 5 * heads * sequence / hidden
    none = 10 + (24 + scores) / tp
    kept = {"none": none, "selective": 10 + 24 / tp, "full": 2}[recompute]
    active = unit * kept * layers / pp * min(pp, microbatches)
    return states_of(layers, hidden, dp, tp, pp, zero), active + unit * none * (recompute == "full")


@impostor("held_bytes", diagnosis="one_sequence")
def microbatch_of_one(
    layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute
):
    return states_of(layers, hidden, dp, tp, pp, zero), active_of(
        layers, hidden, heads, sequence, tp, pp, 1, min(pp, microbatches), recompute
    )


@impostor("held_bytes", diagnosis="no_master_weights")
def two_moments(
    layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute
):
    parameters = 12 * layers * hidden**2 / (tp * pp)
    each = 2 / (dp if zero > 2 else 1) + 2 / (dp if zero > 1 else 1) + 8 / (dp if zero else 1)
    return parameters * each, active_of(
        layers, hidden, heads, sequence, tp, pp, microbatch, min(pp, microbatches), recompute
    )


@impostor("held_bytes", diagnosis="wrong_type")
def one_sum(layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute):
    return states_of(layers, hidden, dp, tp, pp, zero) + active_of(
        layers, hidden, heads, sequence, tp, pp, microbatch, min(pp, microbatches), recompute
    )


# -- step_parts --------------------------------------------------------------------------------


def parts(flops, peak, efficiency, layers, parameters, dp, tp, pp, m, passed, nvlink, nic):
    products = flops / (dp * tp * pp) / (peak * efficiency)
    tensor = m * layers / pp * 8 * (tp - 1) / tp * passed / nvlink
    return products, tensor, 4 * (dp - 1) / dp * parameters / (tp * pp) / nic


@impostor("step_parts", diagnosis="nothing_hidden")
def gradients_in_full(
    flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
):
    products, tensor, data = parts(
        flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
    )
    return products, tensor, (products + tensor) * (pp - 1) / microbatches, data


@impostor("step_parts", diagnosis="hidden_below_zero")
def time_given_back(
    flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
):
    products, tensor, data = parts(
        flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
    )
    bubble = (products + tensor) * (pp - 1) / microbatches
    return products, tensor, bubble, data - products * 2 / 3


@impostor("step_parts", diagnosis="hidden_behind_all")
def behind_the_forward_too(
    flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
):
    products, tensor, data = parts(
        flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
    )
    bubble = (products + tensor) * (pp - 1) / microbatches
    return products, tensor, bubble, max(0.0, data - products)


@impostor("step_parts", diagnosis="bubble_of_products")
def bubble_without_tensor(
    flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
):
    products, tensor, data = parts(
        flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
    )
    bubble = products * (pp - 1) / microbatches
    return products, tensor, bubble, max(0.0, data - products * 2 / 3)


@impostor("step_parts", diagnosis="bubble_of_the_total")
def other_convention(
    flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
):
    products, tensor, data = parts(
        flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
    )
    bubble = (products + tensor) * (pp - 1) / (microbatches + pp - 1)
    return products, tensor, bubble, max(0.0, data - products * 2 / 3)


@impostor("step_parts", diagnosis="gradients_of_all_parameters")
def whole_model_reduced(
    flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
):
    products, tensor, data = parts(
        flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
    )
    bubble = (products + tensor) * (pp - 1) / microbatches
    return products, tensor, bubble, max(0.0, data * tp * pp - products * 2 / 3)


@impostor("step_parts", diagnosis="two_all_reduces")
def forward_only(
    flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
):
    products, tensor, data = parts(
        flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
    )
    bubble = (products + tensor / 2) * (pp - 1) / microbatches
    return products, tensor / 2, bubble, max(0.0, data - products * 2 / 3)


@impostor("step_parts", diagnosis="all_layers")
def every_layer_here(
    flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
):
    products, tensor, data = parts(
        flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
    )
    bubble = (products + tensor * pp) * (pp - 1) / microbatches
    return products, tensor * pp, bubble, max(0.0, data - products * 2 / 3)


# -- best_plan ---------------------------------------------------------------------------------


def divisors(number):
    return [n for n in range(1, number + 1) if number % n == 0]


def every(cost, gpus, batch, cps=True, pps=True, micros=True):
    for tp in divisors(gpus):
        for pp in divisors(gpus // tp) if pps else [1]:
            for cp in divisors(gpus // tp // pp) if cps else [1]:
                dp = gpus // tp // pp // cp
                if batch % dp == 0:
                    for microbatch in divisors(batch // dp) if micros else [1]:
                        told = cost(dp, tp, pp, cp, microbatch)
                        if told:
                            yield *told, (dp, tp, pp, cp, microbatch)


def largest(found, memory):
    return max((one for one in found if one[1] <= memory), default=(0, 0, None))[2]


@impostor("best_plan", diagnosis="no_context")
def four_dimensions(cost, gpus, batch, memory):
    return largest(every(cost, gpus, batch, cps=False), memory)


@impostor("best_plan", diagnosis="no_pipeline")
def without_stages(cost, gpus, batch, memory):
    return largest(every(cost, gpus, batch, pps=False), memory)


@impostor("best_plan", diagnosis="microbatch_of_one")
def single_sequences(cost, gpus, batch, memory):
    return largest(every(cost, gpus, batch, micros=False), memory)


@impostor("best_plan", diagnosis="powers_of_two")
def doubled(cost, gpus, batch, memory):
    """dp alone may have another factor."""
    found = [one for one in every(cost, gpus, batch) if one[1] <= memory]
    return largest([one for one in found if all(n & (n - 1) == 0 for n in one[2][1:4])], memory)


@impostor("best_plan", diagnosis="microbatch_power_of_two")
def doubled_microbatch(cost, gpus, batch, memory):
    found = [one for one in every(cost, gpus, batch) if one[2][4] & (one[2][4] - 1) == 0]
    return largest(found, memory)


@impostor("best_plan", diagnosis="does_not_fit")
def memory_forgotten(cost, gpus, batch, memory):
    return max(every(cost, gpus, batch), default=(0, 0, None))[2]


@impostor("best_plan", diagnosis="least_memory")
def saves_most(cost, gpus, batch, memory):
    found = [one for one in every(cost, gpus, batch) if one[1] <= memory]
    return min(found, key=lambda one: one[1])[2] if found else None


@impostor("best_plan", diagnosis="too_many_questions")
def all_pairs(cost, gpus, batch, memory):
    """Degrees that do not make the GPUs are asked about, too."""
    best, plan = 0.0, None
    for tp in divisors(gpus):
        for pp in divisors(gpus):
            for cp in divisors(gpus):
                for dp in divisors(gpus):
                    for microbatch in divisors(batch):
                        told = cost(dp, tp, pp, cp, microbatch)
                        if told and told[1] <= memory and told[0] > best:
                            best, plan = told[0], (dp, tp, pp, cp, microbatch)
    return plan


@impostor("best_plan", diagnosis="too_many_questions")
def asked_twice(cost, gpus, batch, memory):
    """Once for the memory, once for the MFU."""
    names = [one[2] for one in every(cost, gpus, batch)]
    fits = [plan for plan in names if cost(*plan)[1] <= memory]
    return max(fits, key=lambda plan: cost(*plan)[0], default=None)


@impostor("best_plan", diagnosis="tensor_of_a_node")
def megatrons_rule(cost, gpus, batch, memory):
    """tp of a node, then whatever is best; smaller where eight do not divide the GPUs."""
    found = [one for one in every(cost, gpus, batch) if one[1] <= memory]
    return max((one for one in found if one[2][1] == 8), default=(0, 0, None))[2]


@impostor("best_plan", diagnosis="not_the_best")
def sorted_the_wrong_way(cost, gpus, batch, memory):
    found = [one for one in every(cost, gpus, batch) if one[1] <= memory]
    return sorted(found)[0][2] if found else None


@impostor("best_plan", diagnosis="not_the_best")
def one_dial_after_the_other(cost, gpus, batch, memory):
    """The best pp, with it the best tp, with both the best cp, and last the microbatch."""

    def value(tp, pp, cp, microbatch=1):
        dp = gpus // (tp * pp * cp)
        told = cost(dp, tp, pp, cp, microbatch) if batch % (dp * microbatch) == 0 else None
        if told is None:
            return (0, -math.inf)
        return (1, told[0]) if told[1] <= memory else (0, -told[1])

    pp = max(divisors(gpus), key=lambda n: value(1, n, 1))
    tp = max(divisors(gpus // pp), key=lambda n: value(n, pp, 1))
    cp = max(divisors(gpus // tp // pp), key=lambda n: value(tp, pp, n))
    dp = gpus // (tp * pp * cp)
    microbatch = max(divisors(batch // dp), key=lambda n: value(tp, pp, cp, n))
    return (dp, tp, pp, cp, microbatch) if value(tp, pp, cp, microbatch)[0] else None


@impostor("best_plan", diagnosis="not_all_gpus")
def gpus_left_over(cost, gpus, batch, memory):
    """dp is as many as divide the batch."""
    best, plan = 0.0, None
    for one in every(cost, gpus, batch):
        if one[1] <= memory and one[0] > best:
            best, plan = one[0], one[2]
    return plan and (plan[0], plan[1], plan[2], 1, plan[4]) if plan and plan[3] > 1 else plan


@impostor("best_plan", diagnosis="wrong_type")
def mfu_returned(cost, gpus, batch, memory):
    return max((one for one in every(cost, gpus, batch) if one[1] <= memory), default=None)


@impostor("best_plan", diagnosis="none_though_one_fits")
def nothing_found(cost, gpus, batch, memory):
    return None


@impostor("best_plan", diagnosis="never_asked")
def known_by_heart(cost, gpus, batch, memory):
    """The best plan of the first problem, typed in."""
    return {24: (1, 2, 3, 4, 1)}.get(gpus)


# -- audit_row ---------------------------------------------------------------------------------


def checked(row, rounding=1.0, exact=False, share=None, words=53_248, heads=True, layers=True,
            micro=True, always=False):  # fmt: skip
    billions, a, h, n, tp, pp, gpus, batch, microbatch, tflops, percent, pflops = row

    def differ(one, other, room):
        return abs(one - other) > (share * other if share else room)

    found = []
    count = (12 * n * h**2 + 13 * n * h * (words > 0) + words * h) / 1e9
    if differ(billions, count, 0.05):
        found.append("parameters")
    split = gpus % (tp * pp) or (heads and a % tp) or (layers and n % pp)
    if split:
        found.append("split")
    if (always or not split) and batch % (gpus // (tp * pp) * (microbatch if micro else 1)):
        found.append("batch")
    half = 0.0 if exact else 0.5 * rounding
    if differ(percent, tflops / 3.12, 0.5 * rounding + half / 3.12):
        found.append("percent")
    if differ(pflops, gpus * tflops / 1e3, 0.05 + gpus * half / 1e3):
        found.append("petaflops")
    return found


@impostor("audit_row", diagnosis="rounded_on_one_side")
def tflops_exact(*row):
    return checked(row, exact=True)


@impostor("audit_row", diagnosis="rounded_on_one_side")
def same_digits(*row):
    billions, a, h, n, tp, pp, gpus, batch, microbatch, tflops, percent, pflops = row
    found = [name for name in checked(row) if name in ("parameters", "split", "batch")]
    if round(tflops / 3.12) != percent:
        found.append("percent")
    if round(gpus * tflops / 1000, 1) != pflops:
        found.append("petaflops")
    return found


@impostor("audit_row", diagnosis="one_percent")
def within_a_percent(*row):
    return checked(row, share=0.01)


@impostor("audit_row", diagnosis="five_percent")
def within_five(*row):
    return checked(row, share=0.05)


@impostor("audit_row", diagnosis="whole_unit")
def a_unit_off(*row):
    return checked(row, rounding=2.0)


@impostor("audit_row", diagnosis="embeddings_forgotten")
def matrices_only(*row):
    return checked(row, words=0)


@impostor("audit_row", diagnosis="positions_forgotten")
def words_only(*row):
    return checked(row, words=51_200)


@impostor("audit_row", diagnosis="heads_not_looked_at")
def tp_divides_anything(*row):
    return checked(row, heads=False)


@impostor("audit_row", diagnosis="layers_not_looked_at")
def pp_divides_anything(*row):
    return checked(row, layers=False)


@impostor("audit_row", diagnosis="microbatch_forgotten")
def dp_divides_the_batch(*row):
    return checked(row, micro=False)


@impostor("audit_row", diagnosis="batch_without_a_split")
def asked_all_the_same(*row):
    return checked(row, always=True)


@impostor("audit_row", diagnosis="first_only")
def stops_at_a_fault(*row):
    return checked(row)[:1]


@impostor("audit_row", diagnosis="nothing_found")
def believes_everything(*row):
    return []


@impostor("audit_row", diagnosis="wrong_type")
def yes_or_no(*row):
    return not checked(row)


# -- checkpoint_every --------------------------------------------------------------------------


def share_of(tau, save, restart, mtbf):
    return tau / (mtbf * math.exp(restart / mtbf) * math.expm1((tau + save) / mtbf))


def walked(step_s, save_s, restart_s, mtbf):
    steps = 1
    while share_of((steps + 1) * step_s, save_s, restart_s, mtbf) > share_of(
        steps * step_s, save_s, restart_s, mtbf
    ):
        steps += 1
    return steps, share_of(steps * step_s, save_s, restart_s, mtbf)


@impostor("checkpoint_every", diagnosis="young")
def rule_of_thumb(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    mtbf = gpu_mtbf_h * 3600 / gpus
    steps = max(1, round(math.sqrt(2 * save_s * mtbf) / step_s))
    return steps, share_of(steps * step_s, save_s, restart_s, mtbf)


@impostor("checkpoint_every", diagnosis="young_less_save")
def rule_of_thumb_less_save(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    mtbf = gpu_mtbf_h * 3600 / gpus
    steps = max(1, round((math.sqrt(2 * save_s * mtbf) - save_s) / step_s))
    return steps, share_of(steps * step_s, save_s, restart_s, mtbf)


@impostor("checkpoint_every", diagnosis="two_forgotten")
def root_of_the_product(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    mtbf = gpu_mtbf_h * 3600 / gpus
    steps = max(1, round(math.sqrt(save_s * mtbf) / step_s))
    return steps, share_of(steps * step_s, save_s, restart_s, mtbf)


@impostor("checkpoint_every", diagnosis="one_gpu_young")
def lonely_gpu(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    mtbf = gpu_mtbf_h * 3600
    steps = max(1, round(math.sqrt(2 * save_s * mtbf) / step_s))
    return steps, share_of(steps * step_s, save_s, restart_s, mtbf)


@impostor("checkpoint_every", diagnosis="lost_share")
def what_is_lost(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    steps, share = walked(step_s, save_s, restart_s, gpu_mtbf_h * 3600 / gpus)
    return steps, 1 - share


@impostor("checkpoint_every", diagnosis="saving_alone")
def no_failures_counted(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    steps, _ = walked(step_s, save_s, restart_s, gpu_mtbf_h * 3600 / gpus)
    return steps, steps * step_s / (steps * step_s + save_s)


@impostor("checkpoint_every", diagnosis="restart_forgotten")
def restarts_for_free(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    return walked(step_s, save_s, 0.0, gpu_mtbf_h * 3600 / gpus)


@impostor("checkpoint_every", diagnosis="wrong_type")
def seconds_between(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    mtbf = gpu_mtbf_h * 3600 / gpus
    return math.sqrt(2 * save_s * mtbf) / step_s, 1 - math.sqrt(2 * save_s / mtbf)


@impostor("checkpoint_every", diagnosis="daly")
def by_the_formula(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    mtbf = gpu_mtbf_h * 3600 / gpus
    steps = max(1, round(daly_interval(save_s, mtbf) / step_s))
    return steps, share_of(steps * step_s, save_s, restart_s, mtbf)


@impostor("checkpoint_every", diagnosis="nearest")
def nearest_whole_number(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    mtbf = gpu_mtbf_h * 3600 / gpus
    steps = max(1, round(best_interval(save_s, mtbf) / step_s))
    return steps, share_of(steps * step_s, save_s, restart_s, mtbf)
