"""Learns from examples: a heuristic's decisions, or the best that a search has found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._features import Matrix
from ._network import Network


@dataclass(frozen=True)
class Examples:
    """Decisions, and what each is worth."""

    rows: Matrix
    decisions: np.ndarray[tuple[int], np.dtype[np.int64]]
    weights: np.ndarray[tuple[int], np.dtype[np.float32]]


def imitate(
    network: Network,
    examples: Examples,
    *,
    epochs: int,
    seed: int,
    rate: float = 3e-3,
    dropout: float = 0.1,
    decay: float = 1e-3,
    device: str = "cpu",
    report: Callable[[int, float], None] | None = None,
) -> Network:
    """The network after so many epochs of weighted logistic regression."""
    import torch
    from torch import nn

    make_repeatable(seed)
    rows = torch.from_numpy(network.standardized(examples.rows)).to(device)
    wanted = torch.from_numpy(examples.decisions.astype(np.float32)).to(device)
    weights = torch.from_numpy(examples.weights / max(float(examples.weights.mean()), 1e-9))
    weights = weights.to(device)
    net = as_torch(network, dropout).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    net.train()
    for epoch in range(epochs):
        order = torch.randperm(len(rows))
        sum_ = 0.0
        for batch in order.split(512):
            score = net(rows[batch])[:, 0]
            loss = nn.functional.binary_cross_entropy_with_logits(
                score, wanted[batch], weight=weights[batch]
            )
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
