"""A score as one HTML file that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources

from . import _plots, _words
from ._decision_section import decisions
from ._plots import color
from ._result import METRIC, METRICS, Failure, Pair, Score
from ._statistics import FEWEST_PAIRS, RESAMPLES, Change, Comparison
from ._svg import escape, tag

_RANKED = 10
_MOST_ROWS = 2000


def report(score: Score) -> str:
    name = f"{score.policy} against {score.baseline}"
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        # Whatever a name in the corpus contains, the page loads and runs nothing.
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        tag("title", escape(f"{_words.word(score)}: {name}")),
        tag("style", resources.files(__package__).joinpath("report.css").read_text("utf-8")),
    ]
    body = [
        tag(
            "h1",
            tag("code", escape(score.policy)),
            " against ",
            tag("code", escape(score.baseline)),
        ),
        tag("p", escape(_about(score)), class_="about"),
        _verdict(score),
        *(tag("p", escape(line), class_="warning wrong") for line in _words.errors(score)),
        *(tag("p", escape(line), class_="warning") for line in _words.warnings(score)),
        _summary(score),
        _plots_of(score),
        _ranking(score),
        _programs(score),
        decisions(score),
        _broken(score),
        _modules(score),
        _how(score),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n'
        + "\n".join(head)
        + "\n</head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + "\n</body>\n</html>\n"
    )


def _about(score: Score) -> str:
    programs = f", {_words.of('executed', len(score.programs))}" if score.programs else ""
    return f"{score.corpus}: {_words.of('text', len(score.pairs))}{programs}. {score.clang}."


def card(heading: str, *parts: str) -> str:
    return tag("section", tag("h2", heading), *parts, class_="card")


def _verdict(score: Score) -> str:
    found = score.comparisons.get(score.metric)
    word = _words.word(score)
    if word in ("better", "worse") and found:
        hero = _words.percent(found.total.value)
    else:
        hero = word.capitalize()
    kind = {"better": "better", "worse": "worse", "wrong": "wrong", "did not decide": "wrong"}
    return tag(
        "section",
        tag("strong", escape(hero)) if len(hero) <= 20 else "",
        tag("p", escape(_words.verdict(score))),
        class_=f"card verdict {kind.get(word, 'same')}",
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], words: str = "") -> str:
    """Cells of rows are whole elements. `words` heads a last column that is no number."""
    last = tag("th", escape(words), class_="words") if words else ""
    first = tag("tr", *(tag("th", escape(each)) for each in head), last)
    return tag("div", tag("table", first, *(tag("tr", *row) for row in rows)), class_="scroll")


def _change_cell(change: Change, found: Comparison) -> str:
    clear = found.has_interval and (change.high < 0 or change.low > 0)
    return tag(
        "td",
        escape(_words.percent(change.value)),
        tag("span", escape(_words.interval(change, found)), class_="small")
        if found.has_interval
        else "",
        class_=color(change.value) if clear else "",
    )


def _summary(score: Score) -> str:
    rows = []
    for metric in METRICS:
        found = score.comparisons.get(metric.key)
        if found is None:
            continue
        rows.append(
            [
                tag("td", escape(metric.title)),
                _change_cell(found.total, found),
                _change_cell(found.mean, found),
                tag("td", f"{found.less:,} / {found.equal:,} / {found.more:,}"),
                tag("td", escape(_words.number(found.baseline, metric.key))),
                tag("td", escape(_words.number(found.policy, metric.key))),
                tag("td", escape(found.verdict.value), class_="words"),
            ]
        )
    head = ["", "in total", "geometric mean", "less / same / more", "baseline", "policy"]
    return card("Summary", table(head, rows, "verdict"))


def _plots_of(score: Score) -> str:
    metric = METRIC[score.metric] if not METRIC[score.metric].of_programs else METRIC["text"]
    points = [
        (pair.module, values[0], values[1] / values[0] - 1)
        for pair in score.pairs
        if (values := pair.values(metric.key)) and values[0] > 0
    ]
    parts = [
        card(
            "Change by metric",
            _plots.intervals(score),
            tag(
                "p",
                "Dots: in total. Rings: geometric mean. Lines: 95 % intervals; those in color do "
                "not touch zero.",
                class_="note",
            ),
        )
    ]
    if points:
        changes = [change for _, _, change in points]
        parts.append(
            card(f"Modules by change of {metric.title}", _plots.histogram(changes, metric.title))
        )
        parts.append(card("Change and size of modules", _plots.scatter(points, metric.key)))
    return tag("div", *parts, class_="grid")


def _ranking(score: Score) -> str:
    metric = METRIC[score.metric] if not METRIC[score.metric].of_programs else METRIC["text"]
    changes = [
        (after - before, before, pair.module)
        for pair in score.pairs
        if (values := pair.values(metric.key))
        for before, after in [values]
        if before != after
    ]
    changes.sort()
    best = [each for each in changes if each[0] < 0][:_RANKED]
    worst = [each for each in reversed(changes) if each[0] > 0][:_RANKED]
    if not best and not worst:
        return ""
    most = max(abs(each[0]) for each in (*best, *worst))
    unit = f" {metric.unit}" if metric.unit else ""
    parts = []
    for heading, ranked in (("Best modules", best), ("Worst modules", worst)):
        cells = []
        for change, before, module in ranked:
            amount = f"{change:+,.2f}" if metric.unit == "s" else f"{change:+,.0f}"
            share = f", {_words.percent(change / before, 1)}" if before else ""
            cells.append(_name(module))
            cells.append(_plots.bar(change, most))
            cells.append(
                tag(
                    "span", escape(amount.replace("-", _words.MINUS) + unit + share), class_="value"
                )
            )
        inner = tag("div", *cells, class_="bars") if cells else tag("p", "None.", class_="note")
        parts.append(card(f"{heading} ({escape(metric.title)})", inner))
    return tag("div", *parts, class_="grid")


def _name(module: str) -> str:
    """Names that are too long lose their beginning; the marks keep the slashes in place."""
    shown = f"\N{LEFT-TO-RIGHT MARK}{escape(module)}\N{LEFT-TO-RIGHT MARK}"
    return tag("span", shown, class_="name", title=module)


def _programs(score: Score) -> str:
    if not score.programs and not score.broken_programs:
        return ""
    rows = []
    for program in score.programs:
        values = program.values()
        change = values[1] / values[0] - 1 if values and values[0] else None
        told = tag("span", escape(program.difference), class_="wrong-text")
        rows.append(
            [
                tag("td", escape(program.name)),
                tag("td", escape(_words.percent(change)), class_=color(change))
                if change is not None
                else tag("td", "\N{EN DASH}"),
                tag("td", _counted(program.baseline)),
                tag("td", _counted(program.policy)),
                tag("td", told if program.difference else "the same", class_="words"),
            ]
        )
    head = ["program", "instructions", "baseline", "policy"]
    shown = table(head, rows, "what it did") if rows else ""
    return card("Programs, executed", shown, _failures(score.broken_programs))


def _counted(value: int | None) -> str:
    return f"{value:,}" if value is not None else "\N{EN DASH}"


def _failures(failures: Sequence[Failure]) -> str:
    return "".join(
        tag("p", tag("code", escape(failure.name)), ": left out, ", escape(_blame(failure)))
        for failure in failures
    )


def _blame(failure: Failure) -> str:
    return f"by the {failure.side}: {failure.why}" if failure.side else failure.why


def _broken(score: Score) -> str:
    if not score.broken:
        return ""
    count = _words.of("text", len(score.broken))
    inner = _failures(score.broken)
    opened = {"open": ""} if len(score.broken) <= 10 else {}
    summary = tag("summary", f"{count} left out, because they cannot be compiled")
    return tag("details", summary, inner, class_="card", **opened)


def _modules(score: Score) -> str:
    metrics = [m for m in METRICS if not m.of_programs and m.key in score.comparisons]
    key = score.metric if not METRIC[score.metric].of_programs else "text"

    def size_of_change(pair: Pair) -> float:
        values = pair.values(key)
        return -abs(values[1] - values[0]) if values else 0.0

    shown = sorted(score.pairs, key=lambda pair: (size_of_change(pair), pair.module))[:_MOST_ROWS]
    rows = [
        [tag("td", escape(pair.module)), *(_value_cell(pair, m.key) for m in metrics)]
        for pair in shown
    ]
    rest = len(score.pairs) - len(shown)
    note = tag("p", f"{rest:,} more are in the CSV file.", class_="note") if rest else ""
    return tag(
        "details",
        tag("summary", f"All {_words.of('text', len(score.pairs))}"),
        table(["module", *(metric.title for metric in metrics)], rows),
        note,
        class_="card",
    )


def _value_cell(pair: Pair, key: str) -> str:
    values = pair.values(key)
    if values is None:
        return tag("td", "\N{EN DASH}")
    change = values[1] / values[0] - 1 if values[0] else 0.0
    both = f"{_words.number(values[0], key)} \N{RIGHTWARDS ARROW} {_words.number(values[1], key)}"
    shown = tag("span", escape(_words.percent(change)), class_=color(change))
    return tag("td", shown, tag("span", escape(both), class_="small"))


def _how(score: Score) -> str:
    cached = (
        f" {_words.of('text', score.from_cache)} of the baseline are from the cache; their compile "
        "time is not compared."
        if score.from_cache
        else ""
    )
    return tag(
        "p",
        "Text: bytes of code in object files. All loaded bytes: with constants, data and unwind "
        "tables, without zeroed memory. IR instructions: after optimization. Compile time: of the "
        "processor. Executed instructions: counted by valgrind. Less is better everywhere. "
        f"Intervals: percentile bootstrap over modules (or programs), {RESAMPLES:,} resamples, "
        f"seed {score.seed}; there are none of fewer than {FEWEST_PAIRS}. The verdict is that of "
        f"the change in total.{cached}",
        class_="note",
    )
