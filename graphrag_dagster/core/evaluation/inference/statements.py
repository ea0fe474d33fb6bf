"""Tests as sentences: which number is which test's, and why two of them disagree."""

from graphrag_dagster.core.evaluation.inference.contrasts import Contrast
from graphrag_dagster.core.evaluation.inference.measures import Measure, measure
from graphrag_dagster.core.evaluation.inference.numbers import p_value, percent, plain
from graphrag_dagster.core.wording import counted


def sentence(contrast: Contrast, baseline: str) -> str:
    """Return a test in words: the difference as stated, its interval, p, and what they disagree on."""
    spoken = measure(contrast.measure)
    judged = spoken.kind == "judged"
    said = _judged(contrast, baseline) if judged else _counted(contrast, spoken, baseline)
    why = _why_mixed(contrast, baseline) if contrast.outcome == "mixed" else _disagreement(contrast, judged)
    return f"{said} {why}" if why else said


def tested(contrast: Contrast) -> str:
    """Return the p values, each under its test's name."""
    return f"Wilcoxon {p_value(contrast.p)}, Holm-corrected {p_value(contrast.p_holm)}"


def _counted(contrast: Contrast, spoken: Measure, baseline: str) -> str:
    condition, outcome = contrast.condition, contrast.outcome
    size, direction, tail = plain(abs(contrast.difference)), _more(contrast, spoken), _tail(contrast)
    if contrast.equal == contrast.questions:
        return f"{condition} and {baseline} have the same {spoken.label} on every question."
    if contrast.difference == 0:
        found = f"the means of {condition} and {baseline} are equal ({tail})."
    else:
        found = f"{size} {direction} for {condition} ({tail})."
    if outcome == "no difference":
        return f"No difference between {condition} and {baseline} in {spoken.label} was found: {found}"
    if outcome == "mixed":
        return f"Mixed between {condition} and {baseline} in {spoken.label}: {found}"
    if spoken.noun:
        return (
            f"{condition} {spoken.verb} {size} {direction} {spoken.noun} per answer than {baseline} ({tail})."
        )
    return f"The mean {spoken.label} of {condition} is {size} {direction} than that of {baseline} ({tail})."


def _judged(contrast: Contrast, baseline: str) -> str:
    if contrast.equal == contrast.questions:
        among = counted(contrast.questions, "question")
        return f"{contrast.condition} and {baseline} are even on {contrast.measure} on all of {among}."
    bounds = ""
    if interval := contrast.win_rate_interval:
        # Where it all but touches 50 %, whole numbers would hide on which side it lies.
        low, high = (percent(bound, 1 if contrast.disagreement else 0) for bound in interval)
        bounds = f"95 % bootstrap interval {low} to {high}; "
    outcome = contrast.outcome
    tail = f": {'no difference was found' if outcome == 'no difference' else 'mixed'}"
    return (
        f"{contrast.condition} wins {percent(contrast.mean, 0)} of the comparisons with {baseline} on "
        f"{contrast.measure} ({bounds}{tested(contrast)}){'' if outcome in ('better', 'worse') else tail}."
    )


def _why_mixed(contrast: Contrast, baseline: str) -> str:
    ahead = contrast.condition if (contrast.ranks or 0.0) > 0 else baseline
    return (
        f"By ranks, which the test goes by, {ahead} is ahead; the mean follows a few large differences, so "
        "neither is called better."
    )


def _disagreement(contrast: Contrast, judged: bool) -> str:
    even = "50 %" if judged else "0"
    if contrast.disagreement == "correction":
        return (
            f"The interval leaves out {even} since it is not corrected for the number of pairs; the verdict "
            "follows the corrected test."
        )
    if contrast.disagreement == "ranks":
        does = "holds" if contrast.outcome != "no difference" else "leaves out"
        return (
            f"The interval {does} {even} since it is of the mean, which a few large differences move; the "
            "verdict follows the test, which is of ranks."
        )
    return ""


def _more(contrast: Contrast, spoken: Measure) -> str:
    words = ("more", "fewer") if spoken.noun else ("higher", "lower")
    return words[contrast.difference < 0]


def _tail(contrast: Contrast) -> str:
    if contrast.interval is None:
        return tested(contrast)
    low, high = contrast.interval
    if contrast.difference < 0:
        low, high = -high, -low
    return f"95 % bootstrap interval {plain(low)} to {plain(high)}; {tested(contrast)}"
