# %% [markdown]
r"""
# Batch: what parallelism does to learning

**We double the number of GPUs. Each step takes as long as before, and half as many steps see all the data. Does the model learn twice as fast?**

At the end of this lesson you can

- say which batch a run has, from ranks, micro-batches and accumulation,
- measure how noisy a gradient is, by its *noise scale*,
- change the learning rate when the batch changes,
- say how many steps and how many samples a batch needs, and from where on more devices cost more than they give.

You need the lesson `t3_06_data_parallel` and about 40 minutes. You do not need a GPU: the model here is small enough to train many times in NumPy.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from warpwise.show import table

# %% [markdown]
r"""
## 1. The batch grows with the ranks

In data parallel training each rank takes a *micro-batch* of its own, and the gradients are averaged. The optimizer sees the *global batch*:

    global batch = ranks * micro-batch * accumulation

Accumulation is the number of micro-batches that a rank works through before it averages with the others.
A run has 256 ranks with 4 sequences each and accumulates 2. We move it to 512 ranks. What must be done to keep the batch?
"""

# %%
guess = "?"

for ranks, micro, accumulation in ((256, 4, 2), (512, 4, 2), (512, 4, 1), (512, 2, 2)):
    print(f"{ranks} ranks x {micro} x {accumulation}: {ranks * micro * accumulation}")
print("guess:", guess)

# %% [markdown]
r"""
Accumulate **once** instead of twice, or halve the micro-batch. Then nothing changes for the optimizer: a mean over 2,048 sequences is the same, whoever computes it, but for rounding.
When there is nothing left to halve, each further rank makes the batch larger. That is where this lesson begins.

## 2. Train it

Here is a small model: 16 numbers go through 16 units to one answer, yes or no. There are 2,048 samples, so few that we can train it again and again.
`steps_to` counts the steps until the loss, over the first 512 samples, is below 0.3. For each batch we try six learning rates and take the best: otherwise we would compare learning rates, not batches.

With a batch of 1 it takes 162 steps. What do you expect for 16? And for 512?
"""

# %%
guesses = {16: "?", 512: "?"}  # steps

SAMPLES, INPUTS, UNITS = 2048, 16, 16
rng = np.random.default_rng(seed=13)
x = rng.normal(size=(SAMPLES, INPUTS))
score = np.tanh(x @ rng.normal(size=(INPUTS, 4)) * 0.7) @ np.array([1.5, -1.5, 1.0, -1.0])
y = (score + 0.3 * rng.normal(size=SAMPLES) > 0).astype(float)


def start():
    first = np.random.default_rng(seed=0)
    return [first.normal(size=(INPUTS, UNITS)) / 4, first.normal(size=UNITS) / 4]


def loss(weights, part=slice(0, 512)):
    z = np.tanh(x[part] @ weights[0]) @ weights[1]
    return float(np.mean(np.logaddexp(0, z) - y[part] * z))


def gradient(weights, part):
    """The mean gradient over the samples of `part`."""
    h = np.tanh(x[part] @ weights[0])
    d = (1 / (1 + np.exp(-(h @ weights[1]))) - y[part]) / len(part)
    return [x[part].T @ (d[:, None] * weights[1] * (1 - h * h)), h.T @ d]


def steps_to(target, batch, rate, seed, most=1000):
    """Steps of plain gradient descent until the loss is below the target."""
    draw, weights = np.random.default_rng(seed), start()
    for step in range(1, most + 1):
        slopes = gradient(weights, draw.integers(0, SAMPLES, batch))
        weights = [w - rate * slope for w, slope in zip(weights, slopes, strict=True)]
        if loss(weights) < target:
            return step
    return most


BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
RATES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
best = {}
for batch in BATCHES:
    median = {
        rate: int(np.median([steps_to(0.3, batch, rate, s) for s in (1, 2, 3)])) for rate in RATES
    }
    rate = min(median, key=median.get)
    best[batch] = (median[rate], rate)
print("guesses:", guesses)
table(
    ("batch", "steps", "samples", "best rate"),
    [(str(b), str(s), f"{b * s:,}", str(r)) for b, (s, r) in best.items()],
    "counted on this model, median of three runs",
)

# %% [markdown]
r"""
**11** and **4**. Up to a batch of about 16 the *samples* stay nearly the same: twice the batch, half the steps. More devices are as good as more time.
Then the steps stop falling, and the samples grow. At 512 the model sees thirteen times as many samples as at 1, and most of 512 devices might as well have stayed off.

The learning rate tells the same story. It doubles with the batch, up to the largest that we tried.

## 3. Noise

Why? A gradient over a batch is an estimate of the gradient over all data. With few samples it is mostly noise, and each further sample makes it better. With many it is nearly exact, and more samples change nothing.

Let G be the true gradient and S the covariance matrix of the gradient of a single sample. The mean over B samples has the covariance S/B. Its size, as a sum over all weights, is tr(S)/B.
The batch at which noise and signal have the same size is

    B_noise = tr(S) / |G|^2

It is called the *gradient noise scale* [1]. Below it the gradient is mostly noise. What is it for our model at the start: 3, 30, or 300?
"""

# %%
guess = "?"


def sample_gradients(weights):
    """The gradient of each sample, a row each."""
    h = np.tanh(x @ weights[0])
    d = 1 / (1 + np.exp(-(h @ weights[1]))) - y
    inner = x[:, :, None] * (d[:, None] * weights[1] * (1 - h * h))[:, None, :]
    return np.concatenate([inner.reshape(SAMPLES, -1), h * d[:, None]], axis=1)


def noise_scale(rows):
    """tr(S) / |G|^2, with what noise adds to |G|^2 taken off."""
    trace = rows.var(axis=0, ddof=1).sum()
    return trace / ((rows.mean(axis=0) ** 2).sum() - trace / len(rows))


print("guess:", guess, f"  {noise_scale(sample_gradients(start())):.0f}")

# %% [markdown]
r"""
About **27**, and the samples began to grow between 16 and 32. It is no proof, but the same was found for models from digits to Atari games [1].

Mind the term that is taken off. The mean of n noisy rows is not exactly G: its square is too large by tr(S)/n on average. For few rows that matters.

A real run does not have gradients of single samples. But it has two batch sizes: that of one rank, b, before the all-reduce, and that of all, B, after it. The squared lengths of both gradients, on average, are

    |G_b|^2 = |G|^2 + tr(S)/b        |G_B|^2 = |G|^2 + tr(S)/B

Two equations, two unknowns [1]. What comes out here, with b = 8 and B = 256?
"""

# %%
guess = "?"

rows, draw = sample_gradients(start()), np.random.default_rng(seed=3)


def mean_square(size, times=2000):
    """Mean squared length of the gradient over random batches."""
    return np.mean(
        [(rows[draw.integers(0, SAMPLES, size)].mean(axis=0) ** 2).sum() for _ in range(times)]
    )


small, big = mean_square(8), mean_square(256)
signal = (256 * big - 8 * small) / (256 - 8)
trace = (small - big) / (1 / 8 - 1 / 256)
print(
    "guess:", guess, f"  |G_8|^2 {small:.4f}, |G_256|^2 {big:.4f}, noise scale {trace / signal:.0f}"
)

# %% [markdown]
r"""
About **27** again, and it cost nothing: both gradients are there in each step of data parallel training.

The noise scale is no constant. How does it change while the model learns?
"""

# %%
guess = "?"  # does it grow or shrink?

weights, draw = start(), np.random.default_rng(seed=2)
print("guess:", guess)
for step in range(101):
    if step in (0, 10, 30, 100):
        print(
            f"step {step:3}: loss {loss(weights):.3f}, noise scale {noise_scale(sample_gradients(weights)):6.0f}"
        )
    slopes = gradient(weights, draw.integers(0, SAMPLES, 64))
    weights = [w - 0.8 * slope for w, slope in zip(weights, slopes, strict=True)]

# %% [markdown]
r"""
It **grows**: as the model gets better, the gradient shrinks, and the samples disagree as much as before. That is why large runs begin with a small batch and enlarge it.

## 4. Steps and samples

The model behind the noise scale gives a formula for the whole run [1]. Let S_min be the steps with an enormous batch, and B_noise a mean over the run:

    steps    = S_min (1 + B_noise/B)
    samples  = S_min (B + B_noise)

At B = B_noise a run takes twice the least number of steps, and twice the least number of samples. We fit both constants to the counts above, by relative errors as in `t3_03_bus_bandwidth`.
"""

# %%
guesses = {"S_min": "?", "B_noise": "?"}

batches = np.array(BATCHES, float)
counted = np.array([best[b][0] for b in BATCHES], float)
lines = np.stack([1 / counted, 1 / (batches * counted)], axis=1)
s_min, product = np.linalg.lstsq(lines, np.ones(len(counted)), rcond=None)[0]
b_noise = product / s_min
print("guesses:", guesses, f"  S_min {s_min:.1f}, B_noise {b_noise:.0f} (fitted)")

fig, ax = plt.subplots(figsize=(7, 3.6))
ax.loglog(batches, counted, "o", label="counted")
ax.loglog(batches, s_min * (1 + b_noise / batches), "-", label="S_min (1 + B_noise / B)")
ax.axvline(b_noise, linestyle=":", color="grey")
ax.set(xlabel="batch", ylabel="steps")
ax.legend()
plt.show()

# %% [markdown]
r"""
**3.1** steps and **46** samples, between the noise scale of the start and that after ten steps. The dotted line is B_noise. To its left, the curve falls like 1/B: *more devices save time and cost nothing*. To its right it is flat: *more devices cost and save nothing*.

## 5. The learning rate

If the batch doubles and the rate stays, each step is less noisy, but no longer. Half as many steps then go half as far. So the rate must grow. How far?

    rate = rate_max / (1 + B_noise/B)

Well below B_noise this is proportional to B, the *linear scaling rule*. A well-known paper trained on ImageNet with a rate of 0.1 for 256 images, and 8,192 images on 256 GPUs [2]. Which rate did it use?
"""

# %%
guess = "?"

print("guess:", guess, f"  {0.1 * 8192 / 256:.1f}")

# %% [markdown]
r"""
**3.2**, reached over five epochs from a small one, the *warm-up*: at the start the gradient changes fast, and the noise scale is small. The training took an hour, and the accuracy was that of the small batch.

Above B_noise the rule fails: the formula gives rate_max at most.
For Adam, whose steps do not grow with the gradient, a root is used instead: rate times the root of the ratio of batches.

## 6. Time and cost

Now put it together. A step takes 100 ms of computing for a micro-batch of 16 samples on one device, and 20 ms for the all-reduce if there is more than one. S_min is 10,000, B_noise is 4,096.
Which of these is the cheapest, which the fastest: 1, 16, 256 or 4,096 devices?
"""

# %%
guesses = {"cheapest": "?", "fastest": "?"}

rows = []
for devices in (1, 16, 256, 1024, 4096):
    batch = 16 * devices
    steps = 10_000 * (1 + 4096 / batch)
    hours = steps * (100 + 20 * (devices > 1)) / 3.6e6
    rows.append(
        (f"{devices:,}", f"{batch:,}", f"{steps:,.0f}", f"{hours:,.2f}", f"{devices * hours:,.0f}")
    )
print("guesses:", guesses)
table(("devices", "batch", "steps", "hours", "device hours"), rows, "modelled")

# %% [markdown]
r"""
**One** device is the cheapest, **4,096** the fastest, and both are bad choices. From 1 to 16 devices the time falls by a factor of 13, at 1.3 times the cost. From 1,024 to 4,096 it falls by 1.2, at 3.4 times the cost.
256 devices have the batch B_noise: twice the least steps, and twice the least samples. Start from there.

## What to remember

- Global batch = ranks x micro-batch x accumulation. As long as it stays, the optimizer notices nothing.
- B_noise = tr(S)/|G|^2: below it the gradient is mostly noise, and more samples help. Above it they do not.
- Data parallel training can measure it from the gradients before and after the all-reduce.
- Steps = S_min (1 + B_noise/B). At B_noise: twice the least steps, twice the least samples.
- The rate grows with the batch, in proportion below B_noise, and not above. Warm up.
- The noise scale grows during training.

**Next:** the lab, `t3_13_batch_lab`, in your folder `mine/t3_many/`.

## Sources

1. S. McCandlish, J. Kaplan, D. Amodei and others, "An Empirical Model of Large-Batch Training", 2018. <https://arxiv.org/abs/1812.06162>
2. P. Goyal and others, "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", 2017. <https://arxiv.org/abs/1706.02677>
"""
