"""The sections ``questions``, ``evaluation`` and ``studies``: what is asked, and how answers are compared."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator

from graphrag_dagster.kernel.catalogue.methods import BASELINE
from graphrag_dagster.kernel.catalogue.registry import methods
from graphrag_dagster.kernel.settings.section import (
    EngineName,
    Method,
    PositiveInt,
    Section,
    Seed,
    path_below,
)

if TYPE_CHECKING:
    from graphrag_dagster.kernel.settings.corpus import CorpusSettings

Criterion = Literal["comprehensiveness", "diversity", "empowerment", "directness"]
Family = Literal["deepeval", "ragas"]
Threshold = Annotated[float, Field(gt=0, le=1)]


def _conditions() -> list[Method]:
    return [one.name for one in methods().values() if one.condition]


class TestsetSettings(Section):
    """Questions with reference answers, each from one sampled document; only a model can write them."""

    enabled: bool = Field(
        False, description="write them; the engine of questions must ask a model, that of the task testset"
    )
    documents: Annotated[PositiveInt, Field(le=100_000)] = Field(
        10, description="documents of the sample; all where there are fewer"
    )
    per_document: Annotated[PositiveInt, Field(le=100)] = Field(3, description="questions from each")
    context_tokens: PositiveInt = Field(
        8000, description="tokens of a document that are shown, from its beginning"
    )
    seed: Seed = Field(86, description="seed of the sample")


class QuestionSettings(Section):
    """The corpus's list of questions, and the ways in which they are answered."""

    ask: list[str] = Field(default_factory=list, description="the questions")
    file: str | None = Field(
        None,
        description="file beside corpus.yaml with further questions: one a line, or a CSV with a column "
        "question and, where right answers are known, a column reference; it is no document of the corpus",
    )
    methods: list[Method] = Field(
        default_factory=_conditions,
        min_length=1,
        description="conditions and ways of answering, each for every question",
    )
    write: Literal["when_none", "always", "never"] = Field(
        "when_none",
        description="write questions from the corpus's description: where the corpus has none of its own and "
        "no testset, in addition, or never",
    )
    testset: TestsetSettings = Field(
        default_factory=TestsetSettings,
        description="questions with reference answers, written from sampled documents",
    )
    engine: EngineName | None = Field(None, description="who writes them; default: the corpus's engine")
    personas: Annotated[PositiveInt, Field(le=1000)] = Field(
        5, description="invented people who use the corpus"
    )
    tasks: Annotated[PositiveInt, Field(le=1000)] = Field(5, description="tasks of each")
    per_task: Annotated[PositiveInt, Field(le=1000)] = Field(5, description="questions for each task")
    oversample: Literal[1, 2] = Field(
        1, description="2: write twice as many for each task and keep those that differ most"
    )
    sampled_units: PositiveInt = Field(
        20, description="text units that a missing description of the corpus is made from"
    )

    @field_validator("file")
    @classmethod
    def _file_is_below(cls, file: str | None) -> str | None:
        return None if file is None else path_below(file)

    @field_validator("methods")
    @classmethod
    def _once_each(cls, methods: list[Method]) -> list[Method]:
        return list(dict.fromkeys(methods))

    def problem(self, settings: "CorpusSettings") -> str | None:
        """Say which method cannot answer, or that nobody writes the test set."""
        if BASELINE in self.methods and (lacking := settings.lacks_vectors(f"questions.methods {BASELINE}")):
            return lacking
        if unanswerable := settings.unanswerable("questions.methods", self.methods):
            return unanswerable
        if self.testset.enabled and settings.nobody_does(["testset_writer"]):
            return (
                "questions.testset is enabled, and only a model can write it, which the engine "
                f"{settings.engine_of('questions')} of questions is not; set questions.engine: llm, or "
                "questions.testset.enabled: false"
            )
        return None

    def own_files(self) -> list[str]:
        """Return the file of the corpus's own questions."""
        return [self.file] if self.file else []


class EvaluationSettings(Section):
    """Comparing the answers."""

    engine: EngineName | None = Field(
        None,
        description="who judges and takes answers apart; default: the corpus's engine. Without a model "
        "nothing is judged",
    )
    criteria: list[Criterion] = Field(
        ["comprehensiveness", "diversity", "empowerment", "directness"],
        description="by what a judge compares answers",
    )
    replicates: Annotated[PositiveInt, Field(le=1000)] = Field(
        5, description="verdicts on each pair of answers and criterion"
    )
    reasons: Annotated[int, Field(ge=0)] = Field(
        200, description="reasons of the judge by each criterion that are read for their themes; 0: none"
    )
    sample: PositiveInt | None = Field(
        None, description="questions that are judged and whose answers are taken apart; default: all"
    )
    baseline: Method = Field(BASELINE, description="what the other ways of answering are compared with")
    preceding: Annotated[int, Field(ge=0, le=1000)] = Field(
        5, description="sentences before one that are shown when claims are taken from it"
    )
    following: Annotated[int, Field(ge=0, le=1000)] = Field(
        5, description="sentences after one that are shown when it is decided whether it has claims"
    )
    thresholds: list[Threshold] = Field(
        default_factory=lambda: [0.5, 0.6, 0.7, 0.8],
        min_length=1,
        description="distances at which the claims of an answer are clustered",
    )
    metrics: list[Family] = Field(
        ["deepeval"],
        description="formulas of relevancy, faithfulness, recall and precision, measured where a model "
        "judges; empty: none",
    )
    resamples: Annotated[int, Field(ge=2, le=100_000)] = Field(
        2000, description="resamples of the bootstrap intervals"
    )
    seed: Seed = Field(86, description="seed of the bootstrap")

    @field_validator("thresholds")
    @classmethod
    def _rising(cls, thresholds: list[float]) -> list[float]:
        return sorted(set(thresholds))
