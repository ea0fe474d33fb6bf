"""Measures of answers that have reference answers, as rows."""

from collections.abc import Sequence

import polars as pl

from graphrag_dagster.apps.evaluation.measures.quality_metrics import lexical_measures, measure
from graphrag_dagster.apps.evaluation.measures.quality_verdicts import Embed, Family, QualityItem, Rows
from graphrag_dagster.apps.evaluation.tasks import QualityJudge
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.text.statement_reading import without_citations

_OF_A_ROW = ("answer_id", "position", "kind", "record_id", "text")
#: Kinds of rows of which all that an answer was shown are one node of its context.
_ONE_NODE = frozenset({"triple"})


def quality_items(
    answers: pl.DataFrame, contexts: pl.DataFrame, questions: pl.DataFrame, index: IndexSnapshot
) -> list[QualityItem]:
    """Return the answers to questions with a reference, each with the texts of its context.

    The nodes of a context are its rows in the order in which they were shown (CoTeRAG-S, 4.4), save for
    those whose partial answer did not go into the answer. Triples, each of which says next to nothing, are
    one node together, where the first of them stands.

    Args:
        answers: rows of ``answers.answers``.
        contexts: rows of ``answers.answer_contexts``.
        questions: rows of ``questions.questions``.
        index: what was searched.
    """
    references = dict(
        questions.filter(pl.col("reference").is_not_null()).select("question_id", "reference").iter_rows()
    )
    wanted = answers.filter(pl.col("question_id").is_in(list(references)))
    texts = _texts(index)
    shown: dict[str, dict[object, list[str]]] = {}
    used = contexts.filter(pl.col("used")).sort("answer_id", "position")
    for answer_id, position, kind, record_id, own in used.select(*_OF_A_ROW).iter_rows():
        if text := own or texts.get((kind, record_id)):
            node = kind if kind in _ONE_NODE else position
            shown.setdefault(answer_id, {}).setdefault(node, []).append(text)
    return [
        QualityItem(
            id=row["answer_id"],
            question=row["question"],
            answer=without_citations(row["text"]),
            reference=references[row["question_id"]],
            contexts=tuple("\n".join(texts) for texts in shown.get(row["answer_id"], {}).values()),
            refused=row["refused"],
        )
        for row in wanted.iter_rows(named=True)
    ]


def _texts(index: IndexSnapshot) -> dict[tuple[str, str], str]:
    frames = [
        ("source", index.text_chunks.select("text_unit_id", "text")),
        ("report", index.reports.select("report_id", "content")),
        ("entity", index.entities.select("entity_id", pl.format("{}: {}", "title", "description"))),
        ("relationship", index.relationships.select("relationship_id", "description")),
    ]
    if index.claims is not None:
        frames.append(("claim", index.claims.select("claim_id", "description")))
    for part in index.parts.values():
        frames += part.texts(index.entities).items()
    return {(kind, key): text for kind, frame in frames for key, text in frame.iter_rows() if text}


def quality_frames(
    items: Sequence[QualityItem], judge: QualityJudge | None, families: Sequence[Family], embed: Embed
) -> tuple[Rows, Rows]:
    """Return the rows of ``evaluation.quality_scores`` and ``evaluation.quality_verdicts``.

    Without a judge there are the lexical measures alone, under their own names.

    Args:
        items: from :func:`quality_items`.
        judge: gives verdicts.
        families: whose formulas.
        embed: vectors of texts.
    """
    if judge is None or not families or not items:
        return lexical_measures(items), []
    scores, verdicts = measure(items, judge, families=families, embed=embed)
    return [*scores, *lexical_measures(items)], verdicts
