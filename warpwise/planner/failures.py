"""What failures cost a run: the time between them, when to save, what share of time is useful.

Failures come at random with a mean time between them (exponential); each costs a restart and the
work since the last checkpoint.  J. W. Young, CACM 17, 1974; J. T. Daly, FGCS 22, 2006.
"""

from __future__ import annotations

import math

from ..fabric.inputs import positive, real, whole
from .model import PlanError

_LARGEST = 600.0  # exponent: beyond it no segment is ever done


def run_mtbf(part_mtbf: float, parts: int) -> float:
    """Mean time between failures of a run that any of its parts stops, in the unit of the part's.

    Rates add up: n parts fail n times as often.
    """
    positive(PlanError, part_mtbf=part_mtbf)
    whole(PlanError, parts=parts)
    return part_mtbf / parts


def segment_seconds(work: float, save: float, restart: float, mtbf: float) -> float:
    """Expected time of `work` seconds and the checkpoint behind them, failures included.

    M e^(R / M) (e^((tau + delta) / M) - 1), Daly's cost of one segment; infinite beyond floats.
    """
    positive(PlanError, work=work, mtbf=mtbf)
    real(PlanError, save=save, restart=restart)
    if (restart + work + save) / mtbf > _LARGEST:
        return math.inf
    return mtbf * math.exp(restart / mtbf) * math.expm1((work + save) / mtbf)


def useful_share(work: float, save: float, restart: float, mtbf: float) -> float:
    """Share of the time that becomes progress, with a checkpoint after every `work` seconds."""
    return work / segment_seconds(work, save, restart, mtbf)


def young_interval(save: float, mtbf: float) -> float:
    """sqrt(2 delta M): first order, for a checkpoint much shorter than the time between failures.

    Restarts do not come in: they cost the same however often one saves.
    """
    positive(PlanError, save=save, mtbf=mtbf)
    return math.sqrt(2 * save * mtbf)


def daly_interval(save: float, mtbf: float) -> float:
    """Daly's estimate of higher order; the time between failures itself from delta = 2 M on."""
    positive(PlanError, save=save, mtbf=mtbf)
    if save >= 2 * mtbf:
        return mtbf
    part = save / (2 * mtbf)
    return young_interval(save, mtbf) * (1 + math.sqrt(part) / 3 + part / 9) - save


def best_interval(save: float, mtbf: float) -> float:
    """The work between checkpoints that costs least: (1 - tau / M) e^((tau + delta) / M) = 1.

    Solved by bisection to the last digits; tau lies between 0 and M.
    """
    positive(PlanError, save=save, mtbf=mtbf)
    low, high = 0.0, 1.0  # of tau / M
    for _ in range(60):
        middle = (low + high) / 2
        if middle == high:  # no number is left between: a checkpoint of very many M
            break
        if math.log1p(-middle) + middle + save / mtbf > 0:
            low = middle
        else:
            high = middle
    return low * mtbf
