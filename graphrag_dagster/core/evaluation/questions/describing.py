"""The description that questions are written from: the corpus's own, or one made from a sample."""

from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.language.evaluating import QuestionWriter
from graphrag_dagster.core.language.tasks import Usage
from graphrag_dagster.errors import EngineError


@dataclass(frozen=True, slots=True)
class CorpusDescription:
    """What a corpus is about. ``sampled``: text units that it was made from, 0 where it was given.

    ``usage`` is what the description cost.
    """

    text: str
    source: Literal["given", "sample"]
    sampled: int = 0
    usage: Usage = field(default_factory=Usage)

    def rows(self, engine: str, repaired: int) -> list[dict[str, Any]]:
        """Return the rows of ``questions.corpus_descriptions``.

        Args:
            engine: who described.
            repaired: replies that were mended for the questions that were written from the description.
        """
        return [
            {
                "source": self.source,
                "description": self.text,
                "sampled_units": self.sampled,
                "repaired": self.usage.repaired + repaired,
                "engine": engine,
            }
        ]


def described(
    writer: QuestionWriter, given: str | None, text_chunks: pl.DataFrame, most: int
) -> CorpusDescription:
    """Return the given description, else one that the writer makes from a sample (spec_graphrag §8).

    Args:
        writer: describes.
        given: description of ``corpus.yaml``.
        text_chunks: ``text_unit_id`` and ``text`` of all text units.
        most: text units of the sample, drawn by a hash of their ids, so that their order has no part in it.

    Raises:
        EngineError: no description came of it.
    """
    if given and given.strip():
        return CorpusDescription(given.strip(), "given")
    units = sorted(
        text_chunks.select("text_unit_id", "text").iter_rows(), key=lambda unit: stable_id("sample", unit[0])
    )[:most]
    made = writer.describe([text for _, text in units])
    if not made.text.strip():
        raise EngineError(
            f"no description of the corpus could be made ({made.problem or 'it has no text units'}); say "
            "what it is about in corpus.yaml under description"
        )
    return CorpusDescription(made.text.strip(), "sample", len(units), made.usage)
