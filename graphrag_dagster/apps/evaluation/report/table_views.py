"""Content of a report: figures, data, and tables of formatted text.

Answers may contain any text, hostile text included. Text becomes markup in one place only,
:func:`render_markdown`, where every piece of it is escaped separately and only tags from this module are put
around it, so that nothing in the text can open, close or alter a tag.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup, escape

from graphrag_dagster.apps.evaluation.figures.figure_style import Figure
from graphrag_dagster.apps.evaluation.inference.measure_names import measure, p_value
from graphrag_dagster.apps.evaluation.inference.verdict import Contrast, contrasts


@dataclass(frozen=True)
class ReportData:
    """An evaluation of a corpus.

    Frames are the rows of the tables of the same name (schemas ``questions``, ``answers``, ``evaluation``,
    ``studies``, ``paths``, ``marts``; ``path_summary`` is ``paths.summary``), in any order; one that is None
    or empty was not made, and its section says so.

    Args:
        corpus: its name.
        description: what it is about, as questions were written from it.
        version: of this package.
        created_by: step → who did it, such as ``"answers": "llm (qwen3-8b)"``.
        settings: those that decide the results, as they are to be shown.
        conditions: search methods, in order.
        baseline: with which the others are compared.
        answer_engine: ``extractive`` or ``llm``: who answered.
        claim_engine: who took the answers apart.
        judge_model: who judged; None where nobody did.
        answer_model: who answered, where a model did.
        commands: what makes these results again.
        figures: in the order in which they are shown.
    """

    corpus: str
    description: str | None
    version: str
    created_by: Mapping[str, str]
    settings: Mapping[str, object]
    conditions: Sequence[str]
    baseline: str
    answer_engine: str
    claim_engine: str
    judge_model: str | None
    answer_model: str | None = None
    commands: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    questions: pl.DataFrame | None = None
    personas: pl.DataFrame | None = None
    answers: pl.DataFrame | None = None
    answer_measures: pl.DataFrame | None = None
    condition_means: pl.DataFrame | None = None
    significance: pl.DataFrame | None = None
    win_rates: pl.DataFrame | None = None
    position_bias: pl.DataFrame | None = None
    alignment: pl.DataFrame | None = None
    verdicts: pl.DataFrame | None = None
    context_metrics: pl.DataFrame | None = None
    condition_costs: pl.DataFrame | None = None
    context_sizes: pl.DataFrame | None = None
    comparisons: pl.DataFrame | None = None
    judgements: pl.DataFrame | None = None
    quality_scores: pl.DataFrame | None = None
    themes: pl.DataFrame | None = None
    theme_reasons: pl.DataFrame | None = None
    path_summary: pl.DataFrame | None = None
    recall_windows: pl.DataFrame | None = None


def rows_of(frame: pl.DataFrame | None) -> list[dict[str, Any]]:
    """Return the rows of a frame; none where there is no frame."""
    return [] if frame is None else frame.to_dicts()


#: What intervals and p values are of, for the captions of tables that show them side by side.
BOUNDS = "95 % bootstrap interval"
TESTED = "p of Wilcoxon's test, corrected by Holm"
#: Stands at a p value that the interval beside it disagrees with.
DAGGER = "\N{DAGGER}"


@dataclass(frozen=True, slots=True)
class ReportCell:
    """Contents of a cell: a number or word, smaller notes below, and its tone.

    ``tone`` colours it (``good``, ``bad``, ``even``, ``more`` or ''); the words say the same.
    """

    text: str
    notes: tuple[str, ...] = ()
    tone: str = ""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table: the first cell of each row is its heading; ``folded``: opened by a click."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[ReportCell, ...], ...]
    folded: bool = False
    wordy: bool = False


def table(
    caption: str,
    header: Iterable[str],
    rows: Iterable[Iterable[ReportCell | str]],
    *,
    folded: bool = False,
    wordy: bool = False,
) -> ReportTable | None:
    """Return a table, or None without rows; ``wordy``: its cells hold words rather than numbers."""
    made = tuple(tuple(ReportCell(one) if isinstance(one, str) else one for one in row) for row in rows)
    return ReportTable(caption, tuple(header), made, folded, wordy) if made else None


def tests(data: ReportData) -> list[Contrast]:
    """Return the tests against the baseline."""
    if data.significance is None:
        return []
    return contrasts(data.significance, data.conditions, data.baseline, data.judgements)


def others(data: ReportData) -> list[str]:
    """Return the search methods without the baseline."""
    return [one for one in data.conditions if one != data.baseline]


def tested_notes(test: Contrast, *words: str) -> tuple[str, ...]:
    """Return what a cell notes of a test: corrected p, marked where the interval disagrees, and words."""
    mark = f" {DAGGER}" if test.disagreement else ""
    return (f"{p_value(test.p_holm)}{mark}", *words)


def tone_of(test: Contrast) -> str:
    """Return the tone of a cell that shows a test."""
    if test.outcome not in ("better", "worse"):
        return "even"
    if not measure(test.measure).sign:
        return "more"
    return "good" if test.outcome == "better" else "bad"


_LINE = re.compile(r"\r\n|[\r\u2028\u2029\u0085\v\f]")
# Controls, lone surrogates, and the marks that make text run the other way beyond its own end.
_HIDDEN = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)
_INLINE = re.compile(r"\*\*(?P<strong>[^*\n]+)\*\*|`(?P<code>[^`\n]+)`|(?P<cite>\[\d+(?:, ?\d+)*\])")
_TIES = re.compile(r"(?<=\d) (?=[%×])|(?<=\bp) (?=[<=] \.?\d)|(?<=p [<=]) (?=\.?\d)")
_NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
_HEADING = re.compile(r"#{1,6}\s+(?P<text>.*)")
_BULLET = re.compile(r"[-*•+]\s+(?P<text>.*)")
_NUMBERED = re.compile(r"\d{1,3}[.)]\s+(?P<text>.*)")


def clean(text: str) -> str:
    """Return text without characters that cannot be shown or that change how what follows them is shown."""
    return _HIDDEN.sub("", _LINE.sub("\n", text))


def render_markdown(text: str) -> Markup:
    """Return text with the little Markdown that answers use: headings, lists, bold, code, citation marks.

    Headings become bold paragraphs, since the page has an outline of its own; links and HTML stay text.
    """
    parts = []
    for tag, lines in _blocks(clean(text).split("\n")):
        if tag in ("ul", "ol"):
            items = Markup("").join(Markup("<li>{}</li>").format(_inline(line)) for line in lines)
            parts.append((Markup("<ul>{}</ul>") if tag == "ul" else Markup("<ol>{}</ol>")).format(items))
        elif tag == "h":
            parts.append(Markup('<p class="heading">{}</p>').format(_inline(lines[0])))
        else:
            parts.append(Markup("<p>{}</p>").format(Markup("<br>").join(_inline(line) for line in lines)))
    return Markup("\n").join(parts)


def _blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield runs of lines of one kind: ``ul``, ``ol``, ``h`` or ``p``."""
    kind, run = "", list[str]()
    for line in (*lines, ""):
        new, text = _kind(line.strip())
        if run and (new != kind or new == "h"):
            yield kind, run
            run = []
        kind = new
        if text:
            run.append(text)


def _kind(line: str) -> tuple[str, str]:
    for kind, pattern in (("h", _HEADING), ("ul", _BULLET), ("ol", _NUMBERED)):
        if found := pattern.fullmatch(line):
            return kind, found["text"]
    return ("p", line) if line else ("", "")


def _inline(text: str) -> Markup:
    made, end = Markup(""), 0
    for found in _INLINE.finditer(text):
        made += escape(text[end : found.start()])
        if found["strong"] is not None:
            made += Markup("<strong>{}</strong>").format(found["strong"])
        elif found["code"] is not None:
            made += Markup("<code>{}</code>").format(found["code"])
        else:
            made += Markup('<sup class="cite">{}</sup>').format(found["cite"])
        end = found.end()
    return made + escape(text[end:])


def with_nonbreaking_spaces(text: str) -> str:
    """Return text in which numbers keep their per cent sign, and p its value, on one line.

    >>> with_nonbreaking_spaces("8 % (p < .001)").replace("\N{NO-BREAK SPACE}", "_")
    '8_% (p_<_.001)'
    """
    return _TIES.sub("\N{NO-BREAK SPACE}", text)


def image(svg: str) -> str:
    """Return a drawing as an address that holds it.

    As an image it has ids of its own, and neither scripts nor addresses in it are followed. In a page an
    ``svg`` element may do without its namespace, in an image it may not.
    """
    if _NAMESPACE not in svg:
        svg = svg.replace("<svg", f"<svg {_NAMESPACE}", 1)
    return "data:image/svg+xml;base64," + b64encode(svg.encode("utf-8", "replace")).decode("ascii")
