"""Changes of a corpus since its last publication, and the work to catch up."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from graphrag_dagster.kernel.catalogue.engines import Engine
from graphrag_dagster.kernel.catalogue.registry import (
    default_reranker,
    embedders,
    engines,
    engines_reading,
    rerankers,
    stage_of,
    stages,
    stages_made,
    stages_reading,
    tasks,
)
from graphrag_dagster.kernel.catalogue.tasks import SHARED_PROMPTS
from graphrag_dagster.kernel.common.state_comparison import Change, FileChanges, compare_values, flatten
from graphrag_dagster.kernel.pipeline.code_versions import code_of_tables
from graphrag_dagster.kernel.pipeline.corpus_changes import (
    changed_files,
    changed_settings,
    settings_at_publication,
)
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.model_settings import DECIDING_REPLIES, DECIDING_REQUESTS
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import Published, SnapshotProvenance, published, snapshots
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.declared_tables import declared_table


@dataclass(frozen=True, slots=True)
class UnfinishedIndex:
    """A run that has not finished.

    Attributes:
        run_id: its id.
        failed: whether it failed; otherwise it is running, or was killed without its end being recorded.
        begun: when it started.
        step: the step that failed.
    """

    run_id: str
    failed: bool
    begun: datetime
    step: str | None


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """A run that started after the last publication and has not published.

    ``state``: it failed, or it is running or was killed without its end being recorded. ``begun``: UTC, ISO
    8601.
    """

    run_id: str
    state: Literal["failed", "running or killed"]
    begun: str
    step: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """Differences from the published state.

    Attributes:
        corpus: its name.
        snapshot: the published state; None if there is none, and everything must be made.
        files: changed files.
        settings: changed keys.
        prompts: names of changed prompts.
        models: changed models by task.
        code: assets with changed code.
        libraries: changed versions of packages that affect results.
        package: the old and new version of this package, if they differ.
        redo: stages of the index that must run again, in order.
        asked: affected stages that have their own jobs.
        unfinished: a run that did not finish.
        asks_models: whether a stage of the index calls a model.
        newest: whether the current snapshot is the one published last; False after a rollback.
        damaged: whether the current snapshot was modified after publication.
    """

    corpus: str
    snapshot: Published | None
    files: FileChanges
    settings: tuple[Change, ...] = ()
    prompts: tuple[str, ...] = ()
    models: tuple[Change, ...] = ()
    code: tuple[str, ...] = ()
    libraries: tuple[Change, ...] = ()
    package: Change | None = None
    redo: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    unfinished: UnfinishedRun | None = None
    asks_models: bool = False
    newest: bool = True
    damaged: bool = False

    @property
    def up_to_date(self) -> bool:
        """Whether there is nothing to do."""
        done = self.snapshot is not None and not self.damaged
        return done and not self.redo and not self.unfinished

    @property
    def unchanged(self) -> bool:
        """Whether nothing at all differs, and the published state is the newest."""
        differing = (self.files, self.settings, self.models, self.prompts, self.code, self.libraries)
        return self.up_to_date and self.newest and not any(differing) and self.package is None


def status_of(
    name: str, unfinished_index: Callable[[str], UnfinishedIndex | None] = lambda _: None
) -> Status:
    """Compare a corpus with its published state. Files are hashed, not parsed.

    Args:
        name: the corpus.
        unfinished_index: returns the last run to index a corpus if it has not succeeded; default: none is
            known.

    Raises:
        GraphragError: the corpus or its settings are invalid, or the published state is damaged.
    """
    store, warehouse = CorpusStore(), Warehouse()
    settings = store.settings(name)
    snapshot = published(warehouse, name)
    files = changed_files(store, name, snapshot)
    unfinished = _unfinished(unfinished_index(name), snapshot)
    if snapshot is None:
        return Status(
            name,
            None,
            files,
            redo=tuple(settings.stages_made("index")),
            unfinished=unfinished,
            asks_models=_asks_models(settings),
        )
    newest = snapshots(warehouse, name)[0].version == snapshot.version
    compared = _compare(name, settings, snapshot, files, unfinished)
    return replace(compared, newest=newest, damaged=not snapshot.intact())


def _compare(
    name: str,
    settings: CorpusSettings,
    snapshot: Published,
    files: FileChanges,
    unfinished: UnfinishedRun | None,
) -> Status:
    then: Mapping[str, Any] = snapshot.manifest
    now = SnapshotProvenance(settings).told(None)
    old, new = settings_at_publication(settings, then), flatten(now["settings"])
    changed = changed_settings(settings, snapshot)
    prompts = [change.key for change in _common_changes(then, "prompts", now["prompts"])]
    models = [change for change in _common_changes(then, "models", now["models"]) if change.key != "embedder"]
    code = [change.key for change in _common_changes(then, "code", code_of_tables())]
    affected = stages_of_settings(changed, old, new) | stages_of_prompts(prompts, new)
    libraries = _common_changes(then, "libraries", now["libraries"])
    affected |= {declared_table(key.replace("/", ".")).group for key in code}
    # Endpoint models are identified by their task, local models by the setting that names them.
    sections = [section for section, dot, _ in (change.key.partition(".") for change in models) if dot]
    affected = affected.union(*map(stages_reading, sections))
    affected |= stages_of_libraries((change.key for change in libraries), new)
    if files:
        affected.add("corpus")
    redo = following(affected, _indexed(settings, changed))
    requested = [stage for stage in settings.stages_made("request") if stage in affected]
    package = compare_values({"package": then.get("package", now["package"])}, {"package": now["package"]})
    return Status(
        name,
        snapshot,
        files,
        tuple(changed),
        tuple(prompts),
        tuple(models),
        tuple(code),
        tuple(libraries),
        package[0] if package else None,
        tuple(redo),
        tuple(requested),
        unfinished,
        _asks_models(settings),
    )


def _indexed(settings: CorpusSettings, changed: Iterable[Change]) -> list[str]:
    """Return the stages of an index, including those just switched off, whose tables become empty."""
    keys = {change.key for change in changed}
    switched = {name for name, s in stages().items() if s.switch and f"{s.switch}.enabled" in keys}
    return [name for name in stages_made("index") if settings.makes(name) or name in switched]


def _asks_models(settings: CorpusSettings) -> bool:
    return settings.embeds_at_endpoint or any(map(settings.asks_model, settings.asked_by_index))


def _common_changes(manifest: Mapping[str, Any], part: str, now: Mapping[str, Any]) -> list[Change]:
    """Return changes of keys that are in both; a key new in this package is not a change of the corpus."""
    before = manifest.get(part, {})
    both = before.keys() & now.keys()
    return compare_values({key: before[key] for key in both}, {key: now[key] for key in both})


def _unfinished(run: UnfinishedIndex | None, snapshot: Published | None) -> UnfinishedRun | None:
    if run is None or (snapshot and run.begun <= _time(snapshot.published)):
        return None
    return UnfinishedRun(
        run.run_id,
        "failed" if run.failed else "running or killed",
        run.begun.isoformat(timespec="seconds"),
        run.step,
    )


def _time(iso: str) -> datetime:
    time = datetime.fromisoformat(iso)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def stages_of_settings(
    changes: Iterable[Change], before: Mapping[str, Any], now: Mapping[str, Any]
) -> set[str]:
    """Return the stages whose results may be affected by changed settings; old and new settings are flat."""
    affected: set[str] = set()
    for change in changes:
        affected |= _stages_of_setting(change.key, before, now)
    return affected


def stages_of_prompts(names: Iterable[str], now: Mapping[str, Any]) -> set[str]:
    """Return the stages that use changed prompts: those whose engine calls a model."""
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
    affected = {stage.name for stage in stages().values() if changed.intersection(stage.libraries)}
    for section in {task.section for task in tasks().values()}:
        engine, stage = engines().get(_engine(section, now)), stage_of(section)
        if engine and changed.intersection(_libraries(engine, stage, now)):
            affected.add(stage)
    embedder = embedders().get(str(now.get("embeddings.embedder")))
    if embedder and changed.intersection(embedder.libraries):
        affected |= stages_reading("embeddings")
    reranker = rerankers().get(str(now.get("search.reranker") or default_reranker()))
    if reranker and changed.intersection(reranker.libraries):
        affected.add(stage_of("search"))
    return affected


def following(names: Iterable[str], indexed: Sequence[str]) -> list[str]:
    """Return the stages of an index that are named or depend on one that is, in their order."""
    affected: set[str] = set()
    for name in indexed:
        if name in names or affected.intersection(stages()[name].reads):
            affected.add(name)
    return [name for name in indexed if name in affected]


def _libraries(engine: Engine, stage: str, settings: Mapping[str, Any]) -> set[str]:
    chosen = (key for key in engine.library_settings if stage_of(key.partition(".")[0]) == stage)
    return {*engine.libraries.get(stage, ()), *(str(settings.get(key)) for key in chosen)}


def _stages_of_setting(key: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> set[str]:
    section, _, rest = key.partition(".")
    if key == "kind":
        return set(stages())
    if key == "engine" or rest == "engine":
        sections = {task.section for task in tasks().values()} if key == "engine" else {section}
        return {stage_of(name) for name in sections if _engine(name, before) != _engine(name, now)}
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
    affected = {
        stage_of(task.section)
        for task in tasks().values()
        if role in {None, task.role} and _asks_model(task.section, now)
    }
    embedder = embedders().get(str(now.get("embeddings.embedder")))
    if role in {None, "embed"} and embedder and embedder.asks_model:
        affected |= stages_reading("embeddings")
    return affected


def _asks_model(section: str, settings: Mapping[str, Any]) -> bool:
    engine = engines().get(_engine(section, settings))
    return engine is not None and engine.asks_model


def _engine(section: str, settings: Mapping[str, Any]) -> str:
    if not settings.get(f"{section}.enabled", section != "claims"):
        return "none"
    return str(settings.get(f"{section}.engine") or settings.get("engine"))
