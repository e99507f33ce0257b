"""A small course on disk: one unit, its sources, nothing built yet."""

from pathlib import Path

import pytest

LESSON = '''# %% [markdown]
r"""
# Threads
"""

# %%
import os

print(os.environ["WARPWISE_BACKEND"])

# %%
total = sum(range(10))
total
'''

LAB = '''# %% [markdown]
r"""
# Lab
"""

# %% double tags=["exercise"]
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    secret = x + x
    return secret
    ### END SOLUTION


# %% tags=["solution"]
print("secret of the answer")

# %% tags=["check"]
print(double)
'''


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The root of a course with the sources of one unit."""
    for tree, name, text in (
        ("tiers", "t1_01_threads.py", LESSON),
        ("solutions", "t1_01_threads_lab.py", LAB),
    ):
        folder = tmp_path / tree / "t1_kernels" / "source"
        folder.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    return tmp_path
