"""The previous extraction of a corpus, and whether its rows can be reused."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import polars as pl

from graphrag_dagster.kernel.catalogue.registry import engines, engines_reading, models_here, stage_of, tasks
from graphrag_dagster.kernel.common.changes import flattened
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.pipeline.updates.inputs import model_of, replies_in, unlike
from graphrag_dagster.kernel.settings.corpus import CorpusSettings
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
from graphrag_dagster.systems.graphrag.extraction.frames import ExtractionFrames
from graphrag_dagster.systems.graphrag.settings import ClaimSettings, ExtractionSettings

#: As :class:`~graphrag_dagster.systems.graphrag.extraction.frames.ExtractionFrames` has them.
_TABLES = (GLEANED_ENTITIES, GLEANED_RELATIONSHIPS, CLAIMS, UNIT_LEDGER, QUARANTINE, TYPINGS)
#: It tells whatever engine which units to read.
_DETECTOR = "py3langid"
_PIPELINE = "extraction.pipeline"
#: The tasks of an extraction that a model may do.
_ASKED = ("graph_extractor", "claim_extractor")


def state_of(settings: CorpusSettings, code: str) -> pl.DataFrame:
    """Return all that decides what a text unit gives: rows of ``extraction.extraction_state``.

    Args:
        settings: of the corpus.
        code: version of the code that extracts.

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
    if _parses(settings):
        parts["pipeline version"] = _pipeline_version(own.pipeline)
    stage, libraries, given = stage_of("extraction"), {_DETECTOR}, flattened(settings.model_dump(mode="json"))
    for name in sorted(_engines(settings)):
        engine = engines()[name]
        libraries.update(engine.libraries.get(stage, ()))
        read = (key for key in given if key.startswith(engine.settings))
        parts |= {key: given[key] for key in read if stage_of(key.partition(".")[0]) == stage}
        parts |= {f"{key} is": one for key, one in models_here(engine, settings).items()}
    parts |= {package: _version_of(package) for package in sorted(libraries)}
    return EXTRACTION_STATE.frame({"part": name, "value": str(value)} for name, value in parts.items())


def reusable_extraction(
    warehouse: Warehouse,
    corpus: str,
    settings: CorpusSettings,
    state: pl.DataFrame,
    remembered: Callable[[Sequence[str]], set[str]],
) -> tuple[ExtractionFrames | None, str]:
    """Return the corpus's extraction where its rows may be taken over, else None; and why not.

    Units of which a model's reply was lost, or is no longer cached, are not in the ledger that comes: they
    are asked about again.

    Args:
        warehouse: with the tables of before.
        corpus: its name.
        settings: of the corpus.
        state: see :func:`state_of`.
        remembered: those of some keys under which there still is a reply.
    """
    if _parses(settings) and not _pipeline_version(settings.section(ExtractionSettings).pipeline):
        return None, "the version of the spaCy pipeline cannot be told"
    if why := unlike(warehouse, corpus, EXTRACTION_STATE, state):
        return None, why
    with warehouse.reading(corpus) as reader:
        earlier = ExtractionFrames(*(reader.read(table) for table in _TABLES))
    return replace(earlier, ledger=_lasting(earlier, remembered)), "nothing was"


def _lasting(earlier: ExtractionFrames, remembered: Callable[[Sequence[str]], set[str]]) -> pl.DataFrame:
    """The rows of the ledger whose units would be read as they were."""
    forgotten = set(keys := replies_in(earlier.ledger)) - remembered(keys)
    lost = earlier.quarantine.filter(kind="reply")
    asked_anew = earlier.ledger.filter(pl.col("replies").list.eval(pl.element().is_in(forgotten)).list.any())
    return earlier.ledger.join(lost, on="text_unit_id", how="anti").join(
        asked_anew, on="text_unit_id", how="anti"
    )


def _engines(settings: CorpusSettings) -> set[str]:
    """The names of the engines that extract."""
    sections = filter(settings.does, ("extraction", "claims"))
    return {settings.engine_of(section) for section in sections}


def _parses(settings: CorpusSettings) -> bool:
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
