"""Which stages a change concerns: settings, prompts and libraries by what reads them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphrag_dagster.catalogue.engines import Engine
from graphrag_dagster.catalogue.registry import (
    embedders,
    engines,
    engines_reading,
    rerankers,
    stage_of,
    stages,
    stages_reading,
    tasks,
)
from graphrag_dagster.catalogue.tasks import SHARED_PROMPTS
from graphrag_dagster.core.changes import Change
from graphrag_dagster.settings.model import DECIDING_REPLIES, DECIDING_REQUESTS


def stages_of_settings(
    changes: Iterable[Change], before: Mapping[str, Any], now: Mapping[str, Any]
) -> set[str]:
    """Return the stages whose results changed settings may change; flat settings before and now."""
    found: set[str] = set()
    for change in changes:
        found |= _stages_of_setting(change.key, before, now)
    return found


def stages_of_prompts(names: Iterable[str], now: Mapping[str, Any]) -> set[str]:
    """Return the stages that send changed prompts: those whose engine asks a model."""
    changed = set(names)
    shared = bool(changed.intersection(SHARED_PROMPTS))
    return {
        stage_of(task.section)
        for task in tasks().values()
        if _asks_model(task.section, now) and (shared or changed.intersection(task.prompts))
    }


def stages_of_libraries(names: Iterable[str], now: Mapping[str, Any]) -> set[str]:
    """Return the stages that use changed packages."""
    changed = set(names)
    found = {stage.name for stage in stages().values() if changed.intersection(stage.libraries)}
    for section in {task.section for task in tasks().values()}:
        engine, stage = engines().get(_engine(section, now)), stage_of(section)
        if engine and changed.intersection(_libraries(engine, stage, now)):
            found.add(stage)
    embedder = embedders().get(str(now.get("embeddings.embedder")))
    if embedder and changed.intersection(embedder.libraries):
        found |= stages_reading("embeddings")
    reranker = rerankers().get(str(now.get("search.reranker")))
    if reranker and changed.intersection(reranker.libraries):
        found.add(stage_of("search"))
    return found


def following(names: Iterable[str], indexed: Sequence[str]) -> list[str]:
    """Return the stages of an index that are named, or read what such a one makes, in their order."""
    found: set[str] = set()
    for name in indexed:
        if name in names or found.intersection(stages()[name].reads):
            found.add(name)
    return [name for name in indexed if name in found]


def _libraries(engine: Engine, stage: str, settings: Mapping[str, Any]) -> set[str]:
    chosen = (key for key in engine.library_settings if stage_of(key.partition(".")[0]) == stage)
    return {*engine.libraries.get(stage, ()), *(str(settings.get(key)) for key in chosen)}


def _stages_of_setting(key: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> set[str]:
    section, _, rest = key.partition(".")
    if key == "kind":
        return set(stages())
    if key == "engine" or rest == "engine":
        sections = {task.section for task in tasks().values()} if key == "engine" else {section}
        return {stage_of(one) for one in sections if _engine(one, before) != _engine(one, now)}
    if section == "model":
        return _stages_of_model(rest, now)
    reading = engines_reading(key)
    if reading and _engine(section, now) not in reading:
        return set()
    return {name for name in stages_reading(section) if not key.startswith(stages()[name].without_effect)}


def _stages_of_model(key: str, now: Mapping[str, Any]) -> set[str]:
    role = None
    if key.startswith("tasks."):
        _, role, key = key.split(".", 2)
    if key.split(".")[0] not in (*DECIDING_REPLIES, *DECIDING_REQUESTS):
        return set()
    found = {
        stage_of(task.section)
        for task in tasks().values()
        if role in {None, task.role} and _asks_model(task.section, now)
    }
    embedder = embedders().get(str(now.get("embeddings.embedder")))
    if role in {None, "embed"} and embedder and embedder.asks_model:
        found |= stages_reading("embeddings")
    return found


def _asks_model(section: str, settings: Mapping[str, Any]) -> bool:
    engine = engines().get(_engine(section, settings))
    return engine is not None and engine.asks_model


def _engine(section: str, settings: Mapping[str, Any]) -> str:
    if not settings.get(f"{section}.enabled", section != "claims"):
        return "none"
    return str(settings.get(f"{section}.engine") or settings.get("engine"))
