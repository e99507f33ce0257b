# %% [markdown]
r"""
# Lab: plan a run, audit a number

Six exercises on whole training runs, with what you saw in the lesson `t3_14_capstone`. They take about 75 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

All figures here are *modelled* or *published*; nothing is measured. 1 GB is 1,000,000,000 bytes, 1 GiB is 2^30.

Run this cell first.
"""

# %%
import math

from warpwise import check
from warpwise.planner import Cluster, Model, Plan, PlanError, estimate

# %% [markdown]
r"""
## Exercise 1 - How many days? (2 points)

**Goal.** Say how long a run takes, before it starts.

**Given.** `parameters` P and `tokens` T, floats; `gpus`; `tflops`, what one GPU does, in TFLOP/s; `recomputed`, a bool: whether all activations are computed a second time.

**Required.** Days, a float. A multiply-add is two operations. Each parameter takes one for each token in the forward pass, and two in the backward pass; `tflops` counts what is recomputed.

**Examples.** `days_to_train(175e9, 300e9, 1024, 140, True)` is about 33.9 and `days_to_train(1e12, 450e9, 3072, 163, True)` about 83.2. The paper on Megatron-LM prints 34 and 84 days [1].

[1] D. Narayanan and others, 2021, section 5.1. <https://arxiv.org/abs/2104.04473>
"""


# %% days_to_train tags=["exercise"]
def days_to_train(parameters, tokens, gpus, tflops, recomputed):
    """Days of a training run."""
    ### BEGIN SOLUTION
    operations = (8 if recomputed else 6) * parameters * tokens
    return operations / (gpus * tflops * 1e12) / 86_400
    ### END SOLUTION


# %% tags=["check"]
check("days_to_train", days_to_train)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many operations does one parameter take for one token, in each pass?
</details>
<details><summary>Hint 2</summary>
2 forward, 4 backward, and 2 more if the forward pass runs again.
</details>
<details><summary>Hint 3</summary>
<code>(8 if recomputed else 6) * parameters * tokens</code> over <code>gpus * tflops * 1e12</code>, and 86,400 seconds a day.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Does it fit? (4 points)

**Goal.** Count what a GPU of the first pipeline stage holds.

**Given.** `layers` L, `hidden` h, `heads` a, `sequence` s; the degrees `dp`, `tp`, `pp`; the stage of ZeRO, 0 to 3; `microbatch`, in sequences; `microbatches`, how many of them one pipeline has in a step; `recompute`, `"none"`, `"selective"` or `"full"`. `pp` divides `layers`. Sequence parallelism goes with tp. The schedule is 1F1B without interleaving.

**Required.** Two floats, in bytes.

1. States. Count 12 L h^2 parameters, without embeddings; this rank has its share of tp and pp. A parameter has 2 bytes for itself, 2 for its gradient and 12 for the optimiser. ZeRO divides the 12 by dp from stage 1 on, the gradients from stage 2 on, the parameters from stage 3 on.
2. Activations. For each of its layers and each microbatch on the way, this rank keeps s b h / t times a coefficient, with b = `microbatch` and t = `tp`: 34 + 5 a s / h for `"none"`, 34 for `"selective"`, 2 for `"full"`. With `"full"` there is once more what `"none"` keeps for one layer and one microbatch: the layer that is being recomputed.

**Example.** `held_bytes(2, 1000, 10, 100, 1, 1, 1, 0, 1, 1, "none")` is (384000000.0, 7800000.0).
"""


# %% held_bytes tags=["exercise"]
def held_bytes(
    layers, hidden, heads, sequence, dp, tp, pp, zero, microbatch, microbatches, recompute
):
    """(bytes of states, bytes of activations) of a rank of the first stage."""
    ### BEGIN SOLUTION
    parameters = 12 * layers * hidden**2 / (tp * pp)
    each = 2 / (dp if zero >= 3 else 1) + 2 / (dp if zero >= 2 else 1)
    each += 12 / (dp if zero >= 1 else 1)
    unit = sequence * microbatch * hidden / tp
    everything = 34 + 5 * heads * sequence / hidden
    kept = {"none": everything, "selective": 34, "full": 2}[recompute]
    activations = unit * kept * (layers / pp) * min(pp, microbatches)
    if recompute == "full":
        activations += unit * everything
    return parameters * each, activations
    ### END SOLUTION


# %% tags=["check"]
check("held_bytes", held_bytes)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
States depend on dp and not on the microbatch; activations the other way round. How many forward passes does the first stage run before its first backward pass?
</details>
<details><summary>Hint 2</summary>
Parameters: 12 L h^2 over tp and pp. Microbatches on the way: pp, but never more than there are.
</details>
<details><summary>Hint 3</summary>
<code>unit = sequence * microbatch * hidden / tp</code>; activations are <code>unit * coefficient * layers / pp * min(pp, microbatches)</code>, and with <code>"full"</code> also <code>unit * (34 + 5 * heads * sequence / hidden)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Where does the time go? (3 points)

**Goal.** Take a step apart.

**Given.** `flops`, the operations of the whole step over all GPUs; `peak` of a GPU in operations a second, and `efficiency`, the share of it that products reach; `layers`; `parameters`; the degrees `dp`, `tp`, `pp`; `microbatches` of one pipeline; `passed`, the bytes of a hidden state of one microbatch; `nvlink` and `nic`, bytes a second. tp runs over `nvlink`, dp over `nic`. There is no latency.

**Required.** Four floats, in seconds:

1. products: all GPUs share them equally;
2. tensor: in each microbatch and each of this stage's layers four all-reduces of `passed` bytes;
3. bubble: (p - 1)/m of products and tensor together;
4. data: one all-reduce of this rank's gradients, 2 bytes each, less what the backward pass hides, which is two thirds of the products. Not below 0.

An all-reduce of K bytes over n ranks sends 2 (n - 1)/n K.

**Example.** `step_parts(8e12, 1e12, 0.5, 4, 9e10, 4, 1, 1, 3, 1e6, 1e11, 1e10)` is about (4.0, 0.0, 0.0, 24.333).
"""


# %% step_parts tags=["exercise"]
def step_parts(
    flops, peak, efficiency, layers, parameters, dp, tp, pp, microbatches, passed, nvlink, nic
):
    """(products, tensor, bubble, data) in seconds."""
    ### BEGIN SOLUTION
    products = flops / (dp * tp * pp) / (peak * efficiency)
    one = 2 * (tp - 1) / tp * passed / nvlink
    tensor = microbatches * layers / pp * 4 * one
    bubble = (products + tensor) * (pp - 1) / microbatches
    gradients = 2 * parameters / (tp * pp)
    data = 2 * (dp - 1) / dp * gradients / nic
    return products, tensor, bubble, max(0.0, data - 2 / 3 * products)
    ### END SOLUTION


# %% tags=["check"]
check("step_parts", step_parts)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Try the four with dp = tp = pp = 1: three of them must be 0. Then turn up one degree at a time.
</details>
<details><summary>Hint 2</summary>
A rank has layers / pp layers and parameters / (tp pp) parameters. What hides cannot become negative time.
</details>
<details><summary>Hint 3</summary>
<code>tensor = microbatches * layers / pp * 4 * 2 * (tp - 1) / tp * passed / nvlink</code>, <code>bubble = (products + tensor) * (pp - 1) / microbatches</code>, <code>max(0, 2 * (dp - 1) / dp * 2 * parameters / (tp * pp) / nic - 2 / 3 * products)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - The best plan (5 points)

**Goal.** Find the split with the largest MFU that fits. Of five numbers you can choose four freely, and a rule of thumb finds a good plan, but seldom the best.

**Given.** `cost`, a function: `cost(dp, tp, pp, cp, microbatch)` gives (MFU, bytes that a GPU holds), or None for a plan that cannot run: heads that tp does not divide, too few layers, a batch that does not come out even. `gpus`; `batch`, sequences a step over all ranks; `memory`, bytes of a GPU. Everything else about the run stays as it is.

**Required.** Five whole numbers, dp, tp, pp, cp, microbatch, with

- dp x tp x pp x cp = `gpus`, and dp x microbatch divides `batch`;
- at most `memory` bytes;
- the largest MFU of all such plans, where several have it any of them.

If no plan fits, None. Ask `cost` at most as often as there are plans with the first property: each question stands for a run on the real machine.

**Example.** The next cell has a cost to try your function on: a model of 2.9e9 parameters on 12 GPUs with a slow network. There are 245 such plans, 121 of them fit, and one is the best: (1, 1, 3, 4, 1), with an MFU of 52.08 % (modelled).
"""


# %%
SMALL = Cluster("A100 40GB", 12, nic_gbs=1.0)


def small_cost(dp, tp, pp, cp, microbatch):
    plan = Plan(dp=dp, tp=tp, pp=pp, cp=cp, microbatch=microbatch, batch=24, zero=1)
    try:
        made = estimate(Model(24, 3072, 24), SMALL, plan)
    except PlanError:
        return None
    return made.mfu(), made.memory.total


print(small_cost(12, 1, 1, 1, 1))
print(small_cost(1, 1, 12, 1, 5))
# Later: best_plan(small_cost, 12, 24, SMALL.memory)


# %% best_plan tags=["exercise"]
def best_plan(cost, gpus, batch, memory):
    """(dp, tp, pp, cp, microbatch) with the largest MFU that fits, or None."""

    ### BEGIN SOLUTION
    def divisors(number):
        return [n for n in range(1, number + 1) if number % n == 0]

    best, plan = 0.0, None
    for tp in divisors(gpus):
        for pp in divisors(gpus // tp):
            for cp in divisors(gpus // (tp * pp)):
                dp = gpus // (tp * pp * cp)
                if batch % dp:
                    continue
                for microbatch in divisors(batch // dp):
                    told = cost(dp, tp, pp, cp, microbatch)
                    if told is None:
                        continue
                    mfu, held = told
                    if held <= memory and mfu > best:
                        best, plan = mfu, (dp, tp, pp, cp, microbatch)
    return plan
    ### END SOLUTION


# %% tags=["check"]
check("best_plan", best_plan)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which of the five follows from the others? Which numbers can each of the others be at all?
</details>
<details><summary>Hint 2</summary>
Loops over divisors: tp of gpus, pp of what is left, cp of what is left then. dp is the rest. The microbatch is a divisor of the sequences that a data parallel rank has. Look at the memory before you compare MFUs.
</details>
<details><summary>Hint 3</summary>
In the innermost loop: <code>told = cost(dp, tp, pp, cp, microbatch)</code>; if it is not None, its bytes are at most <code>memory</code> and its MFU is above the best so far, keep both.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Audit a row (4 points)

Numbers are printed rounded. 138 may have been anything from 137.5 to 138.5, and 70.8 anything from 70.75 to 70.85. So 512 GPUs of 138 TFLOP/s and a sum of 70.8 PFLOP/s agree, although 512 x 138 is 70.656.

**Goal.** Say what in a row of a published table cannot be true.

**Given.** One row of Table 1 of the paper on Megatron-LM [1], perhaps with a wrong cell: `billions` of parameters, printed with one decimal; `heads`, `hidden`, `layers`, `tp`, `pp`, `gpus`, `batch`, `microbatch`, all exact; `tflops` a GPU and `percent` of the peak of 312, whole numbers; `pflops` of all GPUs, one decimal. The vocabulary has 51,200 words, a sequence 2,048 tokens.

**Required.** A list of the names of what cannot be, in this order; empty if all agrees.

- `"parameters"`: 12 L h^2 + 13 L h + (51,200 + 2,048) h is not what `billions` was rounded from.
- `"split"`: tp x pp does not divide the GPUs, tp not the heads, or pp not the layers.
- `"batch"`: dp x microbatch does not divide the batch. Only where the split can be.
- `"percent"`: no number that rounds to `tflops` gives a share that rounds to `percent`.
- `"petaflops"`: no number that rounds to `tflops` gives, over all GPUs, a number that rounds to `pflops`.

Two rounded numbers agree if they differ by no more than both roundings allow together: half a unit of the last printed digit each. A tie counts as agreeing.

**Examples.** `audit_row(39.1, 64, 8192, 48, 8, 2, 512, 1536, 4, 138, 44, 70.8)` is `[]`. With 71.0 at the end it is `["petaflops"]`.

Taking `tflops` as exact would reject six of the ten rows as printed. A tolerance of one percent would accept the 71.0.
"""


# %% audit_row tags=["exercise"]
def audit_row(
    billions,
    heads,
    hidden,
    layers,
    tp,
    pp,
    gpus,
    batch,
    microbatch,
    tflops,
    percent,
    pflops,
):
    """Names of what cannot be true."""
    ### BEGIN SOLUTION
    wrong = []
    parameters = 12 * layers * hidden**2 + 13 * layers * hidden + (51_200 + 2_048) * hidden
    if abs(parameters / 1e9 - billions) > 0.05:
        wrong.append("parameters")
    if gpus % (tp * pp) or heads % tp or layers % pp:
        wrong.append("split")
    elif batch % (gpus // (tp * pp) * microbatch):
        wrong.append("batch")
    if abs(tflops / 3.12 - percent) > 0.5 / 3.12 + 0.5:
        wrong.append("percent")
    if abs(gpus * tflops / 1000 - pflops) > gpus * 0.5 / 1000 + 0.05:
        wrong.append("petaflops")
    return wrong
    ### END SOLUTION


# %% tags=["check"]
check("audit_row", audit_row)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
For each pair of numbers: in which interval may each have been? Two intervals, one question.
</details>
<details><summary>Hint 2</summary>
If tflops may be 0.5 off, the sum over all GPUs may be gpus times that off. Add the half unit of the other number.
</details>
<details><summary>Hint 3</summary>
<code>abs(gpus * tflops / 1000 - pflops) &gt; gpus * 0.5 / 1000 + 0.05</code> is a fault; <code>abs(tflops / 3.12 - percent) &gt; 0.5 / 3.12 + 0.5</code> another. The batch is judged in an <code>elif</code> behind the split.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - How often to save (2 points, stretch)

**Goal.** Choose the number of steps between checkpoints.

**Given.** Floats: `step_s`, `save_s` and `restart_s`, seconds of a step, a checkpoint and a restart; `gpu_mtbf_h`, *hours* between two failures of *one* GPU; and `gpus`. Any failure of any GPU stops the run.

**Required.** Two values: the whole number of steps, at least 1, with the largest useful share of the time, and this share. With M the mean time between failures of the run, tau the work between two checkpoints, delta the checkpoint and R the restart, Daly's model [2] gives

    share = tau / (M e^(R/M) (e^((tau + delta)/M) - 1))

For comparison, with steps of 10 s, checkpoints of 60 s, restarts of 300 s, 50,000 hours and 16,384 GPUs: saving after every step leaves 13.9 %, the rule sqrt(2 delta M) gives 115 steps and 87.482 %, the best number 87.488 %. The rule is good. Where a checkpoint is dear it is further off, and the best number is what is asked for.

[2] J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation Computer Systems 22, 2006. <https://doi.org/10.1016/j.future.2004.11.016>
"""


# %% checkpoint_every tags=["exercise"]
def checkpoint_every(step_s, save_s, restart_s, gpu_mtbf_h, gpus):
    """(steps between checkpoints, useful share of the time)."""
    ### BEGIN SOLUTION
    mtbf = gpu_mtbf_h * 3600 / gpus

    def share(steps):
        tau = steps * step_s
        spent = mtbf * math.exp(restart_s / mtbf) * math.expm1((tau + save_s) / mtbf)
        return tau / spent

    steps = max(1, round(math.sqrt(2 * save_s * mtbf) / step_s))
    while steps > 1 and share(steps - 1) > share(steps):
        steps -= 1
    while share(steps + 1) > share(steps):
        steps += 1
    return steps, share(steps)
    ### END SOLUTION


# %% tags=["check"]
check("checkpoint_every", checkpoint_every)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How often does the first of all GPUs fail? And what shape has the share, as a function of the number of steps?
</details>
<details><summary>Hint 2</summary>
M is gpu_mtbf_h * 3600 / gpus. The share has one peak: start near it and walk uphill.
</details>
<details><summary>Hint 3</summary>
Start with <code>max(1, round(math.sqrt(2 * save_s * mtbf) / step_s))</code>. Go down while one step less has a larger share, then up while one step more has.
</details>
"""
