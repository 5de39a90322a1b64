"""Runners-up: how else the policy could decide, for those who compile a source several times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..corpus import Module
from ._network import VARIANTS, Network
from ._rollout import Rollouts

# What is tried to add to scores.
_SHIFTS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


def with_variants(network: Network, rollouts: Rollouts, modules: Sequence[Module]) -> Network:
    """With the shifts of the score that, one after the other, make the smallest of all results
    smaller still. LLVM's own result and the policy's are always there to choose from."""
    shifts = [sign * shift for shift in _SHIFTS for sign in (1, -1)]
    sizes = {
        shift: np.array([each.total for each in rollouts.run(network.shifted(shift), modules)])
        for shift in (0.0, *shifts)
    }
    usual = np.array([rollouts.baseline[module.name].total for module in modules])
    smallest = np.minimum(usual, sizes[0.0])
    chosen = [0.0]
    while len(chosen) < VARIANTS:
        best = min(shifts, key=lambda shift: (np.minimum(smallest, sizes[shift]).sum(), abs(shift)))
        smallest = np.minimum(smallest, sizes[best])
        chosen.append(best)
        shifts.remove(best)
    return replace(network, biases=np.array(chosen, np.float32))
