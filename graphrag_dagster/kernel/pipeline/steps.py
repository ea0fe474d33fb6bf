"""The steps of the pipeline in order: those of the kernel and of all systems.

Each follows its inputs. Publishing comes last, and depends on every output that no other step reads.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from graphlib import CycleError

from graphrag_dagster.errors import CatalogueError
from graphrag_dagster.kernel.catalogue.dependencies import dependency_order
from graphrag_dagster.kernel.catalogue.registry import load_target, stages, systems
from graphrag_dagster.kernel.pipeline.corpus import corpus
from graphrag_dagster.kernel.pipeline.publishing import (
    RESULTS as RESULTS,
)
from graphrag_dagster.kernel.pipeline.publishing import (
    SNAPSHOT as SNAPSHOT,
)
from graphrag_dagster.kernel.pipeline.publishing import (
    published_results,
    published_snapshot,
)
from graphrag_dagster.kernel.pipeline.step_declaration import Step, by_queries
from graphrag_dagster.kernel.tables.core_tables import (
    COMMUNITY_REPORTS,
    CONTEXT_SIZES,
    CORPUS_SUMMARY,
    DOCUMENT_METADATA,
    DOCUMENT_PERIODS,
    DOCUMENTS,
    FILES,
    LAYOUT,
    TEXT_CHUNKS,
    UNIT_LEDGER,
)
from graphrag_dagster.kernel.tables.declared_tables import KERNEL_TABLES
from graphrag_dagster.kernel.tables.import_tables import (
    IMPORT_ACCOUNT,
    IMPORTED_DOCUMENTS,
    IMPORTED_FILES,
    IMPORTED_TEXT_UNITS,
)
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.kernel.tables.usage_tables import MODEL_USAGE, RUN_USAGE

_CORPUS, _MARTS, _SNAPSHOT, _RESULTS = (
    Step(
        "corpus",
        corpus,
        reads=(IMPORTED_FILES, IMPORTED_DOCUMENTS, IMPORTED_TEXT_UNITS),
        assets={FILES: (IMPORTED_FILES,), DOCUMENTS: (FILES,), TEXT_CHUNKS: (DOCUMENTS,)},
        side_tables=(DOCUMENT_METADATA, DOCUMENT_PERIODS),
    ),
    Step(
        "marts",
        by_queries,
        assets={
            CORPUS_SUMMARY: (UNIT_LEDGER, IMPORT_ACCOUNT, COMMUNITY_REPORTS, LAYOUT),
            CONTEXT_SIZES: (COMMUNITY_REPORTS,),
        },
    ),
    Step(
        "published_snapshot",
        published_snapshot,
        artifact=SNAPSHOT,
        side_tables=(MODEL_USAGE, RUN_USAGE),
    ),
    Step(
        "published_results",
        published_results,
        artifact=RESULTS,
        side_tables=(MODEL_USAGE, RUN_USAGE),
        requested=True,
    ),
)


def _in_order(declared: Sequence[Step], before: Sequence[Step] = ()) -> Sequence[Step]:
    """Return each step after those it depends on; dependencies that no step makes are dropped.

    Raises:
        CatalogueError: steps wait for each other.
    """
    makers = {key: step.name for step in (*before, *declared) for key in step.keys}

    def needs(step: Step) -> list[str]:
        inputs = (*step.made_of, *(key for made_of in step.assets.values() for key in made_of))
        return [makers[key] for key in inputs if makers.get(key, step.name) != step.name]

    try:
        ordered = dependency_order({step.name: step for step in declared}, needs)
    except CycleError as error:
        names = " → ".join(error.args[1])
        raise CatalogueError(f"steps wait for each other: {names}; let one read less") from error
    return [
        replace(
            step,
            assets={
                table: tuple(key for key in made_of if key in makers)
                for table, made_of in step.assets.items()
            },
        )
        for step in ordered
    ]


def _final_assets(steps: Iterable[Step]) -> tuple[Table | str, ...]:
    """Return assets that no other asset depends on."""
    all_steps = list(steps)
    used = {key for step in all_steps for made_of in (step.made_of, *step.assets.values()) for key in made_of}
    return tuple(key for step in all_steps for key in step.keys if key not in used)


def _compose() -> Sequence[Step]:
    declared = [
        step for system in systems().values() if system.pipeline for step in load_target(system.pipeline)
    ]
    kernel_steps = (_CORPUS, _MARTS, _SNAPSHOT, _RESULTS)
    made_tables = {table for step in (*kernel_steps, *declared) for table in step.makes}
    # Tables that no installed system makes are written empty, so that they can be read.
    other_tables = tuple(table for table in KERNEL_TABLES if table not in made_tables)
    corpus = replace(_CORPUS, side_tables=(*_CORPUS.side_tables, *other_tables))
    index = _in_order([corpus, *(step for step in declared if not step.requested), _MARTS])
    snapshot = replace(_SNAPSHOT, made_of=_final_assets(index))
    order = [*stages()]
    later = sorted((step for step in declared if step.requested), key=lambda step: order.index(step.parts[0]))
    requested = _in_order(later, [*index, snapshot])
    return (*index, snapshot, *requested, replace(_RESULTS, made_of=(SNAPSHOT, *_final_assets(requested))))


#: The steps of the index, then those with separate jobs.
STEPS: Sequence[Step] = _compose()
