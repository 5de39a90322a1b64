"""The part of a report about decisions that differ."""

from __future__ import annotations

from . import _plots, _words
from ._decisions import Difference, Disagreement
from ._result import METRIC, Score
from ._svg import escape, tag

_MOST_ROWS, _MOST_PER_MODULE, _FEATURES = 100, 5, 4
_LONGEST_NAME = 80


def decisions(score: Score) -> str:
    found = score.disagreement
    if found is None:
        return ""
    parts = [tag("h2", "Decisions that differ"), tag("p", escape(_sentence(found)))]
    telling = found.telling()
    if telling:
        most = max(abs(effect) for _, effect in telling)
        cells = []
        for name, effect in telling:
            cells.append(tag("span", escape(name), class_="name", title=name))
            cells.append(_plots.signed_bar(effect, most))
            cells.append(tag("span", _deviations(effect), class_="value"))
        parts.append(
            tag(
                "p",
                "How sites where they differ stand out: how far the mean of a feature lies from "
                "that of the other sites, in standard deviations.",
                class_="note",
            )
        )
        parts.append(tag("div", *cells, class_="bars features"))
    shown = _shown(score, found)
    if shown:
        note = (
            f"{len(shown):,} of {len(found.differences):,}, at most {_MOST_PER_MODULE} of a "
            "module; first those of the modules that change the most."
        )
        scroll = tag("div", _table(shown, telling), class_="scroll")
        summary = tag("summary", "Which ones")
        parts.append(tag("details", summary, tag("p", note, class_="note"), scroll, open=""))
    return tag("section", *parts, class_="card")


def _sentence(found: Disagreement) -> str:
    if not found.asked_policy:
        return "The policy was not asked once."
    asked = f"The policy was asked {found.asked_policy:,} times"
    if not found.compared:
        return f"{asked}. What the baseline decides there is not known."
    count = len(found.differences)
    share = f"{100 * count / found.compared:.1f} %"
    return (
        f"{asked}. What the baseline decides is known of {found.compared:,}; the policy decided "
        f"{count:,} of them otherwise ({share})."
    )


def _shown(score: Score, found: Disagreement) -> list[Difference]:
    """Those of the modules that change most, a few of each."""
    metric = score.metric if not METRIC[score.metric].of_programs else "text"
    change = {
        pair.module: abs(values[1] - values[0])
        for pair in score.pairs
        if (values := pair.values(metric))
    }
    ordered = sorted(found.differences, key=lambda each: -change.get(each.module, 0))
    taken: dict[str, int] = {}
    shown = []
    for each in ordered:
        taken[each.module] = taken.get(each.module, 0) + 1
        if taken[each.module] <= _MOST_PER_MODULE:
            shown.append(each)
        if len(shown) == _MOST_ROWS:
            break
    return shown


def _table(shown: list[Difference], telling: list[tuple[str, float]]) -> str:
    labels = list(shown[0].labels)
    names = [name for name, _ in telling[:_FEATURES]] or list(shown[0].features)[:_FEATURES]
    head = ["decision", "baseline \N{RIGHTWARDS ARROW} policy"]
    rows = [
        tag(
            "tr",
            *(tag("th", escape(name)) for name in head),
            *(tag("th", escape(name), class_="words") for name in labels),
            *(tag("th", escape(name)) for name in names),
        )
    ]
    place = None
    for each in shown:
        if _place(each) != place:
            place = _place(each)
            span = len(head) + len(labels) + len(names)
            rows.append(tag("tr", tag("td", tag("code", escape(place)), colspan=span)))
        rows.append(_row(each, names, labels))
    return tag("table", *rows)


def _place(each: Difference) -> str:
    """The context is the module itself, by some path, or a function in it."""
    inside = each.context and each.module not in each.context
    return f"{each.module}: {each.context}" if inside else each.module


def _row(each: Difference, names: list[str], labels: list[str]) -> str:
    change = f"{_values(each.baseline)} \N{RIGHTWARDS ARROW} {_values(each.policy)}"
    return tag(
        "tr",
        tag("td", f"{each.ordinal:,}"),
        tag("td", escape(change)),
        *(_long_name(each.labels.get(name, "")) for name in labels),
        *(tag("td", _feature(each, name)) for name in names),
    )


def _long_name(text: str) -> str:
    """Names of templates are long: both ends, and all when the pointer rests there."""
    half = _LONGEST_NAME // 2
    is_long = len(text) > _LONGEST_NAME
    shown = f"{text[: half - 1]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}" if is_long else text
    return tag("td", tag("div", escape(shown), class_="clamp", title=text), class_="words")


def _feature(each: Difference, name: str) -> str:
    return f"{each.features[name]:,g}" if name in each.features else ""


def _deviations(effect: float) -> str:
    return f"{effect:+.2f} \N{GREEK SMALL LETTER SIGMA}".replace("-", _words.MINUS)


def _values(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
