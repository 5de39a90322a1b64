"""The functions of a program, and the one that calls them. Instructions that do the same to other
memory share a function: the rounds of a loop, or layers of the same shape."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ._builder import Unsupported
from ._emit import Emitter, NotForTypeError
from ._extent import Extent
from ._ir import Buffer, Gemm, Instruction, Kernel, Load, Map, Program, Value, with_loads
from ._names import comment
from ._plan import Plan
from ._types import ctype

# Where a function's number goes: in no text of C++.
_NUMBER = "\0"


@dataclass
class Memory:
    """What a function gets: pointers to where values begin. Values have new buffers with the
    names of parameters."""

    parameters: list[str] = field(default_factory=list)
    arguments: list[Value] = field(default_factory=list)
    _known: dict[tuple[Buffer, Extent], Buffer] = field(default_factory=dict)

    def add(self, name: str, value: Value, *, writable: bool) -> None:
        const = "" if writable else "const "
        self.parameters.append(f"{const}{ctype(value.dtype)} *{name}")
        self.arguments.append(value)

    def read(self, value: Value) -> Value:
        assert value.buffer
        key = value.buffer, value.offset
        if key not in self._known:
            name = f"A{len(self._known)}"
            self._known[key] = replace(value.buffer, name=name)
            self.add(name, value, writable=False)
        return replace(value, buffer=self._known[key], offset=Extent.of(0))

    def written(self, value: Value) -> Value:
        assert value.buffer
        self.add("Y0", value, writable=True)
        return replace(value, buffer=replace(value.buffer, name="Y0"), offset=Extent.of(0))

    def load(self, load: Load) -> Load:
        return Load(self.read(load.value))


def with_parameters(instruction: Instruction) -> tuple[Instruction, Memory]:
    memory = Memory()
    match instruction:
        case Map():
            out = memory.written(instruction.out)
            return replace(
                instruction, out=out, expr=with_loads(instruction.expr, memory.load)
            ), memory
        case Gemm():
            return replace(
                instruction,
                out=memory.written(instruction.out),
                left=memory.read(instruction.left),
                right=memory.read(instruction.right),
                result=with_loads(instruction.result, memory.load),
            ), memory
        case Kernel(outs=outs, ins=ins, scratch=scratch):
            # Its text has names already, of pointers to where buffers begin, and offsets.
            for letter, values in (("Y", outs), ("A", ins), ("S", scratch)):
                for i, value in enumerate(values):
                    if re.search(rf"\b{letter}{i}\b", instruction.code):
                        start = replace(value, offset=Extent.of(0))
                        memory.add(f"{letter}{i}", start, writable=letter != "A")
            return instruction, memory
    raise AssertionError(instruction)


@dataclass
class Functions:
    """`members`: of the model's inputs and outputs, by the names of buffers."""

    program: Program
    plan: Plan
    members: dict[str, str]
    needs: set[str] = field(default_factory=set)
    _numbers: dict[str, int] = field(default_factory=dict)  # by text
    _users: list[list[str]] = field(default_factory=list)  # nodes, by number
    _declared: dict[str, str] = field(default_factory=dict)  # in the caller, by name

    def text(self) -> str:
        calls = [self.call(each) for each in self.program.body]
        texts = [
            f"// {self.title(number)}\n{text.replace(_NUMBER, str(number))}"
            for text, number in self._numbers.items()
        ]
        run = (
            "FN const char *run(const void *Given) noexcept {\n"
            "const Frame &F = *static_cast<const Frame *>(Given);\n(void)F;\n"
            + "".join(self._declared.values())
            + "\n".join(calls)
            + "\nreturn nullptr;\n}\n"
        )
        return "\n".join([*texts, run])

    def title(self, number: int) -> str:
        first, *others = self._users[number]
        more = f"; and {len(others)} more" if others else ""
        return comment(first) + more

    def call(self, instruction: Instruction) -> str:
        """Adds the function, if there is none like it."""
        fails = isinstance(instruction, Kernel) and instruction.fails
        changed, memory = with_parameters(instruction)
        emitter = Emitter(f"Result{_NUMBER}", self.needs)
        try:
            body = emitter.body(changed)
        except NotForTypeError as error:
            raise Unsupported(f"{instruction.node}: {error}") from None
        symbols = [s for s in self.program.symbols if re.search(rf"\b{s}\b", body)]
        parameters = ", ".join([*memory.parameters, *(f"int64_t {s}" for s in symbols)])
        kind, end = ("const char *", "\nreturn nullptr;") if fails else ("void ", "")
        head = f"{emitter.struct}FN {kind}node{_NUMBER}({parameters})"
        text = f"{head} {{\n{body}{end}\n}}\n"
        number = self._numbers.setdefault(text, len(self._numbers))
        if number == len(self._users):
            self._users.append([])
        self._users[number].append(instruction.node)
        arguments = [*map(self.argument, memory.arguments), *map(self.symbol, symbols)]
        call = f"node{number}({', '.join(arguments)})"
        return f"if (const char *Why = {call})\nreturn Why;" if fails else f"{call};"

    # Arguments, as variables of the caller.

    def symbol(self, name: str) -> str:
        self._declared.setdefault(name, f"const int64_t {name} = F.extents.{name[2:]};\n")
        return name

    def argument(self, value: Value) -> str:
        buffer, offset = value.buffer, value.offset
        assert buffer
        if buffer.kind == "table":
            start = f"Table{self.plan.tables.index(buffer)}"
        else:
            start = buffer.name
            self._declared.setdefault(start, self.declaration(buffer))
        for name in sorted(offset.symbols()):
            self.symbol(name)
        return start if offset.constant == 0 else f"{start} + {offset}"

    def declaration(self, buffer: Buffer) -> str:
        kind = ctype(buffer.dtype)
        const = "const " if buffer.kind in ("input", "weight") else ""
        if buffer.kind in ("input", "output"):
            place = f"F.{'in' if buffer.kind == 'input' else 'out'}.{self.members[buffer.name]}"
        elif buffer.kind == "weight":
            place = f"reinterpret_cast<const {kind} *>(F.weights + {self.plan.weights[buffer]})"
        else:
            place = f"reinterpret_cast<{kind} *>(F.scratch + {self.plan.scratch[buffer]})"
        return f"{const}{kind} *const {buffer.name} = {place};\n"
