"""``corpus.yaml``: one section per subject, and profiles that set values; unknown keys are rejected.

The file is optional; every key has a default. ``docs/reference/settings.md`` is generated from these models.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field, ValidationError, create_model, model_validator

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.catalogue.registry import (
    corpus_kinds,
    embedders,
    engines,
    load_target,
    methods,
    sections_asked,
    stage_of,
    stages,
    stages_made,
    systems,
    tasks,
    tasks_of,
)
from graphrag_dagster.kernel.catalogue.search_methods import BASELINE
from graphrag_dagster.kernel.catalogue.system import KINDS
from graphrag_dagster.kernel.catalogue.tasks import Task
from graphrag_dagster.kernel.common.file_discovery import SETTINGS_FILE, pattern_below
from graphrag_dagster.kernel.settings.indexing_settings import (
    ExecutionSettings,
    FileSettings,
    PublishingSettings,
    ScheduleSettings,
    TableColumns,
    TextUnitSettings,
)
from graphrag_dagster.kernel.settings.model_settings import DECIDING_REPLIES, ModelSettings, RoleName
from graphrag_dagster.kernel.settings.profiles import ProfileName, with_profile
from graphrag_dagster.kernel.settings.search_settings import EmbeddingSettings, SearchSettings
from graphrag_dagster.kernel.settings.section import EngineName, NamedChoice, Section
from graphrag_dagster.kernel.settings.yaml_file import Location, parse_bytes, read_bytes, validation_message

S = TypeVar("S", bound=Section)


class CorpusSettings(Section):
    """All settings of a corpus."""

    profile: ProfileName = Field(
        "default",
        description="paper: everything that the paper fixes is set as in the paper, see below; single keys "
        "override it",
    )
    kind: Annotated[str, NamedChoice(corpus_kinds)] = Field(
        KINDS[0], description="contents of the corpus; stages that do not apply to this kind are skipped"
    )
    corpora: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        default_factory=list,
        description="corpora included in this one, in addition to its own files; their files are read in "
        "place, and the name of the corpus is put before each path",
    )
    description: str | None = Field(None, description="subject of the corpus")
    engine: EngineName = Field(
        "extractive", description="engine of the language tasks, unless a stage sets its own"
    )
    files: FileSettings = Field(default_factory=FileSettings)
    tables: dict[str, TableColumns] = Field(
        default_factory=dict,
        description="glob pattern (as in `files.ignore`) of table-like files → their columns",
    )
    text_units: TextUnitSettings = Field(default_factory=TextUnitSettings)
    embeddings: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    execution: ExecutionSettings = Field(default_factory=ExecutionSettings)
    publishing: PublishingSettings = Field(default_factory=PublishingSettings)
    schedule: ScheduleSettings = Field(default_factory=ScheduleSettings)
    model: ModelSettings = Field(default_factory=ModelSettings)

    @model_validator(mode="before")
    @classmethod
    def _fill_from_profile(cls, given: Any) -> Any:
        default = cls.model_fields["engine"].default
        return with_profile(given, default) if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _check_engines(self) -> "CorpusSettings":
        for section in {task.section for task in tasks().values() if not task.model_only}:
            if not self.does(section):
                continue
            chosen, needed = self.engine_of(section), {task.name for task in tasks_of(section)}
            if not needed.intersection(engines()[chosen].does):
                able = ", ".join(
                    name for name, engine in engines().items() if needed.intersection(engine.does)
                )
                raise ValueError(
                    f"the engine {chosen} cannot do {section}; set {section}.engine to one of {able}"
                )
        return self

    @model_validator(mode="after")
    def _check_kind(self) -> "CorpusSettings":
        for stage in stages().values():
            if stage.switch and self.kind not in stage.kinds and getattr(self, stage.switch).enabled:
                raise ValueError(
                    f"{stage.switch}.enabled is true, but it only applies to corpora of kind "
                    f"{' or '.join(stage.kinds)}, not {self.kind}; remove it"
                )
        return self

    @model_validator(mode="after")
    def _check_sections(self) -> "CorpusSettings":
        compared = {
            f"search.method {BASELINE}": self.search.method == BASELINE,
            "search.retrieval vector": self.search.retrieval == "vector",
        }
        problem = next((self.missing_vectors_error(name) for name, is_so in compared.items() if is_so), None)
        problem = problem or self.unanswerable_error("search.method", [self.search.method])
        for section in self.sections().values():
            problem = problem or section.problem(self)
        if problem:
            raise ValueError(problem)
        return self

    def section(self, kind: type[S]) -> S:
        """Return the section of a type, as in ``settings.section(CoteragSettings)``."""
        fields = type(self).model_fields.items()
        section: S = getattr(self, next(name for name, field in fields if field.annotation is kind))
        return section

    def sections(self) -> dict[str, Section]:
        """Return all sections by name, in declaration order."""
        values = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: value for name, value in values if isinstance(value, Section)}

    def data_limits(self, role: RoleName) -> Mapping[str, int]:
        """Return the most data tokens in prompts of a role, by the key that limits them."""
        limits = (
            section.data_tokens().get(role)
            for name, section in self.sections().items()
            if not tasks_of(name) or self.asks_model(name)
        )
        return dict(limit for limit in limits if limit)

    def largest_input(self, role: RoleName) -> int:
        """Return the most data tokens in a prompt of a role; 0 if nothing limits them."""
        return max(self.data_limits(role).values(), default=0)

    def missing_vectors_error(self, what: str) -> str | None:
        """Return an error message if something compares vectors that are not stored, else None."""
        if self.embeddings.kept == "all":
            return None
        return (
            f"embeddings.kept is {self.embeddings.kept}, but {what} compares vectors of text units or of all "
            "entities; set embeddings.kept: all, or remove that setting"
        )

    def unanswerable_error(self, key: str, names: Iterable[str]) -> str | None:
        """Return an error message if a search method that a key names cannot answer, else None."""
        for method in (methods()[name] for name in names):
            if method.needs and not self.makes(method.needs):
                return (
                    f"{key}: {method.name} needs the output of the stage {method.needs}, which is disabled; "
                    f"set '{method.needs}: {{enabled: true}}', or remove {method.name}"
                )
            if method.needs_model and (lacking := self.section_without_engine(method.tasks)):
                return (
                    f"{key}: {method.name} needs a model, and the engine {self.engine_of(lacking)} of "
                    f"{lacking} does not use one; set {lacking}.engine: llm, or remove {method.name}"
                )
        return None

    def section_without_engine(self, names: Iterable[str]) -> str | None:
        """Return the section of the first task that its engine does not support; None if all are
        supported.
        """
        sections = ((name, tasks()[name].section) for name in names)
        return next(
            (where for name, where in sections if name not in engines()[self.engine_of(where)].does),
            None,
        )

    def engine_of(self, section: str) -> str:
        """Return the engine of a section: its own setting, else the corpus's."""
        chosen: str | None = getattr(self, section).engine
        return chosen or self.engine

    @property
    def embeds_at_endpoint(self) -> bool:
        """Whether vectors come from a model at the endpoint."""
        return embedders()[self.embeddings.embedder].asks_model

    def makes(self, stage: str) -> bool:
        """Whether a stage runs: it applies to this kind of corpus and is not disabled."""
        if (declared := stages().get(stage)) is None:
            return False
        return self.kind in declared.kinds and (not declared.switch or getattr(self, declared.switch).enabled)

    def with_columns_of(self, corpus: str, given: "CorpusSettings") -> "CorpusSettings":
        """Return these settings with the column settings that other sources declare for its files."""
        tables = {pattern_below(corpus, pattern): columns for pattern, columns in given.tables.items()}
        joined = {
            name: section.with_columns_of(corpus, getattr(given, name))
            for name, section in self.sections().items()
        }
        return self.model_copy(update={"tables": {**self.tables, **tables}, **joined})

    def stages_made(self, when: str) -> list[str]:
        """Return the names of the stages that run for this corpus; see :attr:`.Stage.made`."""
        return [name for name in stages_made(when) if self.makes(name)]

    @property
    def asked_by_index(self) -> list[str]:
        """The sections whose engines an index uses."""
        return sections_asked(self.stages_made("index"))

    def does(self, section: str) -> bool:
        """Whether the work of a section is done: it is enabled, and so is its stage."""
        enabled: bool = getattr(getattr(self, section), "enabled", True)
        return enabled and self.makes(stage_of(section))

    def asks_model(self, section: str) -> bool:
        """Whether the engine of a section uses a chat model; False if its work is not done."""
        return self.does(section) and engines()[self.engine_of(section)].asks_model

    @property
    def roles_asked(self) -> set[str]:
        """The roles of the tasks that a model performs."""
        return {
            task.role for task in tasks().values() if self.asks_model(task.section) and self.switched_on(task)
        }

    def switched_on(self, task: Task[object]) -> bool:
        """Whether a task is enabled by the key that switches it."""
        return not task.switch or bool(attrgetter(f"{task.switch}.enabled")(self))


if not TYPE_CHECKING:
    # Adds the sections that systems declare; code gets them by type: `settings.section(PathSettings)`.
    CorpusSettings = create_model(
        "CorpusSettings",
        __base__=CorpusSettings,
        __module__=__name__,
        __doc__=CorpusSettings.__doc__,
        **{
            name: (load_target(kind), Field(default_factory=load_target(kind)))
            for system in systems().values()
            for name, kind in system.sections.items()
        },
    )


def load_settings(folder: Path) -> CorpusSettings:
    """Read ``corpus.yaml`` of a corpus folder, and the decisions of users; a missing file means all defaults.

    Raises:
        SettingsError: invalid YAML, an unknown key or an invalid value; names file, line, key and fix. Or a
            decision is invalid or contradicts another.
    """
    settings = load_settings_file(folder)
    completed = {name: section.completed(folder) for name, section in settings.sections().items()}
    return settings.model_copy(update=completed)


def load_settings_file(folder: Path) -> CorpusSettings:
    """Read ``corpus.yaml`` alone; see :func:`load_settings`.

    Raises:
        SettingsError: the file is invalid.
    """
    path = folder / SETTINGS_FILE
    return _settings_in(path, read_bytes(path))


# Cached by content: each step of a run reads the file again, because it may have changed.
@lru_cache(maxsize=16)
def _settings_in(path: Path, data: bytes | None) -> CorpusSettings:
    parsed = None if data is None else parse_bytes(path, data)
    if parsed is None or parsed.content is None:
        return CorpusSettings()
    return parse_settings(parsed.content, str(path), parsed.lines)


def parse_settings(
    content: object, source: str, lines: Mapping[Location, int] | None = None
) -> CorpusSettings:
    """Validate settings given as a mapping.

    Args:
        content: the mapping.
        source: its name in error messages.
        lines: the line of every value, for error messages, if read from a file.

    Raises:
        SettingsError: see :func:`load_settings`.
    """
    if not isinstance(content, Mapping):
        raise SettingsError(f"{source} must be a mapping of settings, not {type(content).__name__}")
    try:
        return CorpusSettings.model_validate(content)
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise SettingsError(f"{source}: {validation_message(details, CorpusSettings, lines or {})}") from None


_DECIDING = {*DECIDING_REPLIES, "base_url", "replies"}


def deciding_models(settings: CorpusSettings, sections: Collection[str]) -> list[str]:
    """Return the model settings that affect replies, for each role of the sections' tasks."""
    roles = sorted({task.role for task in tasks().values() if task.section in sections})
    return [settings.model.for_role(role).model_dump_json(include=_DECIDING) for role in roles]
