"""Content blocks of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import polars as pl


class Figure(Protocol):
    """A drawing; ``alt`` says in words what it shows."""

    @property
    def name(self) -> str:
        """Short, of its own: ``win_rates_directness``."""

    @property
    def title(self) -> str:
        """Its subject."""

    @property
    def caption(self) -> str:
        """Notes on reading it."""

    @property
    def svg(self) -> str:
        """The drawing."""

    @property
    def alt(self) -> str:
        """A description for readers who cannot see it."""


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
