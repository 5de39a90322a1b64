"""LSTM, GRU and RNN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._builder import Builder
from .._extent import Extent
from .._ir import Value
from .._registry import Node, operator
from .._types import FLOAT, literal
from ._checks import need_rank, need_shape, need_type


@dataclass(frozen=True)
class _Kind:
    """`peephole`, `cell`: the inputs of these, if the operator has them."""

    gates: int
    activations: tuple[str, ...]
    cell: int | None = None
    peephole: int | None = None


_KINDS = {
    "LSTM": _Kind(4, ("Sigmoid", "Tanh", "Tanh"), cell=6, peephole=7),
    "GRU": _Kind(3, ("Sigmoid", "Tanh")),
    "RNN": _Kind(1, ("Tanh",)),
}
# Activations of kernels/activations.inc, with what they are given if the model says nothing.
_ACTIVATIONS: dict[str, tuple[str, tuple[float, ...]]] = {
    "affine": ("AffineAct", (1.0, 0.0)),
    "elu": ("EluAct", (1.0,)),
    "hardsigmoid": ("HardSigmoidAct", (0.2, 0.5)),
    "leakyrelu": ("LeakyReluAct", (0.01,)),
    "relu": ("ReluAct", ()),
    "scaledtanh": ("ScaledTanhAct", (1.0, 1.0)),
    "sigmoid": ("SigmoidAct", ()),
    "softplus": ("SoftplusAct", ()),
    "softsign": ("SoftsignAct", ()),
    "tanh": ("TanhAct", ()),
    "thresholdedrelu": ("ThresholdedReluAct", (1.0,)),
}
_DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


@operator(*_KINDS)
def _recurrent(g: Builder, node: Node) -> list[Value]:
    return _Recurrent(g, node).translate()


class _Recurrent:
    def __init__(self, g: Builder, node: Node) -> None:
        self.g, self.node, self.kind = g, node, _KINDS[node.operator]
        x, w, r = node[0], node[1], node[2]
        need_rank(g, "X", x, 3)
        need_rank(g, "R", r, 3)
        if x.dtype != FLOAT:
            g.fail(f"elements of type {x.dtype} are not supported")
        hidden = r.shape[-1].constant
        if hidden is None or node.attribute("hidden_size", hidden) != hidden:
            g.fail(f"hidden_size is not that of the weights, {r.shape[-1]}")
        self.batch_first = bool(node.attribute("layout", 0))
        self.steps, self.batch = (x.shape[1], x.shape[0]) if self.batch_first else x.shape[:2]
        self.input, self.hidden = x.shape[2], Extent.of(hidden)
        direction = node.attribute("direction", "forward")
        if direction not in _DIRECTIONS:
            g.fail(f"direction {direction!r}")
        self.directions = _DIRECTIONS[direction]
        self.reverse = [direction == "reverse", True][: self.directions]
        self.ins: list[Value] = []
        self.check(w, r)
        self.lengths = self.known_lengths()

    def check(self, w: Value, r: Value) -> None:
        """The kernels trust these."""
        g, node, d, hidden = self.g, self.node, self.directions, self.hidden
        rows = hidden * self.kind.gates
        need_shape(g, "W", w, d, rows, self.input)
        need_shape(g, "R", r, d, rows, hidden)
        need_shape(g, "B", node.given(3), d, rows * 2)
        need_shape(g, "sequence_lens", node.given(4), self.batch)
        need_type(g, "sequence_lens", node.given(4), "int32")
        state = (self.batch, d, hidden) if self.batch_first else (d, self.batch, hidden)
        need_shape(g, "initial_h", node.given(5), *state)
        if self.kind.cell:
            need_shape(g, "initial_c", node.given(self.kind.cell), *state)
        if self.kind.peephole:
            need_shape(g, "P", node.given(self.kind.peephole), d, hidden * 3)
        names = ["X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"]
        for i, name in enumerate(names[: len(node.inputs)]):
            if name != "sequence_lens":
                need_type(g, name, node.given(i), FLOAT.name)

    def known_lengths(self) -> Value | None:
        """In memory; nothing if all sequences have all steps."""
        value, steps = self.node.given(4), self.steps.constant
        if value is None:
            return None
        if value.constant is not None and steps is not None:
            if ((value.constant < 0) | (value.constant > steps)).any():
                self.g.fail(f"sequence_lens: a length is not from 0 to {steps}")
            if (value.constant == steps).all():
                return None
        return self.g.contiguous(value)

    def check_lengths(self) -> str:
        """The same when the model runs."""
        if self.lengths is None:
            return ""
        message = self.g.message("sequence_lens: a length is not from 0 to the number of steps")
        return (
            f"for (int64_t I = 0; I < {self.batch}; ++I) {{\n"
            f"const int64_t Length = ({self.operand(self.lengths)})[I];\n"
            f"if (Length < 0 || Length > {self.steps})\nreturn {message};\n}}\n"
        )

    def translate(self) -> list[Value]:
        node, gates, rows = self.node, self.kind.gates, self.batch * self.hidden
        d = Extent.of(self.directions)
        if self.batch_first:
            all_steps = (self.batch, self.steps, d, self.hidden)
            state = (self.batch, d, self.hidden)
        else:
            all_steps = (self.steps, d, self.batch, self.hidden)
            state = (d, self.batch, self.hidden)
        shapes = [all_steps, state, state][: 3 if self.kind.cell else 2]
        wanted = [i for i in range(len(shapes)) if node.wants(i)]
        names = {i: f"Y{place}" for place, i in enumerate(wanted)}
        functions = self.activations()
        code = "\n".join(self.direction(i, names, functions[i]) for i in range(self.directions))
        made = self.g.kernel(
            node.operator,
            [(FLOAT, shapes[i]) for i in wanted],
            self.ins,
            self.check_lengths() + code,
            needs=[node.operator.lower(), "activations"],
            fails=self.lengths is not None,
            scratch=[(FLOAT, ((self.steps * gates + 3) * rows,))],
        )
        results = dict(zip(wanted, made, strict=True))
        return [results.get(i, node[0]) for i in range(len(shapes))]

    # Operands.

    def operand(self, value: Value | None, offset: Extent | int = 0) -> str:
        """Its place, as C++ has it in the kernel's text."""
        if value is None:
            return "nullptr"
        value = self.g.contiguous(value)
        known = [each for each in self.ins if each is value]
        if not known:
            self.ins.append(value)
        place = value.offset + offset
        name = f"A{next(i for i, each in enumerate(self.ins) if each is value)}"
        return name if place == Extent.of(0) else f"{name} + {place.factor()}"

    def part(self, i: int, direction: int, begin: int, end: int) -> Value | None:
        """Columns of a direction's row of input i, [directions, columns]."""
        value, g = self.node.given(i), self.g
        if value is None:
            return None
        if value.constant is not None:
            return g.constant(value.constant[direction, begin:end], weight=value.weight)
        value = g.stored(value)
        row, column = value.strides
        offset = row * direction + column * begin
        return g.view(value, (Extent.of(end - begin),), (column,), offset)

    def turned(self, i: int, direction: int) -> Value:
        """A direction's matrix of input i, transposed."""
        value, g = self.node[i], self.g
        if value.constant is not None:
            array = np.ascontiguousarray(value.constant[direction].T)
            return g.constant(array, weight=value.weight)
        value = g.stored(value)
        strides = (value.strides[2], value.strides[1])
        shape = (value.shape[2], value.shape[1])
        return g.view(value, shape, strides, value.strides[0] * direction)

    def sum(self, left: Value, right: Value) -> Value:
        if left.constant is not None and right.constant is not None:
            return self.g.constant(left.constant + right.constant, weight=left.weight)
        return self.g.map("add", left, right)

    def biases(self, direction: int) -> tuple[Value | None, Value | None]:
        """Of all gates, and what GRU adds to the state's product before it is reset."""
        columns = self.kind.gates * (self.hidden.constant or 0)
        own = self.part(3, direction, 0, columns)
        states = self.part(3, direction, columns, 2 * columns)
        if own is None or states is None:
            return None, None
        if not self.linear_before_reset:
            return self.sum(own, states), None
        last = columns - columns // 3
        late = self.part(3, direction, columns + last, 2 * columns)
        if own.constant is not None and states.constant is not None:
            early = states.constant.copy()
            early[last:] = 0
            return self.g.constant(own.constant + early, weight=own.weight), late
        mask = np.ones(columns, np.float32)
        mask[last:] = 0
        return self.sum(own, self.g.map("mul", states, self.g.constant(mask))), late

    @property
    def linear_before_reset(self) -> bool:
        return self.node.operator == "GRU" and bool(self.node.attribute("linear_before_reset", 0))

    # Text.

    def direction(self, direction: int, names: dict[int, str], functions: str) -> str:
        node, d, hidden = self.node, self.directions, self.hidden
        bias, late = self.biases(direction)
        if self.batch_first:
            apart, stride = hidden * direction, hidden * d
            y_step, y_batch = hidden * d, self.steps * d * hidden
        else:
            apart, stride = self.batch * hidden * direction, hidden
            y_step, y_batch = d * self.batch * hidden, hidden
        cell, peephole = self.kind.cell, self.kind.peephole
        fields = {
            "Steps": self.steps,
            "Batch": self.batch,
            "Input": self.input,
            "X": self.operand(node[0]),
            "W": self.operand(self.turned(1, direction)),
            "R": self.operand(self.turned(2, direction)),
            "Bias": self.operand(bias),
            "RecurrentBias": self.operand(late),
            "StartH": self.operand(node.given(5), apart),
            "StartC": self.operand(node.given(cell) if cell else None, apart),
            "Lengths": self.operand(self.lengths),
            "Peephole": self.operand(
                self.part(peephole, direction, 0, 3 * (hidden.constant or 0)) if peephole else None
            ),
            "Y": _place(names, 0, apart),
            "EndH": _place(names, 1, apart),
            "EndC": _place(names, 2, apart),
            "YStep": y_step,
            "YBatch": y_batch,
            "StateStride": stride,
            "Scratch": "S0",
            "Clip": self.clip(),
            "Reverse": _flag(self.reverse[direction]),
            "BatchFirst": _flag(self.batch_first),
            "InputForget": _flag(node.attribute("input_forget", 0)),
            "LinearBeforeReset": _flag(self.linear_before_reset),
        }
        lines = [f"A.{name} = {text};" for name, text in fields.items()]
        body = "\n".join(lines)
        call = f"{node.operator.lower()}(A, {functions});"
        return f"{{\nRecurrence<{hidden}> A = {{}};\n{body}\n{call}\n}}"

    def clip(self) -> str:
        clip = self.node.attribute("clip")
        return "__builtin_inff()" if clip is None else literal(np.float32(clip), FLOAT)

    def activations(self) -> list[str]:
        """For each direction, the arguments of the kernel."""
        count = len(self.kind.activations)
        names = self.node.attribute("activations") or list(self.kind.activations) * self.directions
        if len(names) != count * self.directions:
            self.g.fail(f"activations: {len(names)}, not {count} for each direction")
        alphas = list(self.node.attribute("activation_alpha", ()))
        betas = list(self.node.attribute("activation_beta", ()))
        texts = [self.activation(name, alphas, betas) for name in names]
        return [", ".join(texts[i : i + count]) for i in range(0, len(texts), count)]

    def activation(self, name: str, alphas: list[float], betas: list[float]) -> str:
        """Takes its numbers from the fronts of both lists."""
        if name.lower() not in _ACTIVATIONS:
            self.g.fail(f"activation {name!r} is not supported")
        struct, defaults = _ACTIVATIONS[name.lower()]
        given: Sequence[list[float]] = (alphas, betas)
        numbers = [
            source.pop(0) if source else default
            for source, default in zip(given, defaults, strict=False)
        ]
        return f"{struct}{{{', '.join(literal(np.float32(n), FLOAT) for n in numbers)}}}"


def _flag(value: object) -> str:
    return "true" if value else "false"


def _place(names: dict[int, str], i: int, offset: Extent) -> str:
    if i not in names:
        return "nullptr"
    return names[i] if offset == Extent.of(0) else f"{names[i]} + {offset.factor()}"
