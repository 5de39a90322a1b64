"""The plots of a report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from . import _words
from ._result import METRIC, METRICS, Score
from ._svg import (
    WIDTH,
    circle,
    line,
    linear,
    picture,
    quantile,
    rectangle,
    tag,
    text,
    ticks,
    title,
)

_LEFT, _RIGHT = 42, WIDTH - 10


def color(change: float) -> str:
    """The class of what is better, worse, or the same."""
    return "better" if change < 0 else "worse" if change > 0 else "same"


def tick_label(value: float, step: float) -> str:
    """A percentage with as many digits as its neighbours differ in."""
    digits = max(0, -math.floor(math.log10(step * 100) + 1e-9)) if step > 0 else 0
    return _words.percent(value, digits)


def _step(marks: Sequence[float]) -> float:
    return marks[1] - marks[0] if len(marks) > 1 else abs(marks[0]) or 0.01


def intervals(score: Score) -> str:
    """Each metric's change in total, with its interval, and that of the geometric mean."""
    found = [(m, score.comparisons[m.key]) for m in METRICS if m.key in score.comparisons]
    edges = [
        edge
        for _, each in found
        for change in (each.total, each.mean)
        for edge in (change.value, 0.0, *((change.low, change.high) if each.has_interval else ()))
    ]
    low, high = min(edges), max(edges)
    margin = (high - low) * 0.06 or 0.01
    start, row, top = 152, 40, 2
    place = linear(low - margin, high + margin, start, _RIGHT)
    bottom = top + row * len(found)
    shapes = []
    marks = ticks(low - margin, high + margin, 3)
    for mark in marks:
        shapes.append(line(place(mark), top, place(mark), bottom, "grid"))
        shapes.append(text(place(mark), bottom + 17, tick_label(mark, _step(marks)), "", "middle"))
    shapes.append(line(place(0), top, place(0), bottom, "axis"))
    for i, (metric, each) in enumerate(found):
        y = top + row * i
        shapes.append(text(0, y + 24, metric.title, "label"))
        for change, offset, kind, what in (
            (each.total, 14, "dot", "total"),
            (each.mean, 26, "ring", "geometric mean"),
        ):
            told = f"{metric.title}, {what}: {_words.percent(change.value)}"
            drawn, paint = [circle(place(change.value), y + offset, 4, kind)], "same"
            if each.has_interval:
                told += f", 95 % interval {_words.interval(change, each)}"
                start_x, end_x = place(change.low), place(change.high)
                drawn.insert(0, line(start_x, y + offset, end_x, y + offset, "whisker"))
                paint = _interval_color(change.low, change.high)
            shapes.append(tag("g", title(told), *drawn, class_=paint))
    return picture(bottom + 24, "Change by metric, with 95 % intervals", shapes)


def _interval_color(low: float, high: float) -> str:
    return "better" if high < 0 else "worse" if low > 0 else "same"


def histogram(changes: Sequence[float], what: str) -> str:
    """How many modules change by how much. The outermost bars hold all that is further out."""
    low, high = -min(quantile(changes, 0.02), 0.0), max(quantile(changes, 0.98), 0.0)
    step = _step(ticks(0, max(low + high, 1e-4), 20))
    # Bars between multiples of the step: so many to the left and right of those that do not change.
    left, right = (max(1, math.ceil(reach / step - 1e-9)) for reach in (low, high))
    counts = Counter(min(max(_bar_of(change, step), -left), right) for change in changes)
    top, bottom = 22, 190
    height = linear(0, max(counts.values()), 0, bottom - top)
    unit = (_RIGHT - _LEFT) / (left + right + 1)
    shapes = []
    for mark in ticks(0, max(counts.values()), 4):
        if mark == int(mark):
            y = bottom - height(mark)
            shapes.append(line(_LEFT, y, _RIGHT, y, "grid"))
            shapes.append(text(_LEFT - 6, y + 4, f"{mark:,.0f}", "", "end"))
    for bar, count in sorted(counts.items()):
        x, tall = _LEFT + (bar + left) * unit, height(count)
        note = title(f"{_range(bar, step, left, right)}: {_words.of('text', count)}")
        shapes.append(rectangle(x + 1, bottom - tall, unit - 2, tall, color(bar), note))
    shapes.append(line(_LEFT, bottom, _RIGHT, bottom, "axis"))
    shapes += _histogram_axis(left, right, step, unit, bottom)
    less, more = (sum(n for bar, n in counts.items() if bar * sign > 0) for sign in (-1, 1))
    shapes.append(text(_LEFT, 13, f"{less:,} smaller", "label better"))
    middle = (_LEFT + _RIGHT) / 2
    shapes.append(text(middle, 13, f"{counts[0]:,} the same", "label same", "middle"))
    shapes.append(text(_RIGHT, 13, f"{more:,} larger", "label worse", "end"))
    return picture(bottom + 24, f"Distribution of the change of {what}", shapes)


def _bar_of(change: float, step: float) -> int:
    """0 for no change; 1 up to a step more, -1 up to a step less."""
    return math.ceil(change / step) if change > 0 else math.floor(change / step)


def _range(bar: int, step: float, left: int, right: int) -> str:
    if bar == 0:
        return "no change"
    sign = 1 if bar > 0 else -1
    near = _words.percent(sign * (abs(bar) - 1) * step)
    if bar in (-left, right):
        return f"{near} and further"
    return f"{near} to {_words.percent(bar * step)}"


def _histogram_axis(left: int, right: int, step: float, unit: float, bottom: float) -> list[str]:
    every = max(1, math.ceil((left + right) / 5))
    shapes = [text(_LEFT + (left + 0.5) * unit, bottom + 17, "0", "", "middle")]
    for sign, count in ((-1, left), (1, right)):
        for bar in range(every, count + 1, every):
            x = _LEFT + (left + 0.5 + sign * (bar + 0.5)) * unit
            x = min(max(x, _LEFT + 14), _RIGHT - 14)
            shapes.append(text(x, bottom + 17, tick_label(sign * bar * step, step), "", "middle"))
    return shapes


def scatter(points: Sequence[tuple[str, float, float]], metric: str) -> str:
    """Modules by their size (logarithmic) and their change; rings lie outside of the picture."""
    points = [point for point in points if point[1] > 0]
    if not points:
        return ""
    changes = [change for _, _, change in points]
    low = min(quantile(changes, 0.01), 0.0)
    high = max(quantile(changes, 0.99), 0.0)
    margin = (high - low) * 0.08 or 0.001
    sizes = [math.log10(size) for _, size, _ in points]
    top, bottom = 8, 190
    left = _LEFT + 22
    x = linear(min(sizes) - 0.1, max(sizes) + 0.1, left, _RIGHT)
    y = linear(low - margin, high + margin, bottom, top)
    shapes = []
    marks = ticks(low - margin, high + margin, 7)
    for mark in marks:
        shapes.append(line(left, y(mark), _RIGHT, y(mark), "grid"))
        shapes.append(text(left - 6, y(mark) + 4, tick_label(mark, _step(marks)), "", "end"))
    shapes.append(line(left, y(0), _RIGHT, y(0), "axis"))
    for power in range(math.floor(min(sizes)), math.ceil(max(sizes)) + 1):
        if min(sizes) - 0.1 <= power <= max(sizes) + 0.1:
            shapes.append(line(x(power), bottom, x(power), bottom + 4, "axis"))
            shapes.append(text(x(power), bottom + 17, f"{10**power:,}", "", "middle"))
    for name, size, change in points:
        inside = low - margin <= change <= high + margin
        told = title(f"{name}: {_words.amount(size, metric)}, {_words.percent(change)}")
        kind = f"{color(change)} {'point' if inside else 'ring'}"
        shapes.append(circle(x(math.log10(size)), y(change), 3, kind, told))
    shapes.append(text(_RIGHT, bottom + 32, f"{METRIC[metric].counted} by the baseline", "", "end"))
    return picture(bottom + 38, "Change against size", shapes)


def bar(value: float, most: float) -> str:
    """As wide as its cell for the largest."""
    width = f"{100 * min(abs(value) / most, 1) if most else 0:.2f}%"
    return _bar(tag("rect", x=0, y=3, width=width, height=12, class_=color(value)))


def signed_bar(value: float, most: float) -> str:
    """To the left or right of the middle of its cell."""
    width = 50 * min(abs(value) / most, 1) if most else 0
    start = 50 - width if value < 0 else 50
    return _bar(
        tag("rect", x=f"{start:.2f}%", y=3, width=f"{width:.2f}%", height=12, class_="accent"),
        tag("line", x1="50%", y1=0, x2="50%", y2=18, class_="axis"),
    )


def _bar(*shapes: str) -> str:
    return tag("svg", *shapes, class_="bar", aria_hidden="true")
