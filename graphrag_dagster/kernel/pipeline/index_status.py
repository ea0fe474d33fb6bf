"""Changes of a corpus since its last publication, and the work to catch up."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from graphrag_dagster.kernel.catalogue.registry import (
    asks_model,
    default_reranker,
    embedders,
    engines,
    engines_reading,
    rerankers,
    stage_of,
    stages,
    stages_made,
    tasks,
)
from graphrag_dagster.kernel.catalogue.system import Stage
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
class UnfinishedRun:
    """A run to index a corpus that has not succeeded.

    Attributes:
        run_id: its id.
        state: it failed, or it is running or was killed without its end being recorded.
        begun: when it started, UTC in ISO 8601.
        step: the step that failed.
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


def status_of(name: str, last_run: UnfinishedRun | None = None) -> Status:
    """Compare a corpus with its published state. Files are hashed, not parsed.

    Args:
        name: the corpus.
        last_run: the last run to index the corpus if it has not succeeded.

    Raises:
        GraphragError: the corpus or its settings are invalid, or the published state is damaged.
    """
    store, warehouse = CorpusStore(), Warehouse()
    settings = store.settings(name)
    snapshot = published(warehouse, name)
    files = changed_files(store, name, snapshot)
    if snapshot is None:
        return Status(
            name,
            None,
            files,
            redo=tuple(settings.stages_made("index")),
            unfinished=last_run,
            asks_models=_asks_models(settings),
        )
    if last_run and _time(last_run.begun) <= _time(snapshot.published):
        last_run = None
    newest = snapshots(warehouse, name)[0].version == snapshot.version
    compared = _compare(name, settings, snapshot, files)
    return replace(compared, unfinished=last_run, newest=newest, damaged=not snapshot.intact())


def _compare(name: str, settings: CorpusSettings, snapshot: Published, files: FileChanges) -> Status:
    manifest: Mapping[str, Any] = snapshot.manifest
    present = SnapshotProvenance(settings).told(None)
    now = {**present, "settings": flatten(present["settings"]), "code": code_of_tables()}
    then = {**manifest, "settings": settings_at_publication(settings, manifest)}
    changes = {}
    for part in ("prompts", "models", "code", "libraries"):
        # What is new in this package is no change of the corpus.
        before = manifest.get(part, {})
        common = before.keys() & now[part].keys()
        then[part], now[part] = ({key: state[key] for key in common} for state in (before, now[part]))
        changes[part] = compare_values(then[part], now[part])
    changed = changed_settings(settings, snapshot)
    affected = outdated_stages(then, now)
    if files:
        affected.add("corpus")
    package = compare_values(
        {"package": manifest.get("package", now["package"])}, {"package": now["package"]}
    )
    return Status(
        name,
        snapshot,
        files,
        tuple(changed),
        tuple(change.key for change in changes["prompts"]),
        tuple(change for change in changes["models"] if change.key != "embedder"),
        tuple(change.key for change in changes["code"]),
        tuple(changes["libraries"]),
        package[0] if package else None,
        tuple(following(affected, _indexed(settings, changed))),
        tuple(stage for stage in settings.stages_made("request") if stage in affected),
        asks_models=_asks_models(settings),
    )


def _indexed(settings: CorpusSettings, changed: Iterable[Change]) -> list[str]:
    """Return the stages of an index, including those just switched off, whose tables become empty."""
    keys = {change.key for change in changed}
    switched = {name for name, s in stages().items() if s.switch and f"{s.switch}.enabled" in keys}
    return [name for name in stages_made("index") if settings.makes(name) or name in switched]


def _asks_models(settings: CorpusSettings) -> bool:
    return settings.embeds_at_endpoint or any(map(settings.asks_model, settings.asked_by_index))


def _time(iso: str) -> datetime:
    time = datetime.fromisoformat(iso)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def outdated_stages(then: Mapping[str, Any], now: Mapping[str, Any]) -> set[str]:
    """Return the stages whose inputs differ, beside files and tables of other stages.

    Args:
        then: ``settings`` by dotted key, and ``models``, ``code`` and ``libraries`` as in a manifest.
        now: the same, with the same keys but for those of settings.
    """
    return {stage.name for stage in stages().values() if _inputs(stage, then) != _inputs(stage, now)}


def _inputs(stage: Stage, state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what decides the tables of a stage, by kind and name."""
    settings = state["settings"]
    done = [task for task in tasks().values() if stage_of(task.section) == stage.name]
    chosen = {task.section: _engine(task.section, settings) for task in done}
    asked = [task for task in done if asks_model(chosen[task.section])]
    roles, libraries = {task.role for task in asked}, {*stage.libraries}
    embedder = embedders().get(str(settings.get("embeddings.embedder")))
    if embedder and "embeddings" in stage.sections:
        libraries.update(embedder.libraries)
        roles.update(["embed"] if embedder.asks_model else [])
    reranker = rerankers().get(str(settings.get("search.reranker") or default_reranker()))
    if reranker and stage_of("search") == stage.name:
        libraries.update(reranker.libraries)
    for engine in filter(None, map(engines().get, chosen.values())):
        own = (key for key in engine.library_settings if stage_of(key.partition(".")[0]) == stage.name)
        libraries.update(engine.libraries.get(stage.name, ()), (str(settings.get(key)) for key in own))
    decisive: Mapping[str, Callable[[str], bool]] = {
        "settings": lambda key: _reads(stage, key, settings) or _decides_replies(key, roles),
        # Endpoint models are identified by their task, local models by the setting that names them.
        "models": lambda key: "." in key and key.partition(".")[0] in stage.sections,
        # It covers the prompts of the stage.
        "code": lambda key: declared_table(key.replace("/", ".")).group == stage.name,
        "libraries": libraries.__contains__,
    }
    parts = {
        # A key that is not there is one without a value.
        part: {key: value for key, value in state[part].items() if value is not None and decides(key)}
        for part, decides in decisive.items()
    }
    return {"kind": settings.get("kind"), "engines": chosen, **parts}


def _reads(stage: Stage, key: str, settings: Mapping[str, Any]) -> bool:
    section, _, rest = key.partition(".")
    if section not in stage.sections or rest == "engine" or key.startswith(stage.without_effect):
        return False
    reading = engines_reading(key)
    return not reading or _engine(section, settings) in reading


def _decides_replies(key: str, roles: Set[str]) -> bool:
    section, _, rest = key.partition(".")
    if section != "model" or not roles:
        return False
    if rest.startswith("tasks."):
        _, role, rest = rest.split(".", 2)
        if role not in roles:
            return False
    return rest.split(".")[0] in (*DECIDING_REPLIES, *DECIDING_REQUESTS)


def following(names: Iterable[str], indexed: Sequence[str]) -> list[str]:
    """Return the stages of an index that are named or depend on one that is, in their order."""
    affected: set[str] = set()
    for name in indexed:
        if name in names or affected.intersection(stages()[name].reads):
            affected.add(name)
    return [name for name in indexed if name in affected]


def _engine(section: str, settings: Mapping[str, Any]) -> str:
    if not settings.get(f"{section}.enabled", section != "claims"):
        return "none"
    return str(settings.get(f"{section}.engine") or settings.get("engine"))
