"""Parts of the section ``paths``: what is left out, what is done beside, recall as a constraint."""

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
    """Relations that are left out of the graph, as of Freebase; an empty list leaves out none."""

    relations: list[Relation] = Field(
        default_factory=lambda: list(_PREFILTER.relations), description="by their whole name"
    )
    prefixes: list[Relation] = Field(
        default_factory=lambda: list(_PREFILTER.prefixes), description="by what they begin with"
    )
    parts: list[Relation] = Field(
        default_factory=lambda: list(_PREFILTER.parts), description="by what they contain"
    )

    def prefilter(self) -> Prefilter:
        """Return what is left out."""
        return Prefilter(tuple(self.relations), tuple(self.prefixes), tuple(self.parts))


class PathSwitches(Section):
    """What is done to paths beside, each alone or combined with others (paper B.6, B.8, B.9)."""

    triple_level: bool = Field(
        _SWITCHES.triple_level, description="ISAR-EEMs: paths are ranked by their last triple alone"
    )
    dynamic_prune: bool = Field(
        _SWITCHES.dynamic_prune,
        description="ISAR-EEMs: of each step the paths stay whose score is not below the mean",
    )
    percentile: Annotated[float, Field(ge=0, le=100)] | None = Field(
        _SWITCHES.percentile, description="percentile of the scores in place of the mean"
    )
    combine: bool = Field(
        _SWITCHES.combine,
        description="ISAR-EEMs: dynamic_prune for questions of one hop, triple_level for others, as a "
        "predictor of hops tells",
    )
    refine: bool = Field(_SWITCHES.refine, description="ISAR-EEMs: LLMs-R, a selection of the 32 best paths")
    early_stop: bool = Field(
        _SWITCHES.early_stop, description="ISAR-EEMs: LLMs-ES, each step asks whether the paths are enough"
    )
    prefilter: Count = Field(
        _SWITCHES.prefilter,
        description="ISAR-LLMs: EEMs-PF, so many candidates are scored best and selected from; 0: all",
    )
    supplement: bool = Field(
        _SWITCHES.supplement, description="-LLMs: EEMs-S, what the selection lacks is filled up by score"
    )
    rerank: bool = Field(_SWITCHES.rerank, description="OSAR-LLMs: EEMs-R, what is selected is scored again")
    window: Count = Field(
        _SWITCHES.window,
        description="OSAR-LLMs: M-LLMs, a selection of every so many candidates, then of what these leave; "
        "0: one selection",
    )
    llm_embeddings: bool = Field(
        _SWITCHES.llm_embeddings,
        description="OSAR-LLMs: LLMs-E, paths are compared by the hidden states of a model on this machine",
    )


class PathRecallSettings(SwitchedSection):
    """Recall as a constraint: the smallest subgraph that has enough of the answers (paper B.5)."""

    threshold: Annotated[float, Field(ge=0, le=1)] = Field(
        0.6, description="share of the answers that are to be in the subgraph, before the question's class"
    )
    application: Literal["normal", "critical", "lightweight"] = Field(
        "normal",
        description="critical, such as health, law and finance: more; lightweight: less",
    )
    windows: list[PositiveInt] = Field(
        default_factory=lambda: [8, 16, 32, 64, 128, 256, 512, 1000],
        min_length=1,
        description="sizes of the subgraph that are measured and chosen from",
    )
    development: PositiveInt = Field(200, description="questions with answers that they are measured on")
    log: str | None = Field(
        None,
        description="csv of answered questions below the corpus folder, columns class, threshold and "
        "correct: the threshold of a class is learned from it; it is no document of the corpus",
    )
    feedback: PositiveInt = Field(
        FEWEST, description="questions of a class in the log from which on its threshold is learned"
    )

    @field_validator("log")
    @classmethod
    def _log_is_below(cls, file: str | None) -> str | None:
        return None if file is None else path_below(file)

    @field_validator("windows")
    @classmethod
    def _rising(cls, windows: list[int]) -> list[int]:
        return sorted(set(windows))
