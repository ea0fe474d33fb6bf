"""The sections ``embeddings`` and ``search``: vectors, and answers to questions."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from graphrag_dagster.kernel.catalogue.engines import CROSS_ENCODER, LEXICAL, JudgeName
from graphrag_dagster.kernel.catalogue.methods import (
    AUTO,
    BASELINE,
    deciding,
    listed,
)
from graphrag_dagster.kernel.catalogue.registry import (
    declared_methods,
    embedders,
    rerankers,
)
from graphrag_dagster.kernel.models.embedder import Prefixes
from graphrag_dagster.kernel.settings.section import Choice, EngineName, Method, PositiveInt, Section, Seed
from graphrag_dagster.kernel.tasks.answer_form import KNOWLEDGE_MARK, LONGEST_RESPONSE_TYPE

Share = Annotated[float, Field(ge=0, lt=1)]
#: Characters of a prefix of texts that are embedded; longer ones would leave the model no room for the text.
_LONGEST_PREFIX = 500
_METHODS = declared_methods()


def _deciding(option: str) -> str:
    return deciding(option, _METHODS)


class EmbeddingSettings(Section):
    """Vectors of text units, entities and reports."""

    embedder: Annotated[str, Choice(embedders)] = Field(
        "static", description="packaged static vectors, sentence-transformers (extra), or the endpoint's"
    )
    model: str | None = Field(
        None,
        description="for sentence-transformers a folder or hub name, default the packaged all-MiniLM-L6-v2; "
        "for endpoint the model's name",
    )
    query_prefix: Annotated[str, Field(max_length=_LONGEST_PREFIX)] = Field(
        "",
        description="put before what is looked for, such as questions: the task prefix that some models "
        'want, in quotes, so that the blank at its end stays: `"search_query: "`, `"query: "`',
    )
    document_prefix: Annotated[str, Field(max_length=_LONGEST_PREFIX)] = Field(
        "",
        description='put before what is indexed: `"search_document: "`, `"passage: "`',
    )

    kept: Literal["all", "communities"] = Field(
        "all",
        description="communities: only the vectors of reports and of context nodes, a smaller store; text "
        f"units are then found by words alone, and there is no {BASELINE}",
    )

    @property
    def prefixes(self) -> Prefixes:
        """What is put before texts that are embedded."""
        return Prefixes(self.query_prefix, self.document_prefix)


class LocalShares(Section):
    """Most of a local context that each may take; all else is for the text units, which come first."""

    reports: Share = Field(0.1, description="community reports")
    entities: Share = Field(0.08, description="entities")
    relationships: Share = Field(0.08, description="relationships")
    claims: Share = Field(0.04, description="claims")

    @model_validator(mode="after")
    def _leave_something(self) -> "LocalShares":
        if self.of_graph >= 1:
            raise ValueError(
                f"the shares sum up to {self.of_graph:g}; leave something below 1 for the text units"
            )
        return self

    @property
    def of_graph(self) -> float:
        """What is not for sources from the first."""
        return self.reports + self.entities + self.relationships + self.claims


class GraphSearchSettings(Section):
    """The way of answering ``graph``."""

    summaries: Annotated[int, Field(ge=1, le=100)] = Field(
        5, description="communities whose reports are nearest to a question that are looked into"
    )
    facts: Annotated[int, Field(ge=1, le=1_000)] = Field(
        30, description="most relationships that a query for nodes gives to the context"
    )
    queries: Literal["templates", "model"] = Field(
        "model",
        description="who writes the query for nodes: the model of the task answer where the engine is one, "
        "else templates; or templates alone",
    )
    propagation: bool = Field(
        True,
        description="context nodes bring in relationships of the communities beside; without effect in an "
        "index that has none",
    )
    brought_in: Annotated[int, Field(ge=1, le=1_000)] = Field(
        10, description="most relationships that context nodes bring in"
    )


class SearchSettings(Section):
    """Answering questions."""

    method: Method = Field(
        AUTO,
        description=f"the way of answering unless the question says otherwise: {listed(_METHODS)}",
    )
    routing: Literal["rules", "model"] = Field(
        "rules",
        description=f"{AUTO}: who chooses the way of answering, and graph: between nodes and summaries: "
        "rules about the words of the question, or the model of the task route, for which the engine must "
        "be one",
    )
    level: Annotated[int, Field(ge=0, le=100)] = Field(
        1, description=f"community level of {_deciding('level')}, k of Ck"
    )
    retrieval: Literal["hybrid", "vector", "lexical"] = Field(
        "hybrid",
        description=f"how {_deciding('retrieval')} find text units; {BASELINE} is vectors only",
    )
    reranker: Annotated[str, Choice(rerankers)] = Field(
        LEXICAL,
        description=f"{_deciding('reranker')}: who puts the first text units found into another order: "
        "nobody; words (which sentences of a long document answer; not for basic); or a cross-encoder on "
        "this machine (extra sentence-transformers)",
    )
    reranker_model: str | None = Field(
        None,
        description=f"for cross-encoder a folder, or the name of a model on the hub, default {CROSS_ENCODER}",
    )
    rerank_first: Annotated[int, Field(ge=2, le=1000)] = Field(
        60, description="how many of the first text units found the reranker looks at"
    )
    shares: LocalShares = Field(default_factory=LocalShares)
    relevant_from: Annotated[int, Field(ge=1, le=5)] = Field(
        1,
        description=f"{_deciding('relevant_from')}: rating of 0 to 5 from which a report is relevant",
    )
    steps: Annotated[int, Field(ge=1, le=5)] = Field(
        2, description=f"{_deciding('steps')}: rounds of follow-up questions"
    )
    follow_ups: Annotated[int, Field(ge=1, le=10)] = Field(
        3, description=f"{_deciding('follow_ups')}: most follow-up questions a round"
    )
    graph: GraphSearchSettings = Field(default_factory=GraphSearchSettings)
    sql: Literal["templates", "model"] = Field(
        "templates",
        description=f"{_deciding('sql')}: who makes the query: templates, or where none fits a model, for "
        "which the engine must be one",
    )
    soft_filters: bool = Field(
        True,
        description="basic, local, drift: favour passages of the documents, periods, folders and places that "
        "the question names",
    )

    engine: EngineName | None = Field(None, description="default: the corpus's engine")
    context_tokens: Annotated[PositiveInt, Field(ge=200)] = Field(
        8000, description="tokens of each map and reduce context"
    )
    seed: Seed = Field(86, description="seed of the shuffle of reports")
    unit: Literal["answer", "points"] = Field(
        "answer", description="what a map call is scored by: its whole answer, or each of its points"
    )
    response_type: Annotated[str, Field(max_length=LONGEST_RESPONSE_TYPE)] | None = Field(
        None,
        description="length and layout of answers in words, such as multiple paragraphs, single sentence or "
        "list of 3-7 points; the extractive engine knows numbers of sentences or points only; default: as "
        "the prompts say",
    )
    support: JudgeName = Field(
        "words",
        description="who judges whether the words that a statement cites support it: rules about words, "
        "numbers, names and negations; a model for natural language inference on this machine (extra "
        "sentence-transformers); or the model of the task judge",
    )
    support_model: str | None = Field(
        None, description="for nli a folder, or the name of a cross-encoder on the hub; needed there"
    )
    general_knowledge: bool = Field(
        False,
        description=f"a model may add what it knows of the world, each such sentence marked {KNOWLEDGE_MARK};"
        " the extractive engine has no such knowledge and refuses",
    )

    @model_validator(mode="after")
    def _nli_has_a_model(self) -> "SearchSettings":
        if self.support == "nli" and not self.support_model:
            raise ValueError(
                "support is nli: name a cross-encoder for natural language inference in support_model, a "
                "folder or one of the hub"
            )
        return self

    def data_tokens(self) -> Mapping[str, tuple[str, int]]:
        """Return the most tokens of data in a prompt."""
        return {"answer": ("search.context_tokens", self.context_tokens)}
