"""Incremental extraction: new text units are extracted, rows of unchanged ones are reused.

A text unit's id is a hash of its document, place and text, so the same id means the same text. That is enough
only if a unit's result depends on the unit alone, as in the extractive engine, and for a model with an LLM
cache.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Final, Literal

import polars as pl

from graphrag_dagster.kernel.catalogue.registry import (
    engines,
    engines_reading,
    local_model_versions,
    stage_of,
    tasks,
)
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.common.state_comparison import flatten
from graphrag_dagster.kernel.pipeline.code_versions import (
    model_of,
    replies_in,
    why_not_reusable,
)
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import (
    CLAIMS,
    EXTRACTION_STATE,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    QUARANTINE,
    TYPINGS,
    UNIT_LEDGER,
)
from graphrag_dagster.kernel.tasks.task_ports import ClaimExtractor, GraphExtractor, TextUnit, UnitExtraction
from graphrag_dagster.systems.graphrag.index.extraction_tables import (
    ExtractionFrames,
    extraction_frames,
    joined_frames,
    resolve_dangling,
    with_claims,
)
from graphrag_dagster.systems.graphrag.settings import ClaimSettings, ExtractionSettings

_COUNTED = ("entities", "relationships", "claims", "quarantined")
_UNIT = "text_unit_id"


@dataclass(frozen=True)
class ExtractedUnits:
    """The tables of all units, and the rows of the ledger of those that were taken over."""

    frames: ExtractionFrames
    taken_over: pl.DataFrame


def extract_new(
    text_chunks: pl.DataFrame,
    earlier: ExtractionFrames | None,
    extract: Callable[[pl.DataFrame], ExtractionFrames],
) -> ExtractedUnits:
    """Extract the units that are not in an earlier extraction, and join both to what a whole one would give.

    Args:
        text_chunks: rows of ``corpus.text_chunks``.
        earlier: tables of an extraction that the same code and settings made, in any order; None without one.
        extract: extracts the given rows of ``text_chunks``.

    Returns:
        the same rows in the same order as ``extract(text_chunks)`` gives. A unit whose rows do not agree with
        its ledger, as after a write that was cut off, is extracted again.
    """
    if earlier is None:
        made = extract(text_chunks)
        return ExtractedUnits(made, made.ledger.clear())
    known = _complete_units(earlier).join(text_chunks.select(_UNIT), on=_UNIT, how="semi")
    made = extract(text_chunks.join(known, on=_UNIT, how="anti"))
    parts = {name: part.join(known, on=_UNIT, how="semi") for name, part in vars(earlier).items()}
    taken_over = ExtractionFrames(**parts)
    return ExtractedUnits(in_order([taken_over, made], text_chunks), taken_over.ledger)


def _complete_units(frames: ExtractionFrames) -> pl.DataFrame:
    """Ids of the units all of whose records are there, as the ledger counts them."""
    parts = (frames.entities, frames.relationships, frames.claims, frames.quarantine)
    counts = [part.group_by(_UNIT).len(f"{name}_found") for name, part in zip(_COUNTED, parts, strict=True)]
    ledger = reduce(lambda left, right: left.join(right, on=_UNIT, how="left"), counts, frames.ledger)
    agreed = [pl.col(name) == pl.col(f"{name}_found").fill_null(0) for name in _COUNTED]
    return ledger.filter(*agreed).select(_UNIT)


def in_order(parts: Sequence[ExtractionFrames], text_chunks: pl.DataFrame) -> ExtractionFrames:
    """Return the rows of all parts in the order of the corpus, with claims numbered anew."""
    places = text_chunks.select(_UNIT, pl.col("human_readable_id").alias("place"))
    joined: dict[str, pl.DataFrame] = {}
    for name, last in vars(parts[-1]).items():
        rows = pl.concat([vars(part)[name].select(last.columns).cast(last.schema) for part in parts])
        order = ("place", "position") if "position" in last.columns else ("place",)
        joined[name] = rows.join(places, on=_UNIT).sort(order).select(last.columns)
    numbers = pl.int_range(pl.len(), dtype=pl.Int32).alias("human_readable_id")
    return ExtractionFrames(**joined | {"claims": joined["claims"].with_columns(numbers)})


_AT_ONCE: Final = 512


def extract_units(
    text_chunks: pl.DataFrame,
    *,
    extractor: GraphExtractor,
    claim_extractor: ClaimExtractor | None,
    dangling: Literal["quarantine", "create"],
) -> ExtractionFrames:
    """Extract every text unit, in the order of the corpus.

    Args:
        text_chunks: rows of ``corpus.text_chunks``.
        extractor: finds entities and relationships.
        claim_extractor: finds claims; None where claims are not wanted.
        dangling: what becomes of relationships whose ends are no entities of their unit.

    Raises:
        EngineError: the engine cannot do what was asked of it.
        EndpointError: the model endpoint cannot be used at all.
    """
    ordered = text_chunks.sort("human_readable_id")
    units = [TextUnit(*row) for row in ordered.select("text_unit_id", "text").iter_rows()]
    extractions = (resolve_dangling(found, dangling) for found in extractor.extract(units))
    if claim_extractor is None:
        return joined_frames(extraction_frames(some, extractor.engine) for some in _in_batches(extractions))
    graphs = list(extractions)
    names = [sorted({entity.name for entity in found.entities}) for found in graphs]
    both = with_claims(graphs, list(claim_extractor.extract_claims(units, names)))
    return extraction_frames(both, extractor.engine, claim_extractor.engine)


def _in_batches(extractions: Iterator[UnitExtraction]) -> Iterator[list[UnitExtraction]]:
    """Some units at a time, at least once; as rows of a frame they take a fraction of the memory."""
    yield list(islice(extractions, _AT_ONCE))
    while some := list(islice(extractions, _AT_ONCE)):
        yield some


#: As :class:`~graphrag_dagster.systems.graphrag.index.extraction_tables.ExtractionFrames` has them.
_TABLES = (GLEANED_ENTITIES, GLEANED_RELATIONSHIPS, CLAIMS, UNIT_LEDGER, QUARANTINE, TYPINGS)
#: It tells whatever engine which units to read.
_DETECTOR = "py3langid"
_PIPELINE = "extraction.pipeline"
#: The tasks of an extraction that a model may do.
_ASKED = ("graph_extractor", "claim_extractor")


def state_of(settings: CorpusSettings, code: str) -> pl.DataFrame:
    """Return all that decides what a text unit gives: rows of ``extraction.extraction_state``.

    Raises:
        EngineError: what an engine needs on this machine is not there.
    """
    own, claims = settings.section(ExtractionSettings), settings.section(ClaimSettings)
    parts: dict[str, object] = {
        "code": code,
        "columns": stable_id(*(table.columns for table in _TABLES)),
        "engine": settings.engine_of("extraction"),
        "claims": settings.engine_of("claims") if claims.enabled else "none",
        "dangling": own.dangling,
        "languages": ", ".join(own.languages),
    }
    for name in _ASKED:
        if settings.asks_model(tasks()[name].section):
            parts |= {"relation_labels": own.relation_labels, f"model of {name}": model_of(settings, name)}
    if _uses_parser(settings):
        parts["pipeline version"] = _pipeline_version(own.pipeline)
    stage, libraries, given = stage_of("extraction"), {_DETECTOR}, flatten(settings.model_dump(mode="json"))
    for name in sorted(_engines(settings)):
        engine = engines()[name]
        libraries.update(engine.libraries.get(stage, ()))
        read = (key for key in given if key.startswith(engine.settings))
        parts |= {key: given[key] for key in read if stage_of(key.partition(".")[0]) == stage}
        parts |= {f"{key} is": one for key, one in local_model_versions(engine, settings).items()}
    parts |= {package: _version_of(package) for package in sorted(libraries)}
    return EXTRACTION_STATE.frame({"part": name, "value": str(value)} for name, value in parts.items())


def reusable_extraction(
    warehouse: Warehouse,
    corpus: str,
    settings: CorpusSettings,
    state: pl.DataFrame,
    cached: Callable[[Sequence[str]], set[str]],
) -> tuple[ExtractionFrames | None, str]:
    """Return the corpus's extraction where its rows may be taken over, else None; and why not.

    Units of which a model's reply was lost, or is no longer cached, are not in the ledger that comes: they
    are asked about again.
    """
    if _uses_parser(settings) and not _pipeline_version(settings.section(ExtractionSettings).pipeline):
        return None, "the version of the spaCy pipeline cannot be told"
    if why := why_not_reusable(warehouse, corpus, EXTRACTION_STATE, state):
        return None, why
    with warehouse.reading(corpus) as reader:
        earlier = ExtractionFrames(*(reader.read(table) for table in _TABLES))
    return replace(earlier, ledger=_reusable_rows(earlier, cached)), "nothing was"


def _reusable_rows(earlier: ExtractionFrames, cached: Callable[[Sequence[str]], set[str]]) -> pl.DataFrame:
    """The rows of the ledger whose units would be read as they were."""
    forgotten = set(keys := replies_in(earlier.ledger)) - cached(keys)
    lost = earlier.quarantine.filter(kind="reply")
    asked_anew = earlier.ledger.filter(pl.col("replies").list.eval(pl.element().is_in(forgotten)).list.any())
    return earlier.ledger.join(lost, on="text_unit_id", how="anti").join(
        asked_anew, on="text_unit_id", how="anti"
    )


def _engines(settings: CorpusSettings) -> set[str]:
    """The names of the engines that extract."""
    sections = filter(settings.does, ("extraction", "claims"))
    return {settings.engine_of(section) for section in sections}


def _uses_parser(settings: CorpusSettings) -> bool:
    """Whether an engine that extracts reads the text units with the spaCy pipeline."""
    return bool(_engines(settings) & engines_reading(_PIPELINE))


def _pipeline_version(pipeline: str) -> str:
    """Version of an installed pipeline, hash of one in a folder, else an empty string."""
    folder = Path(pipeline)
    if folder.is_dir():
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        return stable_id(*(part for file in files for part in (file.relative_to(folder), file.read_bytes())))
    return _version_of(pipeline)


def _version_of(package: str) -> str:
    """Version of a package, an empty string where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
