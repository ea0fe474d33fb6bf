"""What the files of graphs hold, as rows of tables."""

from collections.abc import Iterator

from graphrag_dagster.kernel.pipeline.step import StepRun, Stored, Tables
from graphrag_dagster.kernel.pipeline.updates.removals import check_removals


def imports(_tables: Tables, run: StepRun) -> Iterator[Stored]:
    """What the files of graphs hold, and what became of each row."""
    # Readers of graphs are many, and corpora of documents need none.
    from graphrag_dagster.apps.interchange.importing.taking_in import take_in

    check_removals(run.corpora, run.warehouse, run.corpus)
    for table, written in take_in(run.corpora, run.warehouse, run.corpus).items():
        yield Stored(table, written)
