"""What changed in a corpus since it was last published, and what catching up takes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from graphrag_dagster.catalogue.registry import stages, stages_made, stages_reading
from graphrag_dagster.core.changes import Change, FileChanges, compare_values, flattened
from graphrag_dagster.operations.keeping.affected import (
    following,
    stages_of_libraries,
    stages_of_prompts,
    stages_of_settings,
)
from graphrag_dagster.operations.keeping.differences import changed_files, changed_settings, settings_then
from graphrag_dagster.orchestration.last_index import half_way
from graphrag_dagster.orchestration.versions import code_of_tables
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.published import Origin, Published, published, snapshots
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.tables import table


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A run that began after the last publication and has not published.

    ``state``: it failed, or it runs, or was killed so that nobody noted its end. ``begun``: UTC, ISO 8601.
    """

    run_id: str
    state: Literal["failed", "running or killed"]
    begun: str
    step: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """What differs from the published state.

    Attributes:
        corpus: its name.
        snapshot: the published state; None where there is none, and then everything is to be done.
        files: changed files.
        settings: changed keys.
        prompts: names of changed prompts.
        models: changed models by task.
        code: changed code by asset.
        libraries: changed versions of packages that decide results.
        package: versions of this package then and now where they differ.
        redo: stages of the index that are to be made again, in the order of the work.
        asked: stages with jobs of their own that are concerned.
        unfinished: a run that ended half-way.
        asks_models: whether a stage of the index asks a model.
        newest: whether the current snapshot was published last; after a rollback it was not.
        damaged: whether the current snapshot is no longer what was published.
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
    unfinished: Unfinished | None = None
    asks_models: bool = False
    newest: bool = True
    damaged: bool = False

    @property
    def up_to_date(self) -> bool:
        """Whether nothing is to be done."""
        done = self.snapshot is not None and not self.damaged
        return done and not self.redo and not self.unfinished

    @property
    def unchanged(self) -> bool:
        """Whether nothing at all differs, and the published state is the newest there is."""
        differing = (self.files, self.settings, self.models, self.prompts, self.code, self.libraries)
        return self.up_to_date and self.newest and not any(differing) and self.package is None


def status_of(name: str) -> Status:
    """Compare a corpus with its published state; files are hashed, not parsed.

    Args:
        name: the corpus.

    Raises:
        GraphragError: the corpus or its settings cannot be used, or the published state is damaged.
    """
    store, warehouse = CorpusStore(), Warehouse()
    settings = store.settings(name)
    snapshot = published(warehouse, name)
    files = changed_files(store, name, snapshot)
    unfinished = _unfinished(name, snapshot)
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
    compared = _compared(name, settings, snapshot, files, unfinished)
    return replace(compared, newest=newest, damaged=not snapshot.intact())


def _compared(
    name: str,
    settings: CorpusSettings,
    snapshot: Published,
    files: FileChanges,
    unfinished: Unfinished | None,
) -> Status:
    then: Mapping[str, Any] = snapshot.manifest
    now = Origin(settings).told(None)
    old, new = settings_then(settings, then), flattened(now["settings"])
    changed = changed_settings(settings, snapshot)
    prompts = [one.key for one in _common(then, "prompts", now["prompts"])]
    models = [one for one in _common(then, "models", now["models"]) if one.key != "embedder"]
    made_by = [one.key for one in _common(then, "code", code_of_tables())]
    concerned = stages_of_settings(changed, old, new) | stages_of_prompts(prompts, new)
    libraries = _common(then, "libraries", now["libraries"])
    concerned |= {table(key.replace("/", ".")).group for key in made_by}
    # Models at an endpoint are known by their task, those on this machine by the setting that names them.
    sections = [section for section, dot, _ in (one.key.partition(".") for one in models) if dot]
    concerned = concerned.union(*map(stages_reading, sections))
    concerned |= stages_of_libraries((one.key for one in libraries), new)
    if files:
        concerned.add("corpus")
    redo = following(concerned, _indexed(settings, changed))
    asked = [stage for stage in settings.stages_made("request") if stage in concerned]
    package = compare_values({"package": then.get("package", now["package"])}, {"package": now["package"]})
    return Status(
        name,
        snapshot,
        files,
        tuple(changed),
        tuple(prompts),
        tuple(models),
        tuple(made_by),
        tuple(libraries),
        package[0] if package else None,
        tuple(redo),
        tuple(asked),
        unfinished,
        _asks_models(settings),
    )


def _indexed(settings: CorpusSettings, changed: Iterable[Change]) -> list[str]:
    """Return the stages of an index; one that was switched off leaves its tables empty."""
    keys = {one.key for one in changed}
    switched = {one.name for one in stages().values() if one.switch and f"{one.switch}.enabled" in keys}
    return [name for name in stages_made("index") if settings.makes(name) or name in switched]


def _asks_models(settings: CorpusSettings) -> bool:
    return settings.embeds_at_endpoint or any(map(settings.asks_model, settings.asked_by_index))


def _common(manifest: Mapping[str, Any], part: str, now: Mapping[str, Any]) -> list[Change]:
    """What differs of the keys that both know: what is new to this package is no change of the corpus."""
    before = manifest.get(part, {})
    both = before.keys() & now.keys()
    return compare_values({key: before[key] for key in both}, {key: now[key] for key in both})


def _unfinished(name: str, snapshot: Published | None) -> Unfinished | None:
    run = half_way(name)
    if run is None or (snapshot and run.begun <= _time(snapshot.published)):
        return None
    return Unfinished(
        run.run_id,
        "failed" if run.failed else "running or killed",
        run.begun.isoformat(timespec="seconds"),
        run.step,
    )


def _time(iso: str) -> datetime:
    time = datetime.fromisoformat(iso)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
