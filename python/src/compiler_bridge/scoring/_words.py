"""A score in words."""

from __future__ import annotations

from ._result import METRIC, METRICS, Score
from ._statistics import FEWEST_PAIRS, Change, Comparison, Verdict

MINUS = "\N{MINUS SIGN}"


def percent(change: float, digits: int = 2) -> str:
    """-0.0123 as a signed percentage; the minus is as wide as the plus."""
    text = f"{change * 100:+.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return text.replace("-", MINUS) + " %"


def interval(change: Change, found: Comparison) -> str:
    """A dash if there are too few to tell."""
    if not found.has_interval:
        return "\N{EN DASH}"
    low, high = (percent(edge).removesuffix(" %") for edge in (change.low, change.high))
    return f"{low} to {high} %"


def number(value: float, metric: str) -> str:
    return f"{value:,.2f} s" if METRIC[metric].unit == "s" else f"{value:,.0f}"


def amount(value: float, metric: str) -> str:
    """`9,670 bytes of text`."""
    digits = 2 if METRIC[metric].unit == "s" else 0
    return f"{value:,.{digits}f} {METRIC[metric].counted}"


def of(metric: str, count: int) -> str:
    """`306 modules`, `1 program`."""
    what = "program" if METRIC[metric].of_programs else "module"
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def word(score: Score) -> str:
    """The verdict in a word or two."""
    if score.wrong_programs:
        return "wrong"
    if score.did_not_decide:
        return "did not decide"
    found = score.comparisons.get(score.metric)
    return found.verdict.value if found else "nothing to compare"


def verdict(score: Score) -> str:
    """The verdict in a sentence."""
    title = METRIC[score.metric].title
    if wrong := score.wrong_programs:
        names = ", ".join(program.name for program in wrong)
        return f"WRONG: programs do something else than by the baseline: {names}."
    if score.did_not_decide:
        unless = ", or only as the heuristic does" if score.may_have_decided else ""
        why = _why_not(score)
        return f"The policy did not decide{unless}: {why}. The figures say nothing about it."
    found = score.comparisons.get(score.metric)
    if found is None:
        return f"There is nothing to compare: no figures of {title}."
    return f"{_sentence(title, found, of(score.metric, found.pairs))}.{_but(score, found)}"


def _why_not(score: Score) -> str:
    lines = {line for pair in score.fallbacks for line in pair.policy.said}
    reasons = sorted(lines) or _reasons(score)
    if not reasons:
        return "it was not asked once"
    count = of("text", len(score.pairs))
    what = "it failed" if score.may_have_decided else "the heuristic did"
    return f"in all of {count} {what}; {reasons[0].removeprefix('cbridge: ')}"


def _reasons(score: Score) -> list[str]:
    """Why decisions of the policy were the heuristic's, the most frequent first."""
    found = score.disagreement
    return [why for why, _ in found.fallbacks.most_common()] if found else []


def _sentence(title: str, found: Comparison, pairs: str) -> str:
    amount = percent(found.total.value)
    if found.verdict is Verdict.SAME:
        return f"Identical: {title} is the same, over {pairs}"
    if found.verdict is Verdict.TOO_FEW:
        return (
            f"Too few to tell: {title} {amount}, over only {pairs}; a verdict takes at least "
            f"{FEWEST_PAIRS}"
        )
    change = f"{title} {amount} (95 % interval {interval(found.total, found)}), over {pairs}"
    if found.verdict is Verdict.UNCLEAR:
        return f"No difference that can be told: {change}"
    return f"{found.verdict.value.capitalize()}: {change}"


_OPPOSITE = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}


def _but(score: Score, found: Comparison) -> str:
    """What points the other way."""
    opposite = _OPPOSITE.get(found.verdict)
    if opposite is None:
        return ""
    others = [
        f"{metric.title} {percent(other.total.value)}"
        for metric in METRICS
        if metric.key != score.metric
        and (other := score.comparisons.get(metric.key))
        and other.verdict is opposite
    ]
    mean = found.mean
    if (mean.low > 0) if opposite is Verdict.WORSE else (mean.high < 0):
        others.insert(0, f"the typical module {percent(mean.value)}")
    return f" But {opposite.value}: {', '.join(others)}." if others else ""


def errors(score: Score) -> list[str]:
    """Which programs are wrong, and how; each is one line."""
    return [f"{program.name}: {program.difference}" for program in score.wrong_programs]


def _fallbacks(score: Score) -> list[str]:
    """What the heuristic decided in place of the policy."""
    found = []
    reasons = _reasons(score)
    if score.disagreement and reasons:
        count, asked = score.disagreement.fallbacks.total(), score.disagreement.asked_policy
        others = ", among other reasons" if len(reasons) > 1 else ""
        found.append(f"{count:,} of {asked:,} decisions were LLVM's, since {reasons[0]}{others}")
    # A policy that is gone for good is asked, and counted, no more.
    modules = [
        lines
        for pair in score.fallbacks
        if (lines := [line for line in pair.policy.said if not _is_told(line, reasons)])
    ]
    if modules:
        found.append(
            f"the policy fell back to the heuristic in {len(modules):,} of "
            f"{of('text', len(score.pairs))}: {modules[0][0].removeprefix('cbridge: ')}"
        )
    return found


def _is_told(line: str, reasons: list[str]) -> bool:
    return any(reason in line for reason in reasons)


def warnings(score: Score) -> list[str]:
    """What a reader must know before believing the figures; each is one line."""
    found = [] if score.did_not_decide else _fallbacks(score)
    if any(pair.baseline.said for pair in score.pairs):
        count = sum(bool(pair.baseline.said) for pair in score.pairs)
        found.append(f"the baseline's model fell back in {of('text', count)}")
    blamed = [failure for failure in score.broken if failure.side == "policy"]
    if blamed:
        found.append(
            f"{of('text', len(blamed))} left out that only the baseline compiles: {blamed[0]}"
        )
    return found + score.remarks
