"""Where things lie: intermediate results in one block of memory, weights in another."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._ir import Buffer, Program

ALIGNMENT = 64


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass
class Plan:
    """Offsets in bytes, and the sizes of both blocks."""

    scratch: dict[Buffer, int] = field(default_factory=dict)
    weights: dict[Buffer, int] = field(default_factory=dict)
    tables: list[Buffer] = field(default_factory=list)
    scratch_size: int = 0
    weights_size: int = 0

    def weights_block(self) -> bytes:
        block = bytearray(self.weights_size)
        for buffer, offset in self.weights.items():
            assert buffer.data is not None
            data = buffer.data.tobytes()
            block[offset : offset + len(data)] = data
        return bytes(block)

    def __str__(self) -> str:
        lines = [f"scratch {self.scratch_size} bytes, weights {self.weights_size} bytes"]
        lines += [f"{buffer} at {offset}" for buffer, offset in self.scratch.items()]
        return "\n".join(lines) + "\n"


def plan(program: Program) -> Plan:
    """Buffers that are not needed at the same time share memory."""
    result = Plan()
    for buffer in program.buffers():
        if buffer.kind == "weight" and buffer.data is not None:
            result.weights[buffer] = result.weights_size
            result.weights_size += _aligned(max(buffer.data.nbytes, 1))
        elif buffer.kind == "table":
            result.tables.append(buffer)
    lives: dict[Buffer, list[int]] = {}
    for place, instruction in enumerate(program.body):
        for value in [*instruction.reads(), *instruction.writes()]:
            if value.buffer and value.buffer.kind == "temp":
                lives.setdefault(value.buffer, [place, place])[1] = place
    size_of = {
        buffer: _aligned(max(buffer.size.maximum(program.maxima), 1) * buffer.dtype.itemsize)
        for buffer in lives
    }
    # Large ones first: they find the fewest places.
    placed: list[Buffer] = []
    for buffer in sorted(lives, key=lambda b: -size_of[b]):
        begin, end = lives[buffer]
        taken = sorted(
            (result.scratch[other], result.scratch[other] + size_of[other])
            for other in placed
            if lives[other][0] <= end and begin <= lives[other][1]
        )
        offset = 0
        for low, high in taken:
            if offset + size_of[buffer] <= low:
                break
            offset = max(offset, high)
        result.scratch[buffer] = offset
        result.scratch_size = max(result.scratch_size, offset + size_of[buffer])
        placed.append(buffer)
    return result
