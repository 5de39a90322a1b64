"""A learning curve to look at, as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from ._checkpoint import Point

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 112, 24, 40
_STYLE = (
    "text{font:12px sans-serif;fill:#444}.grid{stroke:#ddd}.zero{stroke:#888}"
    ".line{fill:none;stroke-width:2}.validation{stroke:#1f6feb}.training{stroke:#aaa}"
)


def curve(history: Sequence[Point], about: str) -> str:
    """How text changes with the steps, in percent of what LLVM's heuristic makes; the best of the
    validation modules has a dot."""
    lines = {
        "validation": [-100 * point.validation for point in history],
        "training": [-100 * point.training for point in history],
    }
    low, high, step = _ticks(
        min(0.0, *map(min, lines.values())), max(0.0, *map(max, lines.values()))
    )
    last = max(history[-1].step, 1)

    def x(at: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * at / last, 1)

    def y(value: float) -> float:
        return round(_TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="16">{escape(about)}</text>',
        *_grid(low, high, step, x(0), x(last), y),
        f'<text x="{x(0)}" y="{_HEIGHT - 20}" text-anchor="middle">0</text>',
        f'<text x="{x(last)}" y="{_HEIGHT - 20}" text-anchor="middle">{last}</text>',
        f'<text x="{x(last / 2)}" y="{_HEIGHT - 6}" text-anchor="middle">steps</text>',
    ]
    for name, values in lines.items():
        points = " ".join(
            f"{x(point.step)},{y(value)}" for point, value in zip(history, values, strict=True)
        )
        parts.append(f'<polyline class="line {name}" points="{points}"/>')
        parts.append(f'<text x="{x(last) + 6}" y="{y(values[-1]) + 4}">{name}</text>')
    best = max(history, key=lambda point: (point.validation, -point.step))
    parts.append(
        f'<circle cx="{x(best.step)}" cy="{y(-100 * best.validation)}" r="4" fill="#1f6feb"/>'
    )
    return "\n".join([*parts, "</svg>", ""])


def _ticks(low: float, high: float) -> tuple[float, float, float]:
    """Round numbers around all values, and the step between them."""
    size = max(high - low, 0.1) / 4
    unit = 10.0 ** math.floor(math.log10(size))
    step = unit * next(each for each in (1, 2, 5, 10) if each * unit >= size)
    return math.floor(low / step) * step, max(math.ceil(high / step), 0) * step + step / 4, step


def _grid(
    low: float, high: float, step: float, left: float, right: float, y: Callable[[float], float]
) -> list[str]:
    parts = []
    for i in range(round((high - low) // step) + 1):
        value = round(low + i * step, 6) + 0.0
        kind = "grid" if value else "zero"
        parts.append(
            f'<line class="{kind}" x1="{left}" x2="{right}" y1="{y(value)}" y2="{y(value)}"/>'
        )
        label = f"{value:+g} %".replace("-", "−") if value else "LLVM"  # noqa: RUF001
        parts.append(f'<text x="{left - 6}" y="{y(value) + 4}" text-anchor="end">{label}</text>')
    return parts
