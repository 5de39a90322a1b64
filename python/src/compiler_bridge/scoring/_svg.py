"""Plots as inline SVG, from a few shapes. Colors and fonts are those of the page's style sheet."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence

# In units of which a phone shows nearly one per pixel.
WIDTH = 400

Scale = Callable[[float], float]


def escape(text: object) -> str:
    return html.escape(str(text), quote=True)


def tag(name: str, *children: str, **attributes: object) -> str:
    """An element; `stroke_width` becomes stroke-width, `class_` class."""
    words = "".join(
        f' {key.strip("_").replace("_", "-")}="{escape(_short(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{words}>{''.join(children)}</{name}>"


def _short(value: object) -> object:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def title(text: object) -> str:
    """What is shown where the mouse is."""
    return tag("title", escape(text))


def text(x: float, y: float, content: object, class_: str = "", anchor: str = "start") -> str:
    return tag("text", escape(content), x=float(x), y=float(y), class_=class_, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def rectangle(x: float, y: float, width: float, height: float, class_: str, *inner: str) -> str:
    size = {"width": float(max(width, 0)), "height": float(max(height, 0))}
    return tag("rect", *inner, x=float(x), y=float(y), class_=class_, **size)


def circle(x: float, y: float, radius: float, class_: str, *inner: str) -> str:
    return tag("circle", *inner, cx=float(x), cy=float(y), r=float(radius), class_=class_)


def picture(height: float, description: str, shapes: Iterable[str]) -> str:
    return tag(
        "svg",
        title(description),
        *shapes,
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        role="img",
        aria_label=description,
    )


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """Maps numbers between low and high to places between start and end, and clips others."""
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return start + (min(max(value, low), high) - low) / span * (end - start)

    return place


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between low and high, about so many."""
    if high <= low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough * 0.7)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * (len(ordered) - 1))))]
