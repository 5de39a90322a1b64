"""Proximal policy optimization: what was drawn and turned out well becomes more probable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._imitation import as_torch, from_torch, make_repeatable
from ._network import Network, Vector
from ._sampling import Sample

# So many bytes saved by one decision are worth 1; more than the most count as that. Few decisions
# cost or save hundreds, but if those counted little, what often saves some bytes and sometimes
# costs many would look good.
_UNIT, _MOST = 16.0, 32.0
# After so many steps the rate is half of what it was.
_HALF = 20


@dataclass(frozen=True)
class Ppo:
    rate: float = 1e-3
    epochs: int = 4
    clip: float = 0.2
    """How far a probability may move in one step, as a share of itself."""
    steady: float = 0.05
    """How much decisions that nobody has explored resist."""
    device: str = "cpu"

    def update(
        self, network: Network, samples: Sequence[Sample], credits_: Sequence[Vector], step: int
    ) -> Network:
        """The network after a step; each moves it less than the one before."""
        import torch

        make_repeatable(step)
        rows = np.concatenate([network.standardized(each.rows) for each in samples])
        worth = np.clip(np.concatenate(credits_) / _UNIT, -_MOST, _MOST)
        explored = np.concatenate([each.explored for each in samples])
        if not explored.any():
            return network
        taken = np.concatenate([each.decisions for each in samples])
        likely = np.concatenate([each.likely for each in samples])
        scores = np.concatenate([each.scores for each in samples])

        def tensor(array: object) -> torch.Tensor:
            return torch.from_numpy(np.asarray(array, np.float32)).to(self.device)

        inputs, advantage, before = tensor(rows), tensor(worth), tensor(scores)
        is_explored, inlined = tensor(explored), tensor(taken)
        # Of the draws, if they made it more probable than the network does: what was drawn only
        # because draws were warm, and turned out badly, is beyond the clip and moves nothing. It is
        # improbable as it is. Where draws were cold, what turned out well would be beyond it.
        drawn = np.where(taken == 1, likely, 1 - likely)
        own = 1 / (1 + np.exp(np.clip(np.where(taken == 1, -scores, scores), -50, 50)))
        old = tensor(np.maximum(drawn, own))
        net = as_torch(network).to(self.device)
        optimizer = torch.optim.Adam(net.parameters(), lr=self.rate / (1 + step / _HALF))
        for _ in range(self.epochs):
            for part in torch.randperm(len(inputs)).split(4096):
                score = net(inputs[part])[:, 0]
                now = torch.sigmoid(torch.where(inlined[part] > 0, score, -score))
                ratio = now / old[part]
                clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
                gain = torch.minimum(ratio * advantage[part], clipped * advantage[part])
                was, is_ = torch.sigmoid(before[part]), torch.sigmoid(score)
                was, is_ = was.clamp(1e-4, 1 - 1e-4), is_.clamp(1e-4, 1 - 1e-4)
                moved = was * (was / is_).log() + (1 - was) * ((1 - was) / (1 - is_)).log()
                share = is_explored[part].mean().clamp(min=1e-3)
                loss = -(gain * is_explored[part]).mean() / share + self.steady * moved.mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return from_torch(network, net)
