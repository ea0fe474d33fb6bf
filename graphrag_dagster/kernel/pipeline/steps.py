"""The steps of the pipeline in order: those of the kernel and of all systems.

Each comes after its inputs. Publishing comes last, and takes every output that no other step reads.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from graphrag_dagster.kernel.catalogue.registry import loaded, stages, systems
from graphrag_dagster.kernel.pipeline.corpus import corpus
from graphrag_dagster.kernel.pipeline.publishing import published_results, published_snapshot
from graphrag_dagster.kernel.pipeline.step_declaration import Step, by_queries
from graphrag_dagster.kernel.tables import (
    COMMUNITY_REPORTS,
    CONTEXT_SIZES,
    CORPUS_SUMMARY,
    DOCUMENT_METADATA,
    DOCUMENT_PERIODS,
    DOCUMENTS,
    FILES,
    IMPORT_ACCOUNT,
    IMPORTED_DOCUMENTS,
    IMPORTED_FILES,
    IMPORTED_TEXT_UNITS,
    KERNEL_TABLES,
    LAYOUT,
    MODEL_USAGE,
    RUN_USAGE,
    TEXT_CHUNKS,
    UNIT_LEDGER,
    Table,
)

SNAPSHOT, RESULTS = "marts/published_snapshot", "marts/published_results"

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
        group="marts",
    ),
    Step(
        "published_results",
        published_results,
        artifact=RESULTS,
        side_tables=(MODEL_USAGE, RUN_USAGE),
        group="results",
        requested=True,
    ),
)


def _in_order(declared: Sequence[Step], before: Sequence[Step] = ()) -> Sequence[Step]:
    """Each step after those whose assets its own are made of; what nobody makes is left out of that."""
    makers = {key: step for step in (*before, *declared) for key in step.keys}
    left, done = list(declared), list[Step]()

    def waits(step: Step) -> bool:
        of = {*step.made_of, *(one for made_of in step.assets.values() for one in made_of)}
        return any(makers[one] in left and makers[one] is not step for one in of if one in makers)

    while left:
        following = next(step for step in left if not waits(step))
        left.remove(following)
        done.append(
            replace(
                following,
                assets={
                    table: tuple(one for one in made_of if one in makers)
                    for table, made_of in following.assets.items()
                },
            )
        )
    return done


def _ends(steps: Iterable[Step]) -> tuple[Table | str, ...]:
    """Assets that no other is made of."""
    every = list(steps)
    used = {one for step in every for made_of in (step.made_of, *step.assets.values()) for one in made_of}
    return tuple(key for step in every for key in step.keys if key not in used)


def _stage(step: Step) -> str:
    return step.parts[0] if step.parts else step.artifact.split("/")[0]


def _composed() -> Sequence[Step]:
    declared = [step for system in systems().values() if system.pipeline for step in loaded(system.pipeline)]
    own = (_CORPUS, _MARTS, _SNAPSHOT, _RESULTS)
    made = {table for step in (*own, *declared) for table in step.makes}
    # What no installed system makes is empty, so that it can be read.
    unmade = tuple(table for table in KERNEL_TABLES if table not in made)
    corpus = replace(_CORPUS, side_tables=(*_CORPUS.side_tables, *unmade))
    index = _in_order([corpus, *(one for one in declared if not one.requested), _MARTS])
    snapshot = replace(_SNAPSHOT, made_of=_ends(index))
    order = [*stages()]
    later = sorted((one for one in declared if one.requested), key=lambda one: order.index(_stage(one)))
    requested = _in_order(later, [*index, snapshot])
    return (*index, snapshot, *requested, replace(_RESULTS, made_of=(SNAPSHOT, *_ends(requested))))


#: Those of the index, then those with jobs of their own.
STEPS: Sequence[Step] = _composed()
INDEX_STEPS: Sequence[Step] = tuple(one for one in STEPS if not one.requested)


def step_of(table: Table) -> Step:
    """Return the step that makes a table."""
    return next(step for step in STEPS if table in step.makes)


def groups() -> Mapping[str, str]:
    """Return the name of the group of each step; numbered, since Dagster sorts groups by their names."""
    names = dict.fromkeys(step.group or step.name for step in STEPS)
    numbered = {name: f"{number:02}_{name}" for number, name in enumerate(names, start=1)}
    return {step.name: numbered[step.group or step.name] for step in STEPS}
