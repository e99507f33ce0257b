# %% [markdown]
r"""
# Lab: ten traces, ten causes

Six exercises on traces of whole programs, with what you saw in the lesson `t2_12_profiling`. They take about 60 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

The ten traces are files beside `warpwise.traces`, in Chrome's format; `path_of(3)` of `warpwise.traces.examples` says where one lies, if you want to open it in ui.perfetto.dev.
All of them are generated from a model, and say so: none of the times was measured.
A training step runs three times in each. The GPU is an A100, with 108 multiprocessors.

Run this cell first.
"""

# %%
from IPython.display import display

from warpwise import check
from warpwise.show import show_trace, trace_lanes, trace_totals
from warpwise.show.dial import Dial, Dialled
from warpwise.traces import CAUSES, Trace, example, shipped

# %% [markdown]
r"""
## Exercise 1 - Debug: a device that is busy for 155 % (2 points)

**Goal.** A colleague adds up all that runs on the device. The result cannot be.
"""


# %%
def device_busy_broken(spans):
    return sum(length for start, length in spans)


two_streams = [(0.0, 60.0), (10.0, 20.0), (20.0, 70.0), (95.0, 5.0)]
print(f"busy {device_busy_broken(two_streams):g} of 100 us")

# %% [markdown]
r"""
**Given.** `spans`: (start, length) in us, from any number of streams, in no order. A span may overlap others, or lie inside one.

**Required.** The us in which at least one of them runs, as a float. Nothing runs: `0.0`.

**Examples.** `device_busy(two_streams)` is 95.0. `device_busy([(0, 10), (5, 10), (30, 5)])` is 20.0.
"""


# %% device_busy tags=["exercise"]
def device_busy(spans):
    """us in which at least one of the spans (start, length) runs."""
    ### BEGIN SOLUTION
    total, until = 0.0, float("-inf")
    for start, length in sorted(spans):
        end = start + length
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total
    ### END SOLUTION


# %% tags=["check"]
check("device_busy", device_busy)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Two spans of 10 us that overlap by 5 are 15 us, not 20.
</details>
<details><summary>Hint 2</summary>
Sort by the start. Keep how far you have counted. What does a span add that begins before that point, and what if it also ends before it?
</details>
<details><summary>Hint 3</summary>
<code>total += max(0, end - max(start, until))</code>, then <code>until = max(until, end)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Exposed (1 point)

**Goal.** Communication under computation costs nothing. What sticks out does.

**Given.** Two lists of spans.

**Required.** The us in which one of `first` runs and none of `second`, as a float.

**Example.** `exposed_us([(10, 20)], [(0, 15), (25, 10)])` is 10.0: from 15 to 25.
"""


# %% exposed_us tags=["exercise"]
def exposed_us(first, second):
    """us in which one of `first` runs and none of `second`."""
    ### BEGIN SOLUTION
    return device_busy([*first, *second]) - device_busy(second)
    ### END SOLUTION


# %% tags=["check"]
check("exposed_us", exposed_us)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
You have a function that knows when anything runs. Use it twice.
</details>
<details><summary>Hint 2</summary>
How much longer is something running if <code>first</code> is added to <code>second</code>?
</details>
<details><summary>Hint 3</summary>
<code>device_busy([*first, *second]) - device_busy(second)</code>
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Ten causes (3 points)

**Goal.** Name what is wrong. Each of these causes occurs once:
"""

# %%
for name, meaning in CAUSES.items():
    print(f"{name:20}{meaning}")

# %% [markdown]
r"""
Turn the dial through the ten traces; each picture shows the second step. Then look closer at one: `look(1)` prints its lanes and its totals, and the arguments of the largest kernel.
"""


# %%
def picture(number):
    """The second step of a trace."""
    trace = shipped(number)
    return show_trace(trace, *trace.steps[1])._repr_mimebundle_()


def look(number):
    """Lanes, totals of each lane of rank 0, and what is known of the largest kernels."""
    trace = shipped(number)
    display(trace_lanes(trace))
    for lane in trace.lanes:
        display(trace_totals(trace, lane))
    largest = {}
    for event in trace.on("stream 7"):
        if event.us > largest.get(event.name, event).us or event.name not in largest:
            largest[event.name] = event
    for event in largest.values():
        print(f"{event.name}: {event.us:,.1f} us, {dict(event.args)}")


look(1)
Dialled([Dial("number", tuple(range(1, 11)), 1)], picture)

# %% [markdown]
r"""
**Given.** `shipped(number)` for the numbers 1 to 10.

**Required.** A dictionary from each number to the name of its cause.
"""


# %% name_the_causes tags=["exercise"]
def name_the_causes():
    """{number of a trace: name of its cause}, for 1 to 10."""
    ### BEGIN SOLUTION
    return {
        1: "sync_in_loop",
        2: "recompute",
        3: "exposed_all_reduce",
        4: "small_kernels",
        5: "data_loader",
        6: "uncoalesced",
        7: "launch_bound",
        8: "straggler",
        9: "wave_tail",
        10: "pageable_copies",
    }
    ### END SOLUTION


# %% tags=["check"]
check("name_the_causes", name_the_causes)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Sort them first: more than one rank, an idle stream 7, a busy stream 7.
</details>
<details><summary>Hint 2</summary>
Idle: what does the host do in the gaps, launch, wait or load? Busy: count the forward kernels against the backward ones; add up what is no gemm; look at copies; look at the arguments.
</details>
<details><summary>Hint 3</summary>
Load sectors over load requests is 4 for a good float32 kernel. A grid of blocks, one on each of 108 multiprocessors, should be a multiple of 108 or many times as large. Several ranks: compare how long each is in its all-reduces.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - The evidence (3 points)

**Goal.** A name is an opinion, a number is a proof. Write the function that computes it, for five of the causes and for any trace that has one of them.

**Given.** `cause`, one of the names below, and `rows`, a trace as plain data: `Trace.from_rows(rows)` gives the trace with all that you know from the lesson.
The number of steps is `len(trace.steps)`.

**Required.** As a float:

| cause | evidence |
|---|---|
| `sync_in_loop` | calls of `cudaStreamSynchronize` in a step, on the lane `host` |
| `data_loader` | us a step in which a `DataLoader...` event of the host runs, and nothing on `stream 7` |
| `uncoalesced` | the largest `load sectors` over `load requests` of a kernel |
| `exposed_all_reduce` | us a step in which an all-reduce of rank 0 runs (`stream 20`), and nothing on its `stream 7` |
| `straggler` | the rank that the others wait for |

*A step* means: of the whole trace, divided by the number of steps.

**Examples.** With `rows = example(cause, 1).rows`: 19.0 for `sync_in_loop`, 32.0 for `uncoalesced`, 2384.09 for `exposed_all_reduce`, 1.0 for `straggler`.
"""


# %% evidence tags=["exercise"]
def evidence(cause, rows):
    """The number that proves a cause; see the table."""
    ### BEGIN SOLUTION
    trace = Trace.from_rows(rows)
    steps = len(trace.steps)

    def spans(lane, word="", rank=0):
        return [(one.start_us, one.us) for one in trace.on(lane, rank) if word in one.name]

    if cause == "sync_in_loop":
        return len(spans("host", "cudaStreamSynchronize")) / steps
    if cause == "data_loader":
        return exposed_us(spans("host", "DataLoader"), spans("stream 7")) / steps
    if cause == "uncoalesced":
        known = [one.args for one in trace.events if "load requests" in one.args]
        return max(args["load sectors"] / args["load requests"] for args in known)
    if cause == "exposed_all_reduce":
        return exposed_us(spans("stream 20"), spans("stream 7")) / steps
    return float(min(trace.ranks, key=lambda rank: device_busy(spans("stream 20", rank=rank))))
    ### END SOLUTION


# %% tags=["check"]
check("evidence", evidence)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Four of the five need a list of spans from one lane, with a word in the name. Write a small function for that.
</details>
<details><summary>Hint 2</summary>
<code>[(one.start_us, one.us) for one in trace.on(lane, rank) if word in one.name]</code>, then <code>exposed_us</code> of two of them.
</details>
<details><summary>Hint 3</summary>
The straggler comes last to each all-reduce, so it is in them for the shortest time: <code>min(trace.ranks, key=...)</code> over the busy time of stream 20.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - How fast could it be? (1 point)

**Goal.** The bound before the repair. If nobody ever waited for anybody, a step would still take as long as its busiest lane works.

**Given.** `rows`, as in exercise 4.

**Required.** The us of a step, as a float: for each rank and each lane the time in which something runs on it, without the lane `steps` and without the two calls in which the host may wait, `cudaStreamSynchronize` and `cudaMemcpyAsync`; the largest of these, over the number of steps.

**Example.** With `rows = example("launch_bound", 1).rows`: 274.50. The launches alone are the bound.
"""


# %% best_step tags=["exercise"]
def best_step(rows):
    """us of a step, if its lanes never waited for each other."""
    ### BEGIN SOLUTION
    trace = Trace.from_rows(rows)
    work = {}
    for one in trace.events:
        if one.lane != "steps" and one.name not in ("cudaStreamSynchronize", "cudaMemcpyAsync"):
            work.setdefault((one.rank, one.lane), []).append((one.start_us, one.us))
    return max(device_busy(spans) for spans in work.values()) / len(trace.steps)
    ### END SOLUTION


# %% tags=["check"]
if check("best_step", best_step).status == "pass":
    for number in range(1, 11):
        trace = shipped(number)
        now = (trace.end_us - trace.start_us) / len(trace.steps)
        bound = best_step(trace.rows)
        print(
            f"trace {number:2}: {now:7,.0f} us a step, at least {bound:7,.0f} ({bound / now:.0%})"
        )

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Each lane by itself: what would it take if it never had to wait?
</details>
<details><summary>Hint 2</summary>
Group the spans by <code>(one.rank, one.lane)</code>, and use <code>device_busy</code> for each group.
</details>
<details><summary>Hint 3</summary>
Skip events of the lane <code>steps</code> and the two names; <code>max(...)</code> of the groups, divided by <code>len(trace.steps)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: a diagnosis by program (2 points)

**Goal.** Write down how you decided in exercise 3, so that a program can decide for traces that nobody has seen.

**Given.** `traces`: a tuple of traces as plain data, each with one of the ten causes and with other numbers than those you know: other layers, times, sizes.

**Required.** A list with the cause of each. Eight of ten have to be right.

**Example.** `diagnose((shipped(1).rows, shipped(2).rows))` is a list of two names.
`example(cause, seed)` makes as many traces as you want to try your rules on. When the check passes, you see a score over a hundred of them, beside two simpler rules.
"""


# %% diagnose tags=["exercise"]
def diagnose(traces):
    """The cause of each trace, a list of names."""

    ### BEGIN SOLUTION
    def spans(trace, lane, word="", rank=0):
        return [(one.start_us, one.us) for one in trace.on(lane, rank) if word in one.name]

    def of_ranks(trace):
        times = [device_busy(spans(trace, "stream 20", "", rank)) for rank in trace.ranks]
        return "straggler" if min(times) < 0.7 * max(times) else "exposed_all_reduce"

    def of_an_idle_device(trace, whole):
        if device_busy(spans(trace, "host", "DataLoader")) > 0.4 * whole:
            return "data_loader"
        waiting = device_busy(spans(trace, "host", "Synchronize"))
        return "sync_in_loop" if waiting > 0.3 * whole else "launch_bound"

    def cause_of(trace):
        if len(trace.ranks) > 1:
            return of_ranks(trace)
        kernels = [one for one in trace.on("stream 7") if "Memcpy" not in one.name]
        if len(kernels) < len(trace.on("stream 7")):
            return "pageable_copies"
        args = [one.args for one in kernels]
        if any(a.get("load sectors", 0) > 4 * a.get("load requests", 1) for a in args):
            return "uncoalesced"
        whole = trace.end_us - trace.start_us
        if device_busy(spans(trace, "stream 7")) < 0.85 * whole:
            return of_an_idle_device(trace, whole)
        if any(a["blocks an SM"] == 1 and a["grid"] % 108 for a in args):
            return "wave_tail"
        names = [one.name for one in kernels]
        twice = names.count("gemm_forward") > 1.5 * names.count("gemm_backward")
        return "recompute" if twice else "small_kernels"

    return [cause_of(Trace.from_rows(rows)) for rows in traces]
    ### END SOLUTION


# %% tags=["check"]
if check("diagnose", diagnose).status == "pass":

    def by_ranks_only(traces):
        many = [len(Trace.from_rows(rows).ranks) > 1 for rows in traces]
        return ["straggler" if one else "launch_bound" for one in many]

    def by_busy_share(traces):
        found = []
        for trace in map(Trace.from_rows, traces):
            share = trace.busy_us("stream 7") / (trace.end_us - trace.start_us)
            found.append("sync_in_loop" if share < 0.85 else "recompute")
        return found

    pairs = [(cause, example(cause, 100 + seed).rows) for cause in CAUSES for seed in range(10)]
    for name, rule in (("ranks only", by_ranks_only), ("busy share only", by_busy_share), ("yours", diagnose)):  # fmt: skip
        named = rule([rows for _, rows in pairs])
        print(f"{name:16} score {sum(a == b for (a, _), b in zip(pairs, named, strict=True))}")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Ask for what only one cause has, and ask for it first. What is left at the end needs no question.
</details>
<details><summary>Hint 2</summary>
Ranks; a copy on stream 7; more than 4 sectors a request; a stream 7 that is idle for more than 15 % of the time; a grid that 108 does not divide; as many forward kernels as backward ones, or twice as many.
</details>
<details><summary>Hint 3</summary>
Idle: the <code>DataLoader</code> has more than 40 % of the host's time, or <code>cudaStreamSynchronize</code> more than 30 %, or neither. Several ranks: the shortest time in all-reduces is far below the longest, or is not.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- Exercise 1: with one stream a sum is right, for a stream does one thing at a time. Two streams already need the union.
- Exercise 3: traces 4, 6 and 9 have a device that is busy all the time. Their kernels are at fault, not their order: the next tool is Nsight Compute.
- Exercise 4: in trace 8 rank 0 has the shortest all-reduces. Waiting is shown as work, in the kernels of NCCL; in a trace of one rank alone a straggler elsewhere looks like a slow network.
- Exercise 5: the bound is far below the step where lanes work in turns: traces 1, 3 and 5. The others need less work, or other work, not another order.
  In trace 5 the loader itself is the busiest lane. More worker processes divide it.
- Exercise 6: the rules fit these ten models. Real programs have two causes at once; mend the larger one, and record again.
"""

# %% [markdown]
r"""
**Done?** You can now say where the time of a program goes, and prove it.
To compare your answers with ours, open `solutions/t2_gpu/t2_12_profiling_lab.ipynb`.

- The third tier, from `t3_01_collectives` on, is about what happens between GPUs.
"""
