"""Learns from examples: a heuristic's decisions, or the best that a search has found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._features import Matrix
from ._network import Network

_BATCH = 512
# Steps that it takes to do as a heuristic does.
_EPOCHS, _FEWEST_STEPS = 12, 200


@dataclass(frozen=True)
class Examples:
    """Decisions, and what each is worth: yes (1), which a score above 0 means, or no (0)."""

    rows: Matrix
    decisions: np.ndarray[tuple[int], np.dtype[np.int64]]
    weights: np.ndarray[tuple[int], np.dtype[np.float32]]

    def loss(self, scores: Any, batch: Any) -> Any:
        """Of PyTorch's scores for these examples: weighted logistic regression."""
        import torch
        from torch import nn

        wanted = torch.from_numpy(self.decisions.astype(np.float32))[batch].to(scores.device)
        weights = _weights(self.weights)[batch].to(scores.device)
        return nn.functional.binary_cross_entropy_with_logits(scores, wanted, weight=weights)


@dataclass(frozen=True)
class Choices:
    """Decisions among several candidates, each of which has a row and gets a score: the index of
    the one that is taken, which has the highest of those that are allowed."""

    rows: np.ndarray[tuple[int, int, int], np.dtype[np.float32]]
    allowed: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
    decisions: np.ndarray[tuple[int], np.dtype[np.int64]]
    weights: np.ndarray[tuple[int], np.dtype[np.float32]]

    def loss(self, scores: Any, batch: Any) -> Any:
        """Of PyTorch's scores for these examples: weighted cross-entropy of the candidates."""
        import torch
        from torch import nn

        allowed = torch.from_numpy(self.allowed)[batch].to(scores.device)
        wanted = torch.from_numpy(self.decisions)[batch].to(scores.device)
        weights = _weights(self.weights)[batch].to(scores.device)
        possible = scores.masked_fill(~allowed, -1e9)
        losses = nn.functional.cross_entropy(possible, wanted, reduction="none")
        return (losses * weights).mean()


def enough_epochs(examples: int) -> int:
    """Where there are few of them, an epoch is but a few steps."""
    batches = -(-max(examples, 1) // _BATCH)
    return max(_EPOCHS, -(-_FEWEST_STEPS // batches))


def _weights(values: np.ndarray[tuple[int], np.dtype[np.float32]]) -> Any:
    """Their mean is 1."""
    import torch

    return torch.from_numpy(values / max(float(values.mean()), 1e-9))


def imitate(
    network: Network,
    examples: Examples | Choices,
    *,
    epochs: int,
    seed: int,
    rate: float = 3e-3,
    dropout: float = 0.2,
    decay: float = 1e-2,
    device: str = "cpu",
    report: Callable[[int, float], None] | None = None,
) -> Network:
    """The network after so many epochs."""
    import torch

    make_repeatable(seed)
    # Of either kind: features are the last axis.
    features: Any = examples.rows
    rows = torch.from_numpy(network.standardized(features)).to(device)
    net = as_torch(network, dropout).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    net.train()
    for epoch in range(epochs):
        order = torch.randperm(len(rows))
        sum_ = 0.0
        for batch in order.split(_BATCH):
            loss = examples.loss(net(rows[batch])[..., 0], batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sum_ += float(loss.detach()) * len(batch)
        schedule.step()
        if report:
            report(epoch, sum_ / max(len(rows), 1))
    return from_torch(network, net)


def make_repeatable(seed: int) -> None:
    """What PyTorch computes on a processor from now on."""
    import torch

    torch.manual_seed(seed)
    # Sums of several threads depend on their number.
    torch.set_num_threads(1)


def as_torch(network: Network, dropout: float = 0.0) -> Any:
    """Layers of PyTorch with the network's weights; their input is standardized."""
    import torch
    from torch import nn

    parts: list[Any] = []
    for place, (weights, bias) in enumerate(network.layers):
        layer = nn.Linear(*weights.shape)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weights.T.copy()))
            layer.bias.copy_(torch.from_numpy(bias.copy()))
        if place:
            parts += [nn.ReLU(), nn.Dropout(dropout)]
        parts.append(layer)
    return nn.Sequential(*parts)


def from_torch(network: Network, net: Any) -> Network:
    """The network with weights of PyTorch's layers."""
    parts: Sequence[Any] = [part for part in net if hasattr(part, "weight")]
    values = [
        array.detach().cpu().numpy().T.astype(np.float32).ravel()
        for part in parts
        for array in (part.weight, part.bias)
    ]
    return network.with_parameters(np.concatenate(values))
