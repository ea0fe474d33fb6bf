"""The step of imports: what the files of graphs hold, as rows of tables."""

from collections.abc import Iterator

from graphrag_dagster.apps.interchange.tables import IMPORT_QUARANTINE
from graphrag_dagster.kernel.pipeline.corpus_changes import check_before_index
from graphrag_dagster.kernel.pipeline.step_declaration import Step, StepRun, Stored
from graphrag_dagster.kernel.tables.import_tables import (
    IMPORT_ACCOUNT,
    IMPORTED_CLAIMS,
    IMPORTED_COMMUNITIES,
    IMPORTED_DOCUMENTS,
    IMPORTED_ENTITIES,
    IMPORTED_FILES,
    IMPORTED_RELATIONS,
    IMPORTED_REPORTS,
    IMPORTED_TEXT_UNITS,
)
from graphrag_dagster.kernel.tables.table_declaration import Tables


def imports(_tables: Tables, run: StepRun) -> Iterator[Stored]:
    """What the files of graphs hold, and what became of each row."""
    # Readers of graphs are many, and corpora of documents need none.
    from graphrag_dagster.apps.interchange.graph_import import import_graphs

    check_before_index(run.corpora, run.warehouse, run.corpus)
    for table, written in import_graphs(run.corpora, run.warehouse, run.corpus).items():
        yield Stored(table, written)


STEPS = (
    Step(
        "imports",
        imports,
        assets=dict.fromkeys((IMPORTED_FILES, IMPORTED_ENTITIES, IMPORTED_RELATIONS, IMPORT_ACCOUNT), ()),
        side_tables=(
            *(IMPORTED_DOCUMENTS, IMPORTED_TEXT_UNITS, IMPORTED_CLAIMS),
            *(IMPORTED_COMMUNITIES, IMPORTED_REPORTS, IMPORT_QUARANTINE),
        ),
    ),
)
