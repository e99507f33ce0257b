# %% [markdown]
r"""
# stub
"""
