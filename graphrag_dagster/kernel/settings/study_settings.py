"""The section ``studies``: studies of single settings."""

from typing import Annotated, Literal

from pydantic import Field

from graphrag_dagster.kernel.settings.section import (
    PositiveInt,
    Section,
)

Criterion = Literal["comprehensiveness", "diversity", "empowerment", "directness"]
Family = Literal["deepeval", "ragas"]
Threshold = Annotated[float, Field(gt=0, le=1)]

Embedding = Literal["text", "spectral", "node2vec", "concat", "mean"]


class ContextStudySettings(Section):
    """Variants that context nodes are compared under; an empty list skips one."""

    draws: Annotated[int, Field(ge=30, le=10_000)] = Field(
        30, description="random selections that context nodes are compared with"
    )
    resolutions: list[Annotated[float, Field(gt=0, le=1_000_000)]] = Field(
        default_factory=lambda: [0.5, 1.0, 2.0, 4.0], description="resolutions of flat Leiden"
    )
    alphas: list[Annotated[float, Field(ge=0, le=1000)]] = Field(
        default_factory=lambda: [0.5, 2.0], description="values of context.alpha"
    )
    lambda_max: list[Annotated[int, Field(ge=0, le=1000)]] = Field(
        default_factory=lambda: [3, 20], description="values of context.lambda_max"
    )
    densities: list[Annotated[float, Field(gt=0, lt=1)]] = Field(
        default_factory=lambda: [0.5, 0.25, 0.1],
        description="shares of the edges to keep, each with unreachable: drop and far",
    )
    embeddings: list[Embedding] = Field(
        ["text", "spectral", "concat", "mean"], description="values of context.embedding"
    )


class StudySettings(Section):
    """Studies of settings on a sample of the corpus."""

    chunk_sizes: list[PositiveInt] = Field(
        default_factory=lambda: [600, 1200, 2400],
        min_length=1,
        description="tokens of the text units to compare",
    )
    gleanings: Annotated[int, Field(ge=0, le=10)] = Field(3, description="most continuations to compare")
    sampled_tokens: PositiveInt = Field(
        100_000, description="tokens of the sampled documents; whole documents, at least one"
    )
    windows: list[PositiveInt] = Field(
        default_factory=lambda: [8000, 16000, 32000, 64000],
        min_length=2,
        description="tokens of the contexts to compare",
    )
    questions: PositiveInt = Field(25, description="questions to answer with each context")
    context: ContextStudySettings = Field(default_factory=ContextStudySettings)
