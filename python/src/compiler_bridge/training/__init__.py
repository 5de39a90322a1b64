"""Policies that learn: `cbridge train`, and parts for trainings of one's own."""

from ._checkpoint import Point, State, load, save
from ._events import Events
from ._evolution import Evolution
from ._imitation import Choices, Examples, imitate
from ._network import Network
from ._onnx import Graph

__all__ = [
    "Choices",
    "Events",
    "Evolution",
    "Examples",
    "Graph",
    "Network",
    "Point",
    "State",
    "imitate",
    "load",
    "save",
]
