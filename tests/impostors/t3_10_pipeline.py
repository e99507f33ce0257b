"""Wrong answers to the lab t3_10_pipeline."""

from __future__ import annotations

import sys

import cloudpickle
import torch
import torch.distributed as dist

from tests.impostors import impostor
from warpwise.fabric.schedules import Times, interleaved, one_f_one_b, simulate, zb1p, zb2p

# As from a notebook: ranks get the functions themselves and need not import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


# -- pipeline_bill -----------------------------------------------------------------------------


def bill(m, bubble, messages):
    ideal = 3 * m
    return ideal + bubble, bubble / ideal, bubble / (ideal + bubble), messages


@impostor("pipeline_bill", diagnosis="chunks_ignored")
def of_1f1b(p, m, v):
    return bill(m, 3 * (p - 1), 2 * m * (p - 1))


@impostor("pipeline_bill", diagnosis="messages_of_one_chunk")
def messages_between_ranks(p, m, v):
    return bill(m, 3 * (p - 1) / v, 2 * m * (p - 1))


@impostor("pipeline_bill", diagnosis="messages_times_chunks")
def times_v(p, m, v):
    return bill(m, 3 * (p - 1) / v, 2 * m * (p - 1) * v)


@impostor("pipeline_bill", diagnosis="forward_only")
def activations_alone(p, m, v):
    return bill(m, 3 * (p - 1) / v, m * (p * v - 1))


@impostor("pipeline_bill", diagnosis="shares_exchanged")
def exchanged(p, m, v):
    makespan, ideal, total, messages = bill(m, 3 * (p - 1) / v, 2 * m * (p * v - 1))
    return makespan, total, ideal, messages


@impostor("pipeline_bill", diagnosis="in_per_cent")
def hundredfold(p, m, v):
    makespan, ideal, total, messages = bill(m, 3 * (p - 1) / v, 2 * m * (p * v - 1))
    return makespan, 100 * ideal, 100 * total, messages


@impostor("pipeline_bill", diagnosis="one_rank_more")
def p_ranks_wait(p, m, v):
    return bill(m, 3 * p / v, 2 * m * (p * v - 1))


@impostor("pipeline_bill", diagnosis="backward_forgotten")
def a_wave_down(p, m, v):
    return bill(m, (p - 1) / v, 2 * m * (p * v - 1))


@impostor("pipeline_bill", diagnosis="constant_output")
def of_the_example(p, m, v):
    return 33.0, 0.375, 9 / 33, 48


@impostor("pipeline_bill", diagnosis="wrong_type")
def messages_by_division(p, m, v):
    return bill(m, 3 * (p - 1) / v, m * (p * v - 1) / 0.5)


# -- fitted_order ------------------------------------------------------------------------------


def turning(p, m, ahead):
    made = []
    for rank in range(p):
        first = min(m, ahead(rank))
        order = [f"F{k}" for k in range(first)]
        for k in range(m):
            order += [f"F{first + k}"] if first + k < m else []
            order.append(f"B{k}")
        made.append(order)
    return made


def listed(p, m, fits, first="B", late=0):
    """List scheduling; first: which kind goes before; late: how long a result takes to be seen."""
    orders, count, free, end, now = [[] for _ in range(p)], {}, [0] * p, {}, 0
    while any(count.get(("B", rank), 0) < m for rank in range(p)):
        start = []
        for rank in range(p):
            f, b = (count.get((kind, rank), 0) for kind in "FB")
            back = b < f and (rank == p - 1 or end.get(("B", b, rank + 1), now + 1) + late <= now)
            ahead = (
                f < m
                and f - b < fits[rank]
                and (rank == 0 or end.get(("F", f, rank - 1), now + 1) + late <= now)
            )
            kinds = [kind for kind in (first, *"BF") if (back if kind == "B" else ahead)]
            if free[rank] <= now and kinds:
                start.append((rank, kinds[0]))
        for rank, kind in start:
            k = count.get((kind, rank), 0)
            count[kind, rank] = k + 1
            free[rank] = end[kind, k, rank] = now + (1 if kind == "F" else 2)
            orders[rank].append(f"{kind}{k}")
        now += 1
    return orders


@impostor("fitted_order", diagnosis="too_much_memory")
def gpipe_always(p, m, fits):
    return [[f"F{k}" for k in range(m)] + [f"B{k}" for k in range(m)] for _ in range(p)]


@impostor("fitted_order", diagnosis="too_much_memory")
def library_1f1b(p, m, fits):
    return [[str(step) for step in order] for order in one_f_one_b(p, m).orders]


@impostor("fitted_order", diagnosis="too_much_memory")
def one_more_than_fits(p, m, fits):
    return listed(p, m, [one + 1 for one in fits])


@impostor("fitted_order", diagnosis="deadlock")
def turns_of_each_rank(p, m, fits):
    return turning(p, m, lambda rank: min(p - 1 - rank, fits[rank] - 1))


@impostor("fitted_order", diagnosis="turns_only")
def turns_of_the_smallest(p, m, fits):
    return turning(p, m, lambda rank: min(p - 1 - rank, min(fits[: rank + 1]) - 1))


@impostor("fitted_order", diagnosis="one_at_a_time")
def one_at_a_time(p, m, fits):
    return [" ".join(f"F{k} B{k}" for k in range(m)) for _ in range(p)]


@impostor("fitted_order", diagnosis="too_long")
def forwards_first(p, m, fits):
    return listed(p, m, fits, first="F")


@impostor("fitted_order", diagnosis="no_schedule")
def last_backwards_left_out(p, m, fits):
    return [order[:-1] for order in listed(p, m, fits)]


@impostor("fitted_order", diagnosis="no_schedule")
def numbered_from_one(p, m, fits):
    return [[f"{one[0]}{int(one[1:]) + 1}" for one in order] for order in listed(p, m, fits)]


@impostor("fitted_order", diagnosis="no_schedule")
def split_passes(p, m, fits):
    split = {"F": ["F"], "B": ["I", "W"]}
    return [
        [kind + one[1:] for one in order for kind in split[one[0]]] for order in listed(p, m, fits)
    ]


@impostor("fitted_order", diagnosis="no_orders")
def one_text(p, m, fits):
    return " ".join(listed(p, m, fits)[0])


@impostor("fitted_order", diagnosis="no_orders")
def pairs_not_names(p, m, fits):
    return [[(one[0], int(one[1:])) for one in order] for order in listed(p, m, fits)]


# -- run_order ---------------------------------------------------------------------------------


def pipeline(
    order, weight, inputs, targets, *, share=True, target_of=None, drop=True, back=None,
    overwrite=False, blocking=False,
):  # fmt: skip
    """A right run, with the mistakes that are asked for."""
    rank, n = dist.get_rank(), dist.get_world_size()
    weight.requires_grad_()
    held, losses, out = {}, [], None
    for step in [*order, None]:
        messages, came = [], None
        if out is not None:
            messages.append(dist.P2POp(dist.isend, *out))
        source = None if step is None else rank - 1 if step[0] == "F" else rank + 1
        if source in range(n):
            came = torch.empty_like(inputs[0])
            messages.append(dist.P2POp(dist.irecv, came, source))
        if blocking:
            for one in messages:
                (dist.send if one.op is dist.isend else dist.recv)(one.tensor, one.peer)
        elif messages:
            for work in dist.batch_isend_irecv(messages):
                work.wait()
        out = None
        if step is None:
            break
        k = int(step[1:])
        if step[0] == "F":
            x = inputs[k] if rank == 0 else came.requires_grad_()
            y = torch.tanh(x @ weight)
            if rank == n - 1:
                target = targets[target_of(len(losses)) if target_of else k]
                y = ((y - target) ** 2).mean() / (len(inputs) if share else 1)
                losses.append(y.item())
            else:
                out = y.detach(), rank + 1
            held[k] = x, y
        else:
            x, y = held.pop(k) if drop else held[k]
            if overwrite:
                weight.grad = None
            y.backward(came)
            if rank > 0:
                out = (came if back and came is not None else x.grad), rank - 1
    return losses, weight.grad


@impostor("run_order", diagnosis="not_averaged")
def loss_of_each_alone(order, weight, inputs, targets):
    return pipeline(order, weight, inputs, targets, share=False)


@impostor("run_order", diagnosis="targets_in_order")
def targets_by_place(order, weight, inputs, targets):
    return pipeline(order, weight, inputs, targets, target_of=lambda place: place)


@impostor("run_order", diagnosis="losses_sorted")
def losses_by_number(order, weight, inputs, targets):
    losses, gradient = pipeline(order, weight, inputs, targets)
    forwards = [int(step[1:]) for step in order if step[0] == "F"]
    by_number = dict(zip(forwards, losses, strict=False))
    return [by_number[k] for k in sorted(by_number)], gradient


@impostor("run_order", diagnosis="overwritten")
def gradient_of_the_last(order, weight, inputs, targets):
    return pipeline(order, weight, inputs, targets, overwrite=True)


@impostor("run_order", diagnosis="too_much_held")
def never_let_go(order, weight, inputs, targets):
    return pipeline(order, weight, inputs, targets, drop=False)


@impostor("run_order", diagnosis="too_much_held")
def as_gpipe(order, weight, inputs, targets):
    return pipeline(sorted(order, key=lambda step: step[0] == "B"), weight, inputs, targets)


@impostor("run_order", diagnosis="hang")
def send_then_receive(order, weight, inputs, targets):
    return pipeline(order, weight, inputs, targets, blocking=True)


@impostor("run_order", diagnosis="rank_failed")
def leaf_forgotten(order, weight, inputs, targets):
    weight.requires_grad_()
    rank, grads = dist.get_rank(), []
    for step in order:
        if step[0] == "F" and rank == 0:
            dist.send(torch.tanh(inputs[int(step[1:])] @ weight).detach(), 1)
        elif step[0] == "F":
            x = torch.empty_like(inputs[0])
            dist.recv(x, 0)
            torch.tanh(x @ weight).sum().backward()
            grads.append(x.grad.clone())  # None
    return [], weight.grad


@impostor("run_order", diagnosis="no_return")
def nothing_returned(order, weight, inputs, targets):
    pipeline(order, weight, inputs, targets)


@impostor("run_order", diagnosis="wrong_type")
def gradient_alone(order, weight, inputs, targets):
    return pipeline(order, weight, inputs, targets)[1]


@impostor("run_order", diagnosis="losses_everywhere")
def losses_sent_around(order, weight, inputs, targets):
    losses, gradient = pipeline(order, weight, inputs, targets)
    rank, n = dist.get_rank(), dist.get_world_size()
    every = torch.empty(len(inputs), dtype=torch.float64)
    if rank == n - 1:
        every = torch.tensor(losses, dtype=torch.float64)
    for other in range(n - 1):
        if rank == n - 1:
            dist.send(every, other)
        elif rank == other:
            dist.recv(every, n - 1)
    return every.tolist(), gradient


@impostor("run_order", diagnosis="collective_used")
def a_barrier_of_sums(order, weight, inputs, targets):
    result = pipeline(order, weight, inputs, targets)
    dist.all_reduce(torch.zeros(1))
    return result


@impostor("run_order", diagnosis="too_many_bytes")
def goes_up_and_down_twice(order, weight, inputs, targets):
    result = pipeline(order, weight, inputs, targets)
    rank, n = dist.get_rank(), dist.get_world_size()
    if n > 1 and rank == 0:
        dist.send(inputs[0], 1)
    elif rank == 1:
        dist.recv(torch.empty_like(inputs[0]), 0)
        dist.send(inputs[0], 0)
    if n > 1 and rank == 0:
        dist.recv(torch.empty_like(inputs[0]), 1)
    return result


@impostor("run_order", diagnosis="wrong_gradient_sent")
def passes_on_what_came(order, weight, inputs, targets):
    rank, n = dist.get_rank(), dist.get_world_size()
    if rank < n - 1:
        return pipeline(order, weight, inputs, targets, back=True)
    # The last rank: the gradient of the loss in y.
    weight.requires_grad_()
    losses, gradients, sends = [], {}, []
    for step in order:
        k = int(step[1:])
        if step[0] == "F":
            x = inputs[k] if rank == 0 else torch.empty_like(inputs[k])
            if rank:
                dist.recv(x, rank - 1)
            y = torch.tanh(x @ weight)
            loss = ((y - targets[k]) ** 2).mean() / len(inputs)
            y.retain_grad()
            loss.backward()
            losses.append(loss.item())
            gradients[k] = y.grad
        elif rank:
            sends.append((dist.isend(gradients[k], rank - 1), gradients[k]))
    for work, _ in sends:
        work.wait()
    return losses, weight.grad


# -- best_chunks -------------------------------------------------------------------------------


def best(p, m, chunks, send, fits):
    found = [(simulate(interleaved(p, m, v), Times(send=send)), v) for v in chunks]
    fit = [(round(ran.makespan, 6), v) for ran, v in found if ran.peak <= fits]
    return min(fit)[1] if fit else 0


def divisors(layers):
    return [v for v in range(1, layers + 1) if layers % v == 0]


@impostor("best_chunks", diagnosis="memory_ignored")
def whatever_fits(p, m, layers, send, fits):
    return best(p, m, divisors(layers), send, float("inf"))


@impostor("best_chunks", diagnosis="messages_free")
def without_send(p, m, layers, send, fits):
    return best(p, m, divisors(layers), 0.0, fits)


@impostor("best_chunks", diagnosis="most_chunks")
def a_layer_each(p, m, layers, send, fits):
    return layers


@impostor("best_chunks", diagnosis="not_a_divisor")
def any_number(p, m, layers, send, fits):
    return best(p, m, range(1, layers + 1), send, fits)


@impostor("best_chunks", diagnosis="one_when_none")
def one_at_least(p, m, layers, send, fits):
    return best(p, m, divisors(layers), send, fits) or 1


@impostor("best_chunks", diagnosis="larger_of_equals")
def last_of_the_best(p, m, layers, send, fits):
    found, shortest = 0, float("inf")
    for v in divisors(layers):
        ran = simulate(interleaved(p, m, v), Times(send=send))
        if ran.peak <= fits and ran.makespan <= shortest + 1e-9:
            found, shortest = v, ran.makespan
    return found


@impostor("best_chunks", diagnosis="wrong_values")
def plain_1f1b(p, m, layers, send, fits):
    return 1 if p <= fits else 0


# -- zero_bubble -------------------------------------------------------------------------------


def waiting(p, m, first, late):
    made = []
    for rank in range(p):
        ahead = min(m, first(rank))
        order = [f"F{k}" for k in range(ahead)]
        for k in range(m):
            order += [f"F{ahead + k}"] if ahead + k < m else []
            order.append(f"I{k}")
            order += [f"W{k - late(rank)}"] if k >= late(rank) else []
        made.append([*order, *(f"W{k}" for k in range(max(0, m - late(rank)), m))])
    return made


def named(schedule):
    return [[str(step) for step in order] for order in schedule.orders]


@impostor("zero_bubble", diagnosis="not_split")
def still_1f1b(p, m, fits):
    return named(one_f_one_b(p, m))


@impostor("zero_bubble", diagnosis="memory_left")
def library_zb1p(p, m, fits):
    return named(zb1p(p, m))


@impostor("zero_bubble", diagnosis="too_much_memory")
def library_zb2p(p, m, fits):
    return named(zb2p(p, m))


@impostor("zero_bubble", diagnosis="too_long")
def w_at_once(p, m, fits):
    return waiting(p, m, lambda rank: p - 1 - rank, lambda rank: 0)


@impostor("zero_bubble", diagnosis="too_long")
def more_on_rank_0_alone(p, m, fits):
    room = min(fits, 2 * p - 1)

    def first(rank):
        return p - 1 + room - p if rank == 0 else p - 1 - rank

    return waiting(p, m, first, lambda rank: room - 1 - first(rank))


@impostor("zero_bubble", diagnosis="deadlock")
def most_forwards_on_late_ranks(p, m, fits):
    return waiting(p, m, lambda rank: rank, lambda rank: 0)


@impostor("zero_bubble", diagnosis="no_schedule")
def w_forgotten(p, m, fits):
    return [[one for one in order if one[0] != "W"] for order in named(zb1p(p, m))]


@impostor("zero_bubble", diagnosis="greedy")
def list_scheduling(p, m, fits):
    orders, count, end, now = [[] for _ in range(p)], {}, {}, 0

    def number(kind, rank):
        return count.get((kind, rank), 0)

    while any(number("W", rank) < m for rank in range(p)):
        start = []
        for rank in range(p):
            f, i, w = (number(kind, rank) for kind in "FIW")
            if i < f and (rank == p - 1 or end.get(("I", i, rank + 1), now + 1) <= now):
                start.append((rank, "I"))
            elif (
                f < m
                and f - w < fits
                and (rank == 0 or end.get(("F", f, rank - 1), now + 1) <= now)
            ):
                start.append((rank, "F"))
            elif w < i:
                start.append((rank, "W"))
        now += 1
        for rank, kind in start:
            k = number(kind, rank)
            count[kind, rank] = k + 1
            end[kind, k, rank] = now
            orders[rank].append(f"{kind}{k}")
    return orders
