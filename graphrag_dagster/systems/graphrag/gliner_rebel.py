"""The engine ``gliner-rebel``: entities by GLiNER and relationships by REBEL, on this machine."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.graph_labels import relation_label
from graphrag_dagster.kernel.models.probing.capability_probes import (
    ENTITY_MODEL,
    RELATION_MODEL,
    ProbeFinding,
)
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.tasks.task_ports import GraphExtractor
from graphrag_dagster.systems.graphrag.settings import ExtractionSettings

if TYPE_CHECKING:
    from graphrag_dagster.engines.neural.gliner_rebel_models import (
        GlinerEntityModel,
        RebelRelationModel,
        Writing,
    )
    from graphrag_dagster.kernel.tasks.task_provider import TaskProvider

_TEXT = "Remdesivir treats COVID-19."
_MEND = "fix it, or set extraction.engine to extractive, which needs no model"


def graph_extractor(session: "TaskProvider") -> GraphExtractor:
    """Extractor of entities and relationships; it has no gleanings."""
    from graphrag_dagster.engines.neural.neural_extractor import NeuralGraphExtractor

    own = session.settings.section(ExtractionSettings)
    return NeuralGraphExtractor(
        _entity_model(session.settings),
        _relation_model(session.settings),
        languages=own.languages,
        wanted=[label for one in own.rebel.relations if (label := relation_label(one))],
    )


def models(settings: CorpusSettings) -> Mapping[str, str]:
    """Return the version of each model, and where it runs, by the setting that names it.

    Raises:
        EngineError: a model or a package that it needs is not there.
    """
    from graphrag_dagster.engines.neural.gliner_rebel_models import (
        choose_device,
        gliner_checkpoint,
        rebel_checkpoint,
    )

    own = settings.section(ExtractionSettings)
    used = (gliner_checkpoint(own.gliner.model), rebel_checkpoint(own.rebel.model))
    device = choose_device(own.device)
    return {one.setting: f"{one.version[:16]} on {device}" for one in used}


def probe_models(settings: CorpusSettings) -> list[ProbeFinding]:
    """Return whether the two models can be loaded and used."""
    return [
        _probe_model(ENTITY_MODEL, lambda: _entities_found(settings)),
        _probe_model(RELATION_MODEL, lambda: _relations_read(settings)),
    ]


def _probe_model(probe: str, use: Callable[[], str]) -> ProbeFinding:
    try:
        return ProbeFinding(probe, "works", use())
    except GraphragError as error:
        return ProbeFinding(probe, "fails", str(error), _MEND)


def _entities_found(settings: CorpusSettings) -> str:
    model = _entity_model(settings)
    model.mentions(_TEXT)
    return f"{model.checkpoint.name}@{model.checkpoint.version[:8]}: {len(model.labels)} labels"


def _relations_read(settings: CorpusSettings) -> str:
    model = _relation_model(settings)
    model.relations([_TEXT])
    return f"{model.checkpoint.name}@{model.checkpoint.version[:8]}: writes triples"


def _entity_model(settings: CorpusSettings) -> "GlinerEntityModel":
    from graphrag_dagster.engines.neural.gliner_rebel_models import choose_device, gliner_checkpoint

    own, gliner = settings.section(ExtractionSettings), settings.section(ExtractionSettings).gliner
    version, device = gliner_checkpoint(gliner.model).version, choose_device(own.device)
    return _shared_entity_model(
        gliner.model, version, tuple(gliner.labels), gliner.threshold, device, own.threads
    )


def _relation_model(settings: CorpusSettings) -> "RebelRelationModel":
    from graphrag_dagster.engines.neural.gliner_rebel_models import Writing, choose_device, rebel_checkpoint

    own, rebel = settings.section(ExtractionSettings), settings.section(ExtractionSettings).rebel
    version, device = rebel_checkpoint(rebel.model).version, choose_device(own.device)
    writing = Writing(rebel.beams, rebel.max_length, rebel.length_penalty, rebel.input_tokens, rebel.batch)
    return _shared_relation_model(rebel.model, version, writing, device, own.threads)


@lru_cache(maxsize=1)
def _shared_entity_model(
    model: str, _version: str, labels: tuple[str, ...], threshold: float, device: str, threads: int
) -> "GlinerEntityModel":
    """The model of this process: loading one takes seconds, and a second one as much memory again."""
    from graphrag_dagster.engines.neural.gliner_rebel_models import GlinerEntityModel

    return GlinerEntityModel(model, labels, threshold, device=device, threads=threads)


@lru_cache(maxsize=1)
def _shared_relation_model(
    model: str, _version: str, writing: "Writing", device: str, threads: int
) -> "RebelRelationModel":
    """As :func:`_shared_entity_model`."""
    from graphrag_dagster.engines.neural.gliner_rebel_models import RebelRelationModel

    return RebelRelationModel(model, writing, device=device, threads=threads)
