"""Replies of a model that were mended, as the commands tell of them.

A reply is mended only where nothing of it is lost, so that mended ones are shown and change no exit code.
"""

from graphrag_dagster.apps.evaluation.tables.evaluation import ANSWER_SENTENCES, JUDGEMENTS, QUALITY_SCORES
from graphrag_dagster.apps.evaluation.tables.questions import CORPUS_DESCRIPTIONS, TESTSET_DOCUMENTS
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.storage.warehouse import Warehouse

#: Whose rows count mended replies, the column that does, and what such rows are called.
INDEXED = (
    (tables.UNIT_LEDGER, "repaired", "text units"),
    (tables.DECISIONS, "repaired", "pairs of names"),
    (tables.ENTITIES, "description_repaired", "entities"),
    (tables.RELATIONSHIPS, "description_repaired", "relationships"),
    (tables.MERGED_CLAIMS, "description_repaired", "claims"),
    (tables.COMMUNITY_REPORTS, "repaired", "reports"),
)
ANSWERED = (
    (CORPUS_DESCRIPTIONS, "repaired", "descriptions of the corpus with its questions"),
    (TESTSET_DOCUMENTS, "repaired", "documents of the testset"),
    (tables.ANSWERS, "repaired", "answers"),
)
EVALUATED = (
    *ANSWERED,
    (JUDGEMENTS, "repaired", "judgements"),
    (ANSWER_SENTENCES, "repaired", "sentences"),
    (QUALITY_SCORES, "repaired", "quality scores"),
)


def repaired_rows(
    warehouse: Warehouse, corpus: str, counted: tuple[tuple[tables.Table, str, str], ...]
) -> dict[str, int]:
    """Return how many rows of each kind rest on mended replies or records; kinds without any are left out."""
    found = {}
    for table, column, what in counted:
        frame = warehouse.read_if_present(table, corpus)
        if frame is not None and (count := int((frame[column].fill_null(0) > 0).sum())):
            found[what] = count
    return found


def repaired_line(rows: dict[str, int]) -> str | None:
    """Return one line on them; None where nothing was mended."""
    told = ", ".join(f"{count:,} {what}" for what, count in rows.items())
    return f"repaired without loss: {told}; see the columns repaired" if told else None
