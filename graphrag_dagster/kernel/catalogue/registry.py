"""Lookup of names in the catalogue, plug-ins included."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, wraps
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from graphrag_dagster.errors import CatalogueError, PluginError, WarehouseError
from graphrag_dagster.kernel.catalogue.engines import (
    EMBEDDERS,
    ENGINES,
    RERANKERS,
    EmbedderKind,
    Engine,
    RerankerKind,
)
from graphrag_dagster.kernel.catalogue.file_formats import FORMATS, Format
from graphrag_dagster.kernel.catalogue.plugins import Plugin, is_ours, plugins
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

if TYPE_CHECKING:
    from graphrag_dagster.kernel.tables import Table


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T")
N = TypeVar("N", bound=_HasName)


def named(known: Mapping[str, T], name: str, what: str) -> T:
    """Return what has a name.

    Args:
        known: all there are by name.
        name: the one that is wanted.
        what: of what kind it is, for the error.

    Raises:
        CatalogueError: there is none of that name; lists those there are.
    """
    if name not in known:
        raise CatalogueError(f"there is no {what} {name!r}; use one of {', '.join(known)}")
    return known[name]


@cache
def engines() -> Mapping[str, Engine]:
    """Return the engines by name, built-in ones first."""
    return _with_plugins("engine", built_in("engine"))


@cache
def embedders() -> Mapping[str, EmbedderKind]:
    """Return the kinds of embedders by name, built-in ones first."""
    return _with_plugins("embedder", EMBEDDERS)


@cache
def rerankers() -> Mapping[str, RerankerKind]:
    """Return the kinds of rerankers by name, built-in ones first."""
    return _with_plugins("reranker", RERANKERS)


@cache
def system_plugins() -> tuple[Plugin, ...]:
    """Return the systems of all packages, ours included; of what is of no use it is warned once."""
    return plugins("system", System, frozenset())


@cache
def systems() -> Mapping[str, System]:
    """Return the systems by name, each after those that it builds upon.

    Raises:
        CatalogueError: there is none, so that the package is not installed.
    """
    found = {one.name: one.declares for one in system_plugins() if one.declares}
    if not found:
        raise CatalogueError(
            "no system is declared by an entry point; install the package (pip install .) instead of "
            "importing its folder"
        )
    order = TopologicalSorter({name: sorted(one.builds_on) for name, one in sorted(found.items())})
    return {name: found[name] for name in order.static_order() if name in found}


@cache
def methods() -> Mapping[str, SearchMethod]:
    """Return the search methods by name: for people, for comparisons, and those of other packages."""
    return _with_plugins("method", built_in("method"))


def at_level(level: int) -> SearchMethod:
    """Return the condition ``C<level>``, which may be of a level deeper than those that are declared."""
    name = f"C{level}"
    text = f"all community reports of level {level}, finer than C0"
    return methods().get(name) or replace(methods()["C0"], name=name, text=text, level=level)


def declared_methods() -> Sequence[SearchMethod]:
    """Return the search methods of all systems, without those that are entry points of their own."""
    return built_in("method")


@cache
def parts() -> Mapping[str, DeclaredPart]:
    """Return what systems read of a snapshot beside the graph, by the names under which it has that."""
    return {name: part for system in systems().values() for name, part in system.parts.items()}


def attached_graph(*snapshot: Any) -> Any:
    """Return what runs queries over the graph of a snapshot; None where no system does.

    Args:
        snapshot: warehouse, name of the corpus, its settings, and the version of the published index.
    """
    makers = [system.graph for system in systems().values() if system.graph]
    return loaded(makers[0])(*snapshot) if makers else None


@cache
def all_tables() -> "tuple[Table, ...]":
    """Return the declarations of all tables, in the order of the stages that make them."""
    # Who asks for help needs none of them, and they need polars.
    from graphrag_dagster.kernel.tables import KERNEL_TABLES

    declared = [
        *KERNEL_TABLES,
        *(table for system in systems().values() for named in system.tables for table in loaded(named)),
    ]
    order = {name: place for place, name in enumerate(stages())}
    # Tables of the kernel that no system makes are the last.
    return tuple(sorted(declared, key=lambda table: order.get(table.group, len(order))))


def declared_table(full_name: str) -> "Table":
    """Return the declaration of ``schema.name``.

    Raises:
        WarehouseError: no such table is declared.
    """
    found = next((one for one in all_tables() if one.full_name == full_name), None)
    if found is None:
        names = ", ".join(sorted(one.full_name for one in all_tables()))
        raise WarehouseError(f"there is no table {full_name!r}; declared are {names}")
    return found


@cache
def searched_tables() -> frozenset[str]:
    """Return the full names of all tables that search methods of this package read."""
    return frozenset(name for one in declared_methods() for name in one.tables)


@cache
def formats() -> Mapping[str, Format]:
    """Return the file formats by name, built-in ones first."""
    return _with_plugins("reader", FORMATS)


@cache
def tasks() -> Mapping[str, Task[object]]:
    """Return the language tasks by name."""
    return {one.name: one for system in systems().values() for one in tasks_of_system(system)}


def tasks_of_system(system: System) -> Sequence[Task[Any]]:
    """Return the language tasks of a system."""
    found: Sequence[Task[Any]] = loaded(system.tasks) if system.tasks else ()
    return found


def tasks_of(section: str) -> list[Task[object]]:
    """Return the tasks that the engine of a section of ``corpus.yaml`` does."""
    return [one for one in tasks().values() if one.section == section]


@cache
def roles() -> Mapping[str, Role]:
    """Return by name what a model is asked for."""
    return {one.name: one for one in ROLES}


def declared_stages() -> Sequence[Stage]:
    """Return the stages as they are declared; those made with every run are the last."""
    of_systems = (stage for system in systems().values() for stage in system.stages)
    return sorted((*KERNEL_STAGES, *of_systems), key=lambda one: one.made == "run")


@cache
def stages() -> Mapping[str, Stage]:
    """Return the stages by name, each after those that it reads.

    Raises:
        CatalogueError: a stage reads one that there is not, or itself by way of others.
    """
    declared = declared_stages()
    known = {one.name for one in declared}
    index = tuple(one.name for one in declared if one.made == "index" and EVERY_INDEX_STAGE not in one.reads)
    return ordered(
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


def kinds() -> tuple[str, ...]:
    """Return the kinds of corpora that there are."""
    return KINDS


def stages_made(when: str) -> list[str]:
    """Return the names of the stages that are made with the index, on request or with every run.

    Args:
        when: as :attr:`Stage.made`.
    """
    return [one.name for one in stages().values() if one.made == when]


def stage_of(section: str) -> str:
    """Return the name of the stage whose results a section of ``corpus.yaml`` decides.

    Raises:
        CatalogueError: it decides those of none.
    """
    owners = {own: stage.name for stage in stages().values() for own in stage.sections}
    return named(owners, section, "stage of a section")


def stages_reading(section: str) -> set[str]:
    """Return the names of the stages whose results a section of ``corpus.yaml`` decides."""
    return {stage.name for stage in stages().values() if section in stage.sections}


def sections_asked(made: Iterable[str]) -> list[str]:
    """Return the sections of ``corpus.yaml`` whose engines some stages ask, in the order of the stages."""
    asked = {task.section for task in tasks().values()}
    return [section for name in made for section in stages()[name].sections if section in asked]


def users_of(when: str) -> list[str]:
    """Return the names under which stages made then ask models; see :func:`stages_made`."""
    return [user for name in stages_made(when) for user in stages()[name].users]


def requested_with(name: str) -> list[str]:
    """Return a stage that is made on request, and those it reads that are, each after those that it reads."""
    wanted = {name}
    for stage in reversed(list(stages().values())):
        if stage.name in wanted:
            wanted.update(stage.reads)
    return [one for one in stages_made("request") if one in wanted]


def engines_reading(key: str) -> set[str]:
    """Return the names of the engines that alone read a key of ``corpus.yaml``; empty where every one may."""
    return {one.name for one in engines().values() if key.startswith(one.settings)}


def libraries() -> set[str]:
    """Return the packages whose versions may change what some stage gives."""
    of_engines = (names for engine in engines().values() for names in engine.libraries.values())
    of_stages = (stage.libraries for stage in stages().values())
    of_kinds = (one.libraries for one in (*embedders().values(), *rerankers().values()))
    return {name for names in (*of_engines, *of_stages, *of_kinds) for name in names}


def ordered(declared: tuple[Stage, ...]) -> Mapping[str, Stage]:
    """Return stages by name, each after those that it reads, else as they are declared.

    Raises:
        CatalogueError: as :func:`stages`.
    """
    known = {one.name: one for one in declared}
    for stage in declared:
        for name in stage.reads:
            named(known, name, f"stage to be read by {stage.name}:")
    try:
        TopologicalSorter({one.name: one.reads for one in declared}).prepare()
    except CycleError as error:
        raise CatalogueError(
            f"stages depend on each other in a circle: {' → '.join(error.args[1])}"
        ) from error
    done: dict[str, Stage] = {}
    while len(done) < len(known):
        ready = (one for one in declared if one.name not in done and all(map(done.__contains__, one.reads)))
        following = next(ready)
        done[following.name] = following
    return done


def loaded(target: Any) -> Any:
    """Return what ``module:attribute`` names; anything else as it is.

    Raises:
        CatalogueError: there is no such module or attribute; names it.
    """
    if not isinstance(target, str):
        return target
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise CatalogueError(f"{target} cannot be loaded ({error})") from error


def plugged_in(kind: str, name: str) -> Plugin | None:
    """Return what another package adds under a name; None of what is built in."""
    return next((one for one in added(kind) if one.name == name and one.declares is not None), None)


@contextmanager
def in_plugin(kind: str, name: str, doing: str) -> Iterator[None]:
    """Run code that may be another package's; whatever it raises is told with its name and package.

    Args:
        kind: a key of :data:`~graphrag_dagster.kernel.catalogue.plugins.GROUPS`.
        name: as the catalogue has it.
        doing: what it does, such as ``answering a question``.

    Raises:
        PluginError: the code of another package raised what is no error for people, or cannot be loaded.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        plugin = plugged_in(kind, name)
        # What this package raises is for people, or steers the work; what cannot be loaded is the plug-in's.
        ours = type(error).__module__.startswith("graphrag_dagster.")
        meant = ours and not isinstance(error, CatalogueError)
        if plugin is None or meant:
            raise
        raise PluginError(plugin.failed(doing, error)) from error


def guarded(made: T, kind: str, name: str) -> T:
    """Return an object that another package made, whose methods fail as :func:`in_plugin` says.

    What is built in is returned as it is.
    """
    return made if plugged_in(kind, name) is None else cast("T", _OfPlugin(made, kind, name))


class _OfPlugin:
    """Stands for an object of another package."""

    def __init__(self, made: Any, kind: str, name: str) -> None:
        self._made, self._kind, self._name = made, kind, name

    def __getattr__(self, attribute: str) -> Any:
        doing = f"in {attribute}"
        # An attribute that there is not is asked for with a default, too.
        found = getattr(self._made, attribute)
        if not callable(found):
            return found

        @wraps(found)
        def called(*given: Any, **named: Any) -> Any:
            with in_plugin(self._kind, self._name, doing):
                return found(*given, **named)

        return called


def models_here(engine: Engine, settings: Any) -> Mapping[str, str]:
    """Return which versions of its models on this machine an engine uses, by the setting that names each."""
    with in_plugin("engine", engine.name, "telling its models"):
        found: Mapping[str, str] = loaded(engine.models)(settings) if engine.models else {}
        return found


def asks_model(engine: str) -> bool:
    """Whether the engine of that name asks a chat model; one that is no longer installed does not."""
    return engine in engines() and engines()[engine].asks_model


def quotes(engine: str) -> bool:
    """Whether answers of the engine of that name are words of the documents."""
    return engine in engines() and engines()[engine].quotes


def installed() -> tuple[Plugin, ...]:
    """Return all that other packages add, what is unusable included, by kind and name."""
    return tuple(one for kind in ("system", *_KINDS) for one in added(kind))


@cache
def added(kind: str) -> tuple[Plugin, ...]:
    """Return what other packages add of a kind of plug-ins, what is unusable included."""
    if kind == "system":
        every = system_plugins()
        return tuple(one for one in every if not is_ours(one.package))
    return plugins(kind, _KINDS[kind], frozenset(one.name for one in built_in(kind)), _unknown)


def _unknown(declared: Any) -> str | None:
    if isinstance(declared, Engine):
        return declared.unknown(tasks())
    if isinstance(declared, SearchMethod):
        searched = searched_tables()
        return declared.unknown(tasks(), [one.full_name for one in all_tables() if one.full_name in searched])
    return None


_KINDS: Mapping[str, type] = {
    "engine": Engine,
    "embedder": EmbedderKind,
    "reranker": RerankerKind,
    "method": SearchMethod,
    "reader": Format,
}


@cache
def built_in(kind: str) -> Sequence[Any]:
    """Return what this package, and systems, have of a kind of plug-ins."""
    if kind == "engine":
        return tuple(replace(one, does=_made_by(one.name)) for one in ENGINES)
    if kind == "method":
        declared = [one for system in systems().values() for one in system.methods]
        return sorted(declared, key=lambda one: (one.condition, bool(one.without)))
    return {"embedder": EMBEDDERS, "reranker": RERANKERS, "reader": FORMATS}[kind]


def _made_by(engine: str) -> Mapping[str, str]:
    """The function that makes who does it, for each task that an engine of this package does."""
    return {
        task.name: f"{system.engines[engine]}:{task.name}"
        for system in systems().values()
        for task in tasks_of_system(system)
        if engine in task.done_by
    }


def _with_plugins(kind: str, ours: Sequence[N]) -> Mapping[str, N]:
    more = {one.name: one.declares for one in added(kind) if one.declares is not None}
    return {**{one.name: one for one in ours}, **more}
