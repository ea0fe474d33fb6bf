"""Lookup of names in the catalogue, plug-ins included."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeVar

from graphrag_dagster.errors import CatalogueError, PluginError
from graphrag_dagster.kernel.catalogue.dependencies import dependency_order
from graphrag_dagster.kernel.catalogue.engines import (
    CROSS_ENCODER,
    CROSS_ENCODER_MODULE,
    EMBEDDERS,
    ENGINES,
    LEXICAL,
    RERANKERS,
    EmbedderKind,
    Engine,
    RerankerKind,
)
from graphrag_dagster.kernel.catalogue.file_formats import FORMATS, Format
from graphrag_dagster.kernel.catalogue.plugins import Plugin, load_plugins
from graphrag_dagster.kernel.catalogue.search_methods import SearchMethod
from graphrag_dagster.kernel.catalogue.system import (
    EVERY_INDEX_STAGE,
    KERNEL_STAGES,
    KINDS,
    DeclaredPart,
    Stage,
    System,
)
from graphrag_dagster.kernel.catalogue.tasks import ROLES, Role, Task

_MODELS = Path(__file__).parents[2] / "dbt_like_sql" / "models"


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T")
N = TypeVar("N", bound=_HasName)


def require_named(known: Mapping[str, T], name: str, what: str) -> T:
    """Return the item of a given name.

    Args:
        known: all items by name.
        name: the name to look up.
        what: the kind of item, for the error message.

    Raises:
        CatalogueError: unknown name; the message lists the known ones.
    """
    if name not in known:
        raise CatalogueError(f"there is no {what} {name!r}; use one of {', '.join(known)}")
    return known[name]


@cache
def engines() -> Mapping[str, Engine]:
    """Return the engines by name, those of the kernel first, with the factory of each task."""
    return {
        name: replace(
            engine,
            does={
                **engine.does,
                **{
                    task.name: f"{system.engines[name]}:{task.name}"
                    for system in systems().values()
                    for task in tasks_of_system(system)
                    if name in task.done_by
                },
            },
        )
        for name, engine in _added(Engine, ENGINES).items()
    }


@cache
def embedders() -> Mapping[str, EmbedderKind]:
    """Return the embedder kinds by name, those of the kernel first."""
    return _added(EmbedderKind, EMBEDDERS)


@cache
def rerankers() -> Mapping[str, RerankerKind]:
    """Return the reranker kinds by name, those of the kernel first."""
    return _added(RerankerKind, RERANKERS)


@cache
def formats() -> Mapping[str, Format]:
    """Return the file formats by name, those of the kernel first."""
    return _added(Format, FORMATS)


def _added(kind: type[N], ours: Iterable[N]) -> Mapping[str, N]:
    """Return what the kernel and all systems declare of a kind, by name."""
    of_systems = (one for system in systems().values() for one in system.adds if isinstance(one, kind))
    return {one.name: one for one in (*ours, *of_systems)}


def default_reranker() -> str:
    """Return the reranker unless the settings choose one: with the packaged model where installed."""
    return CROSS_ENCODER if find_spec(CROSS_ENCODER_MODULE) else LEXICAL


@cache
def plugins() -> tuple[Plugin, ...]:
    """Return the systems of all packages, ours first. Unusable ones are logged once."""
    return load_plugins(_problem_of)


def _problem_of(system: System, before: Sequence[System]) -> str | None:
    """Return why a system cannot be used beside those before it, else None."""
    kernel = (*ENGINES, *EMBEDDERS, *RERANKERS, *FORMATS)
    taken = {one.name.casefold() for one in before}
    if system.name.casefold() in taken:
        return f"there is already a system {system.name}; choose another name"
    declared = [*kernel, *(one for other in before for one in (*other.adds, *other.methods))]
    names = {(type(one), one.name.casefold()) for one in declared}
    for one in (*system.adds, *system.methods):
        if (type(one), one.name.casefold()) in names:
            return f"there is already a {type(one).__name__} {one.name}; choose another name"
    try:
        known = [task.name for each in (*before, system) for task in tasks_of_system(each)]
        own = [table.full_name for target in system.tables for table in load_target(target)]
    except (Exception, SystemExit) as error:
        return f"its declarations cannot be loaded ({error})"
    tables = sorted({*own, *(name for each in before for method in each.methods for name in method.tables)})
    problems = (
        *(one.unknown(known) for one in system.adds if isinstance(one, Engine)),
        *(method.unknown(known, tables) for method in system.methods),
    )
    return next(filter(None, problems), None)


@cache
def systems() -> Mapping[str, System]:
    """Return the systems by name, each after those it builds on, and plug-ins last.

    Raises:
        CatalogueError: there are none, so the package is not installed.
    """
    declared = {plugin.name: plugin.declares for plugin in plugins() if plugin.declares}
    if not declared:
        raise CatalogueError(
            "no system is declared by an entry point; install the package (pip install .) instead of "
            "importing its folder"
        )
    ours = [plugin.name for plugin in plugins() if plugin.is_ours]
    order = TopologicalSorter(
        {
            name: sorted(system.builds_on) if name in ours else [*ours, *system.builds_on]
            for name, system in declared.items()
        }
    )
    return {name: declared[name] for name in order.static_order() if name in declared}


@cache
def methods() -> Mapping[str, SearchMethod]:
    """Return all search methods by name: those for users, the paper's conditions, those for comparisons."""
    declared = [method for system in systems().values() for method in system.methods]
    ordered = sorted(declared, key=lambda method: (method.condition, bool(method.without)))
    return {method.name: method for method in ordered}


def method_at_level(level: int) -> SearchMethod:
    """Return the condition ``C<level>``, derived from ``C0`` for levels other than the declared ones."""
    name = f"C{level}"
    text = f"all community reports of level {level}, {'finer' if level > 0 else 'coarser'} than C0"
    return methods().get(name) or replace(methods()["C0"], name=name, text=text, level=level)


@cache
def declared_parts() -> Mapping[str, DeclaredPart]:
    """Return the parts of a snapshot that systems add beside the graph, by name."""
    return {name: part for system in systems().values() for name, part in system.parts.items()}


def attached_graph(*snapshot: Any) -> Any:
    """Return the query interface to a snapshot's graph; None if no system provides one.

    Args:
        snapshot: warehouse, corpus name, corpus settings and version of the published index.
    """
    makers = [system.graph for system in systems().values() if system.graph]
    return load_target(makers[0])(*snapshot) if makers else None


@cache
def model_folders() -> tuple[Path, ...]:
    """Return the folders of SQL models, ours first: each model is ``<schema>/<table>.sql`` in one of them.

    A system has its own in the subfolder ``models`` of its package.
    """
    specs = (find_spec(system.package) for system in systems().values())
    packages = [place for spec in specs if spec for place in spec.submodule_search_locations or ()]
    return _MODELS, *(folder for place in packages if (folder := Path(place) / "models").is_dir())


@cache
def searched_tables() -> frozenset[str]:
    """Return the full names of all tables that search methods of systems read."""
    return frozenset(name for method in methods().values() for name in method.tables)


@cache
def tasks() -> Mapping[str, Task[object]]:
    """Return the language tasks by name."""
    return {task.name: task for system in systems().values() for task in tasks_of_system(system)}


def tasks_of_system(system: System) -> Sequence[Task[Any]]:
    """Return the language tasks of a system."""
    declared: Sequence[Task[Any]] = load_target(system.tasks) if system.tasks else ()
    return declared


def tasks_of(section: str) -> list[Task[object]]:
    """Return the tasks performed by the engine of a section of ``corpus.yaml``."""
    return [task for task in tasks().values() if task.section == section]


@cache
def roles() -> Mapping[str, Role]:
    """Return the model roles by name."""
    return {role.name: role for role in ROLES}


def declared_stages() -> Sequence[Stage]:
    """Return the stages in order of declaration, those made with every run last."""
    of_systems = (stage for system in systems().values() for stage in system.stages)
    return sorted((*KERNEL_STAGES, *of_systems), key=lambda stage: stage.made == "run")


@cache
def stages() -> Mapping[str, Stage]:
    """Return the stages by name, each after those it reads.

    Raises:
        CatalogueError: a stage reads an unknown stage, or the stages form a cycle.
    """
    declared = declared_stages()
    known = {stage.name for stage in declared}
    index = tuple(
        stage.name for stage in declared if stage.made == "index" and EVERY_INDEX_STAGE not in stage.reads
    )
    return order_stages(
        tuple(
            replace(
                stage,
                reads=index
                if EVERY_INDEX_STAGE in stage.reads
                else tuple(name for name in stage.reads if name in known),
            )
            for stage in declared
        )
    )


def corpus_kinds() -> tuple[str, ...]:
    """Return the kinds of corpora."""
    return KINDS


def stages_made(when: str) -> list[str]:
    """Return the names of the stages that are made with the index, on request or with every run.

    Args:
        when: as :attr:`Stage.made`.
    """
    return [stage.name for stage in stages().values() if stage.made == when]


def stage_of(section: str) -> str:
    """Return the name of the stage that a section of ``corpus.yaml`` belongs to.

    Raises:
        CatalogueError: it belongs to no stage.
    """
    owners = {name: stage.name for stage in stages().values() for name in stage.sections}
    return require_named(owners, section, "stage of a section")


def sections_asked(made: Iterable[str]) -> list[str]:
    """Return the sections of ``corpus.yaml`` whose engines the given stages call, in stage order."""
    task_sections = {task.section for task in tasks().values()}
    return [section for name in made for section in stages()[name].sections if section in task_sections]


def users_of_stages(when: str) -> list[str]:
    """Return the names under which the stages made at that time call models; see :func:`stages_made`."""
    return [user for name in stages_made(when) for user in stages()[name].users]


def requested_stages_for(name: str) -> list[str]:
    """Return a stage made on request and the requested stages it depends on, dependencies first."""
    needed = {name}
    for stage in reversed(list(stages().values())):
        if stage.name in needed:
            needed.update(stage.reads)
    return [stage_name for stage_name in stages_made("request") if stage_name in needed]


def engines_reading(key: str) -> set[str]:
    """Return the names of the engines that exclusively read a key of ``corpus.yaml``; empty if any may."""
    return {engine.name for engine in engines().values() if key.startswith(engine.settings)}


def result_libraries() -> set[str]:
    """Return the packages whose versions may change results."""
    of_engines = (names for engine in engines().values() for names in engine.libraries.values())
    of_stages = (stage.libraries for stage in stages().values())
    of_kinds = (kind.libraries for kind in (*embedders().values(), *rerankers().values()))
    return {name for names in (*of_engines, *of_stages, *of_kinds) for name in names}


def order_stages(declared: tuple[Stage, ...]) -> Mapping[str, Stage]:
    """Return stages by name, each after those it reads, otherwise in order of declaration.

    Raises:
        CatalogueError: as :func:`stages`.
    """
    known = {stage.name: stage for stage in declared}
    for stage in declared:
        for name in stage.reads:
            require_named(known, name, f"stage to be read by {stage.name}:")
    try:
        ordered = dependency_order(known, lambda stage: stage.reads)
    except CycleError as error:
        raise CatalogueError(
            f"stages depend on each other in a circle: {' → '.join(error.args[1])}"
        ) from error
    return {stage.name: stage for stage in ordered}


def load_target(target: Any) -> Any:
    """Return the object that ``module:attribute`` names; return anything but a string unchanged.

    Raises:
        CatalogueError: no such module or attribute; the message names it.
    """
    if not isinstance(target, str):
        return target
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise CatalogueError(f"{target} cannot be loaded ({error})") from error


def installed_plugins() -> tuple[Plugin, ...]:
    """Return the systems of other packages, including unusable ones, by name."""
    return tuple(plugin for plugin in plugins() if not plugin.is_ours)


def plugin_raising(error: BaseException) -> Plugin | None:
    """Return the plug-in through whose code an error passed, else None."""
    return next((plugin for plugin in installed_plugins() if plugin.raised(error)), None)


@contextmanager
def plugin_errors(doing: str) -> Iterator[None]:
    """Name the plug-in whose code raises an error in the block.

    Args:
        doing: the activity for the message, such as ``answering a question``.

    Raises:
        PluginError: code of a plug-in raised an error of its own.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        # Our own errors are meant for users or for control flow.
        if type(error).__module__.startswith("graphrag_dagster.") or not (plugin := plugin_raising(error)):
            raise
        raise PluginError(plugin.failed(doing, error)) from error


def local_model_versions(engine: Engine, settings: Any) -> Mapping[str, str]:
    """Return the versions of an engine's local models, by the setting that names each."""
    with plugin_errors(f"telling the models of {engine.name}"):
        versions: Mapping[str, str] = load_target(engine.models)(settings) if engine.models else {}
        return versions


def asks_model(engine: str) -> bool:
    """Whether the engine of that name calls a chat model; False if it is no longer installed."""
    return engine in engines() and engines()[engine].asks_model


def answers_are_quotes(engine: str) -> bool:
    """Whether answers of the engine of that name are verbatim words of the documents."""
    return engine in engines() and engines()[engine].quotes
