"""Parts of the section ``paths``: excluded relations, additional switches, recall as a constraint."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from graphrag_dagster.kernel.graph.prefilter import Prefilter
from graphrag_dagster.kernel.settings.section import PositiveInt, Section, SwitchedSection, path_below
from graphrag_dagster.systems.lego.instances.options import Switches
from graphrag_dagster.systems.lego.studies.recall.feedback import FEWEST

_SWITCHES = Switches()
_PREFILTER = Prefilter()
Relation = Annotated[str, Field(min_length=1, max_length=1000)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]


class PrefilterSettings(Section):
    """Relations excluded from the graph, as of Freebase; an empty list excludes none."""

    relations: list[Relation] = Field(
        default_factory=lambda: list(_PREFILTER.relations), description="full names"
    )
    prefixes: list[Relation] = Field(
        default_factory=lambda: list(_PREFILTER.prefixes), description="prefixes"
    )
    parts: list[Relation] = Field(default_factory=lambda: list(_PREFILTER.parts), description="substrings")

    def prefilter(self) -> Prefilter:
        """Return the excluded relations."""
        return Prefilter(tuple(self.relations), tuple(self.prefixes), tuple(self.parts))


class PathSwitches(Section):
    """Additional steps on paths, alone or combined (paper B.6, B.8, B.9)."""

    triple_level: bool = Field(
        _SWITCHES.triple_level, description="ISAR-EEMs: rank paths by their last triple alone"
    )
    dynamic_prune: bool = Field(
        _SWITCHES.dynamic_prune,
        description="ISAR-EEMs: keep the paths of each step whose score is at least the mean",
    )
    percentile: Annotated[float, Field(ge=0, le=100)] | None = Field(
        _SWITCHES.percentile, description="percentile of the scores to use instead of the mean"
    )
    combine: bool = Field(
        _SWITCHES.combine,
        description="ISAR-EEMs: dynamic_prune for questions of one hop, triple_level for others, by a "
        "predictor of hops",
    )
    refine: bool = Field(_SWITCHES.refine, description="ISAR-EEMs: LLMs-R, select from the 32 best paths")
    early_stop: bool = Field(
        _SWITCHES.early_stop, description="ISAR-EEMs: LLMs-ES, ask at each step whether the paths are enough"
    )
    prefilter: Count = Field(
        _SWITCHES.prefilter,
        description="ISAR-LLMs: EEMs-PF, number of best-scored candidates to select from; 0: all",
    )
    supplement: bool = Field(_SWITCHES.supplement, description="-LLMs: EEMs-S, fill up a selection by score")
    rerank: bool = Field(_SWITCHES.rerank, description="OSAR-LLMs: EEMs-R, score the selection again")
    window: Count = Field(
        _SWITCHES.window,
        description="OSAR-LLMs: M-LLMs, size of the batches to select from before the final selection; 0: "
        "one selection",
    )
    llm_embeddings: bool = Field(
        _SWITCHES.llm_embeddings,
        description="OSAR-LLMs: LLMs-E, compare paths by the hidden states of a model on this machine",
    )


class PathRecallSettings(SwitchedSection):
    """Recall as a constraint: the smallest subgraph that contains enough of the answers (paper B.5)."""

    threshold: Annotated[float, Field(ge=0, le=1)] = Field(
        0.6,
        description="share of the answers that the subgraph must contain, before the question's class is "
        "considered",
    )
    application: Literal["normal", "critical", "lightweight"] = Field(
        "normal",
        description="critical, such as health, law and finance: higher; lightweight: lower",
    )
    windows: list[PositiveInt] = Field(
        default_factory=lambda: [8, 16, 32, 64, 128, 256, 512, 1000],
        min_length=1,
        description="sizes of the subgraph to measure and choose from",
    )
    development: PositiveInt = Field(200, description="questions with answers to measure them on")
    log: str | None = Field(
        None,
        description="csv of answered questions below the corpus folder, columns class, threshold and "
        "correct; the threshold of a class is learned from it; it is not a document of the corpus",
    )
    feedback: PositiveInt = Field(
        FEWEST, description="fewest questions of a class in the log for learning its threshold"
    )

    @field_validator("log")
    @classmethod
    def _log_is_below(cls, file: str | None) -> str | None:
        return None if file is None else path_below(file)

    @field_validator("windows")
    @classmethod
    def _rising(cls, windows: list[int]) -> list[int]:
        return sorted(set(windows))
