"""The reports nearest to a question: by their own vectors, whatever else has any."""

from dataclasses import replace

import polars as pl
import pytest

from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.questions.finding import nearest_reports
from support.axis_vectors import FirstAxis, at_cosine
from support.index_frames import index_of
from support.questions import asked_of

INDEX = index_of({"Storms": "Storms came.", "The quay": "Built.", "Gulls": "They fly."})
NEAREST = ["r1", "r2", "r0"]


def vectors(embedder: str) -> pl.DataFrame:
    cosines = {"r0": 0.1, "r1": 0.9, "r2": 0.5}
    rows = [(one, embedder, at_cosine(near)) for one, near in cosines.items()]
    types = {"report_id": pl.String, "embedder": pl.String, "vector": pl.Array(pl.Float32, 8)}
    return pl.DataFrame(rows, schema=types, orient="row")


@pytest.mark.parametrize(
    ("made_by", "found"), [("chosen", NEAREST), ("another", sorted(NEAREST)), (None, sorted(NEAREST))]
)
def test_reports_are_near_by_their_own_vectors_though_no_text_unit_has_any(
    made_by: str | None, found: list[str]
) -> None:
    index = replace(INDEX, report_vectors=vectors(made_by) if made_by else None)
    assert index.unit_vectors is None
    embedder = CorpusEmbedder(FirstAxis("chosen"))
    asked = asked_of(index, "What is the quay?", "drift", count=len, embedder=embedder)
    assert nearest_reports(asked) == found
