"""Graphs inside of nodes: the branches of an If, the body of a Loop."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

from ._builder import Builder, Unsupported
from ._ir import Value

Scope = MutableMapping[str, Value]
# What translates a node: its protobuf, where names are found, and what it is inside of.
Translate = Callable[[Any, Scope, str], None]


class Subgraph:
    """Called with its inputs it gives its outputs. What does not depend on inputs is translated
    once, however often it is called."""

    def __init__(
        self,
        g: Builder,
        graph: Any,
        initializers: dict[str, Value],
        outer: Scope,
        where: str,
        translate: Translate,
    ) -> None:
        self.inputs = [each.name for each in graph.input]
        self.outputs = [each.name for each in graph.output]
        self._nodes = list(graph.node)
        self._scope: ChainMap[str, Value] = ChainMap(initializers, outer)
        self._builder, self._where, self._translate = g, where, translate
        self._entered = False

    def __call__(self, inputs: Sequence[Value], part: str) -> list[Value]:
        """`part`: which branch or round it is, for messages."""
        where = f"{self._where}, {part}"
        self._enter(where)
        scope = self._scope.new_child(dict(zip(self.inputs, inputs, strict=True)))
        for node in self._nodes:
            self._translate(node, scope, where)
        self._builder.node = self._where
        for name in self.outputs:
            if name not in scope:
                raise Unsupported(f"{where}: nothing computes its output {name!r}")
        return [scope[name] for name in self.outputs]

    def _enter(self, where: str) -> None:
        if self._entered:
            return
        self._entered = True
        varying, rest = set(self.inputs), []
        for node in self._nodes:
            # A graph inside may use what its node does not name.
            if any(each.HasField("g") for each in node.attribute) or varying & {*node.input}:
                varying |= {*node.output}
                rest.append(node)
            else:
                self._translate(node, self._scope, where)
        self._nodes = rest
