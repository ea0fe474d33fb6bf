"""The sections ``questions``, ``evaluation`` and ``studies``: questions, and the comparison of answers."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator

from graphrag_dagster.kernel.catalogue.registry import methods
from graphrag_dagster.kernel.catalogue.search_methods import BASELINE
from graphrag_dagster.kernel.models.model_costs import RESEARCH_TOKENS
from graphrag_dagster.kernel.settings.section import (
    EngineName,
    Method,
    PositiveInt,
    Section,
    Seed,
    path_below,
)

if TYPE_CHECKING:
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings

Criterion = Literal["comprehensiveness", "diversity", "empowerment", "directness"]
Family = Literal["deepeval", "ragas"]
Threshold = Annotated[float, Field(gt=0, le=1)]


def _conditions() -> list[Method]:
    return [one.name for one in methods().values() if one.condition]


class TestsetSettings(Section):
    """Questions with reference answers, each from one sampled document; they need a model."""

    enabled: bool = Field(
        False, description="write them; the engine of questions must use a model, that of the task testset"
    )
    documents: Annotated[PositiveInt, Field(le=100_000)] = Field(
        10, description="size of the sample of documents; all if there are fewer"
    )
    per_document: Annotated[PositiveInt, Field(le=100)] = Field(3, description="questions per document")
    context_tokens: PositiveInt = Field(8000, description="tokens of a document to show, from its beginning")
    seed: Seed = Field(86, description="seed of the sample")


class QuestionSettings(Section):
    """The corpus's list of questions, and the search methods that answer them."""

    ask: list[str] = Field(default_factory=list, description="list of questions")
    file: str | None = Field(
        None,
        description="file beside corpus.yaml with more questions: one per line, or a CSV with a column "
        "question and an optional column reference with the correct answers; it is not a document "
        "of the corpus",
    )
    methods: list[Method] = Field(
        default_factory=_conditions,
        min_length=1,
        description="conditions and search methods, each run on every question",
    )
    write: Literal["when_none", "always", "never"] = Field(
        "when_none",
        description="write questions from the corpus's description: only if the corpus has neither questions "
        "of its own nor a testset, always in addition, or never",
    )
    testset: TestsetSettings = Field(
        default_factory=TestsetSettings,
        description="questions with reference answers, written from sampled documents",
    )
    engine: EngineName | None = Field(
        None, description="engine that writes them; default: the corpus's engine"
    )
    personas: Annotated[PositiveInt, Field(le=1000)] = Field(
        5, description="personas: invented people who use the corpus"
    )
    tasks: Annotated[PositiveInt, Field(le=1000)] = Field(5, description="tasks per persona")
    per_task: Annotated[PositiveInt, Field(le=1000)] = Field(5, description="questions per task")
    oversample: Literal[1, 2] = Field(
        1, description="2: write twice as many per task and keep the most different ones"
    )
    sampled_units: PositiveInt = Field(
        20, description="text units that a missing description of the corpus is made from"
    )

    @field_validator("file")
    @classmethod
    def _check_file(cls, file: str | None) -> str | None:
        return None if file is None else path_below(file)

    @field_validator("methods")
    @classmethod
    def _deduplicate(cls, methods: list[Method]) -> list[Method]:
        return list(dict.fromkeys(methods))

    def problem(self, settings: "CorpusSettings") -> str | None:
        """Return an error if a method cannot answer, or no engine can write the testset."""
        if BASELINE in self.methods and (
            lacking := settings.missing_vectors_error(f"questions.methods {BASELINE}")
        ):
            return lacking
        if unanswerable := settings.unanswerable_error("questions.methods", self.methods):
            return unanswerable
        if self.testset.enabled and settings.section_without_engine(["testset_writer"]):
            return (
                "questions.testset is enabled, but needs a model, which the engine "
                f"{settings.engine_of('questions')} of questions does not use; set questions.engine: llm, or "
                "questions.testset.enabled: false"
            )
        return None

    def listed_questions(self) -> list[str]:
        """Return the questions of the list."""
        return self.ask

    def own_files(self) -> list[str]:
        """Return the file of the corpus's own questions."""
        return [self.file] if self.file else []


class EvaluationSettings(Section):
    """Comparing answers."""

    engine: EngineName | None = Field(
        None,
        description="engine that judges answers and splits them into claims; default: the corpus's engine. "
        "Without a model nothing is judged",
    )
    max_tokens: PositiveInt = Field(
        RESEARCH_TOKENS,
        description="most tokens, in and out, of a run beyond the index (answers, evaluation, studies, "
        "paths) that is given no limit of its own",
    )
    criteria: list[Criterion] = Field(
        ["comprehensiveness", "diversity", "empowerment", "directness"],
        description="criteria that a judge compares answers by",
    )
    judge: Literal["reasoned", "plain"] = Field(
        "reasoned",
        description="reasoned: gives its reason before the winner, and is told that length and style do not "
        "count; plain: names the winner first and has no such rules, as in the paper",
    )
    citations: Literal["hidden", "shown"] = Field(
        "hidden",
        description="citation marks of the answers that a judge compares: left out, or shown as in the paper",
    )
    replicates: Annotated[PositiveInt, Field(le=1000)] = Field(
        5, description="verdicts on each pair of answers and criterion"
    )
    reasons: Annotated[int, Field(ge=0)] = Field(
        200, description="judge's reasons per criterion to search for themes; 0: none"
    )
    sample: PositiveInt | None = Field(
        None, description="number of questions to judge and to split into claims; default: all"
    )
    baseline: Method = Field(BASELINE, description="search method that the others are compared with")
    preceding: Annotated[int, Field(ge=0, le=1000)] = Field(
        5, description="sentences shown before the one that claims are extracted from"
    )
    following: Annotated[int, Field(ge=0, le=1000)] = Field(
        5, description="sentences shown after the one that is checked for claims"
    )
    thresholds: list[Threshold] = Field(
        default_factory=lambda: [0.5, 0.6, 0.7, 0.8],
        min_length=1,
        description="distances at which the claims of an answer are clustered",
    )
    rouge_l: Literal["rapidfuzz", "rouge-score"] = Field(
        "rapidfuzz",
        description="measures the distances: rapidfuzz; or rouge-score, about 50 s for 47,000 claims, with "
        "the same numbers",
    )
    metrics: list[Family] = Field(
        ["deepeval"],
        description="formulas of relevancy, faithfulness, recall and precision, measured if a model judges; "
        "empty: none",
    )
    resamples: Annotated[int, Field(ge=2, le=100_000)] = Field(
        2000, description="resamples of the bootstrap intervals"
    )
    seed: Seed = Field(86, description="seed of the bootstrap")

    @field_validator("thresholds")
    @classmethod
    def _sort_thresholds(cls, thresholds: list[float]) -> list[float]:
        return sorted(set(thresholds))
