"""Graphs inside of nodes: the branches of an If, the body of a Loop."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ._builder import Builder, Unsupported
from ._ir import Value

Scope = MutableMapping[str, Value]
# What translates a node: its protobuf, where names are found, and what it is inside of.
Translate = Callable[[Any, Scope, str], None]


@dataclass
class Body:
    """What stays the same of a graph, however often the node that it belongs to is translated."""

    graph: Any
    read: Callable[[Any], dict[str, Value]]  # its initializers

    @cached_property
    def nodes(self) -> list[Any]:
        return list(self.graph.node)

    @cached_property
    def initializers(self) -> dict[str, Value]:
        return self.read(self.graph)


class Subgraph:
    """Called with its inputs it gives its outputs. What does not depend on inputs is translated
    once, when it is called for the first time."""

    def __init__(
        self, g: Builder, body: Body, outer: Scope, where: str, translate: Translate
    ) -> None:
        self.inputs = [each.name for each in body.graph.input]
        self.outputs = [each.name for each in body.graph.output]
        self._builder, self._body, self._outer = g, body, outer
        self._where, self._translate = where, translate
        self._entered: tuple[ChainMap[str, Value], list[Any]] | None = None

    def __call__(self, inputs: Sequence[Value], part: str) -> list[Value]:
        """`part`: which branch or round it is, for messages."""
        where = f"{self._where}, {part}"
        if self._entered is None:
            self._entered = self._enter(where)
        common, nodes = self._entered
        scope = common.new_child(dict(zip(self.inputs, inputs, strict=True)))
        for node in nodes:
            self._translate(node, scope, where)
        self._builder.node = self._where
        for name in self.outputs:
            if name not in scope:
                raise Unsupported(f"{where}: nothing computes its output {name!r}")
        return [scope[name] for name in self.outputs]

    def _enter(self, where: str) -> tuple[ChainMap[str, Value], list[Any]]:
        """What all calls have in common, and the nodes that are left."""
        common = ChainMap(dict(self._body.initializers), self._outer)
        varying, rest = set(self.inputs), []
        for node in self._body.nodes:
            # A graph inside may use what its node does not name.
            if any(each.HasField("g") for each in node.attribute) or varying & {*node.input}:
                varying |= {*node.output}
                rest.append(node)
            else:
                self._translate(node, common, where)
        return common, rest
