"""Themes of a judge's reasons, and the number of reasons that express each (paper §5.1)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from graphrag_dagster.apps.evaluation.measures.pairwise_judging import sample_questions
from graphrag_dagster.apps.evaluation.tasks import (
    CRITERIA,
    Criterion,
    Labels,
    ReasonReader,
    Reasons,
    Theme,
    ThemeLists,
    Themes,
)
from graphrag_dagster.kernel.common.stable_values import stable_id

#: Reasons that are read in one call: with their prompt they fit a window of 4,000 tokens.
AT_ONCE = 25
#: A reason is some sentences; one that runs on is cut.
_LONGEST = 800

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Part:
    """Reasons that are read in one call, by the ids of their judgements."""

    ids: tuple[str, ...]
    reasons: Reasons


def calls_of(reasons: int) -> int:
    """Return how many calls read so many reasons by one criterion, if each reply can be used."""
    parts = -(-reasons // AT_ONCE)
    return 2 * parts + (parts > 1)


def themes_of(judgements: pl.DataFrame, reader: ReasonReader, most: int, model: str) -> tuple[Rows, Rows]:
    """Return the rows of ``evaluation.themes`` and of ``evaluation.theme_reasons``.

    Of each criterion reasons are drawn by a hash of their judgements, so that a larger number begins with a
    smaller one. Themes are named in parts of them and merged, then every reason that was drawn is labelled
    with those that it speaks of. What could not be read has its problem and counts for no theme.

    Args:
        judgements: rows of ``evaluation.judgements``.
        reader: names, merges and labels.
        most: reasons of a criterion.
        model: the reader's name.

    Raises:
        EndpointError: the reader's endpoint cannot be used at all.
    """
    parts = [part for criterion in CRITERIA for part in _parts(judgements, criterion, most)]
    named = reader.name_themes([part.reasons for part in parts])
    themes, unmerged = _merge_themes(parts, named, reader)
    labelled = _label_parts(parts, themes, reader)
    rows: Rows = []
    for part, found in zip(parts, named, strict=True):
        problem = f"naming themes: {found.problem}" if found.problem else unmerged.get(part.reasons.criterion)
        rows += _rows(part, themes[part.reasons.criterion], labelled.get(part.ids), problem)
    read = Counter[Criterion]()
    for part in parts:
        if part.ids in labelled and not labelled[part.ids].problem:
            read[part.reasons.criterion] += len(part.ids)
    return _count_themes(themes, rows, read, model), rows


def _parts(judgements: pl.DataFrame, criterion: Criterion, most: int) -> list[_Part]:
    given = judgements.filter(
        pl.col("criterion") == criterion, pl.col("problem").is_null(), pl.col("model").is_not_null()
    )
    texts = {
        identity: text[:_LONGEST]
        for identity, text in given.select("judgement_id", "reason").iter_rows()
        if text.strip()
    }
    drawn = sample_questions(texts, most)
    groups = (tuple(drawn[begin : begin + AT_ONCE]) for begin in range(0, len(drawn), AT_ONCE))
    return [_Part(ids, Reasons(criterion, tuple(texts[one] for one in ids))) for ids in groups]


def _merge_themes(
    parts: Sequence[_Part], named: Sequence[Themes], reader: ReasonReader
) -> tuple[dict[Criterion, tuple[Theme, ...]], dict[Criterion, str]]:
    """Return the themes of each criterion, and why those of one could not be merged."""
    lists: dict[Criterion, list[tuple[Theme, ...]]] = {part.reasons.criterion: [] for part in parts}
    for part, found in zip(parts, named, strict=True):
        if found.items:
            lists[part.reasons.criterion].append(found.items)
    themes = {criterion: found[0] if found else () for criterion, found in lists.items()}
    several = [
        ThemeLists(criterion, tuple(theme for one in found for theme in one))
        for criterion, found in lists.items()
        if len(found) > 1
    ]
    problems: dict[Criterion, str] = {}
    for asked, merged in zip(several, reader.merge_themes(several), strict=True):
        themes[asked.criterion] = merged.items
        if merged.problem:
            problems[asked.criterion] = f"merging themes: {merged.problem}"
    return themes, problems


def _label_parts(
    parts: Sequence[_Part], themes: Mapping[Criterion, tuple[Theme, ...]], reader: ReasonReader
) -> dict[tuple[str, ...], Labels]:
    """Return the labels of each part whose criterion has themes."""
    told = [part for part in parts if themes[part.reasons.criterion]]
    asked = [replace(part.reasons, themes=themes[part.reasons.criterion]) for part in told]
    return dict(zip((part.ids for part in told), reader.label_reasons(asked), strict=True))


def _rows(part: _Part, themes: Sequence[Theme], labels: Labels | None, problem: str | None) -> Rows:
    places: Sequence[tuple[int, ...]] = [()] * len(part.ids)
    if labels is not None and labels.problem:
        problem = f"labelling: {labels.problem}"
    elif labels is not None:
        places = labels.items
    criterion = part.reasons.criterion
    return [
        {
            "judgement_id": identity,
            "criterion": criterion,
            "theme_ids": sorted(_theme_id(criterion, themes[place]) for place in own),
            "problem": problem,
        }
        for identity, own in zip(part.ids, places, strict=True)
    ]


def _count_themes(
    themes: Mapping[Criterion, Sequence[Theme]], rows: Rows, read: Mapping[Criterion, int], model: str
) -> Rows:
    spoken = Counter(identity for row in rows for identity in row["theme_ids"])
    made: Rows = []
    for criterion, listed in themes.items():
        counts = {theme: spoken[_theme_id(criterion, theme)] for theme in listed}
        ranked = sorted(counts, key=lambda theme: (-counts[theme], theme.name))
        made += [
            {
                "theme_id": _theme_id(criterion, theme),
                "criterion": criterion,
                "position": position,
                "theme": theme.name,
                "description": theme.description,
                "reasons": counts[theme],
                "read": read.get(criterion, 0),
                "model": model,
            }
            for position, theme in enumerate(ranked)
        ]
    return made


def _theme_id(criterion: Criterion, theme: Theme) -> str:
    return stable_id("theme", criterion, theme.name)
