"""Models and clusters by name, to start from.

Shapes are those of the models' papers and cards; a test holds their parameters against what was
published.  Links between nodes: one adapter a GPU, HDR 25 GB/s, NDR 50 GB/s one way.
"""

from __future__ import annotations

from collections.abc import Mapping

from .cluster import Cluster
from .model import Model, PlanError

_LLAMA = {"vocabulary": 128256, "sequence": 8192, "kv_heads": 8, "gated": True}

MODELS: Mapping[str, Model] = {
    # arXiv 2104.04473, table 1, and arXiv 2205.05198, table 3
    "Megatron 22B": Model(48, 6144, 64),
    "GPT-3 175B": Model(96, 12288, 96),
    "Megatron 530B": Model(105, 20480, 128),
    "Megatron 1T": Model(128, 25600, 160),
    # arXiv 2407.21783, table 3, and its models' cards
    "Llama 3 8B": Model(32, 4096, 32, ffn=14336, **_LLAMA),  # type: ignore[arg-type]
    "Llama 3 70B": Model(80, 8192, 64, ffn=28672, **_LLAMA),  # type: ignore[arg-type]
    "Llama 3 405B": Model(126, 16384, 128, ffn=53248, **_LLAMA),  # type: ignore[arg-type]
    # arXiv 2401.04088
    "Mixtral 8x7B": Model(32, 4096, 32, 32000, 4096, 8, 14336, True, 8, 2),
}

#: GPU -> GB/s between nodes for each GPU, one way.
GPUS: Mapping[str, float] = {"A100 80GB": 25.0, "H100 SXM": 50.0, "B200": 50.0}


def cluster_of(gpu: str, gpus: int) -> Cluster:
    """A cluster of nodes of eight with one adapter a GPU.  Raises PlanError with the known ones."""
    if gpu not in GPUS:
        raise PlanError(f"no preset {gpu!r}: there are {', '.join(GPUS)}.")
    return Cluster(gpu, gpus, nic_gbs=GPUS[gpu])
