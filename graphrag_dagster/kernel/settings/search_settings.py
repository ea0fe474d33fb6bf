"""The sections ``embeddings`` and ``search``: vectors and answering."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from graphrag_dagster.kernel.catalogue.engines import CROSS_ENCODER, LEXICAL, JudgeName, Prefixes
from graphrag_dagster.kernel.catalogue.registry import (
    default_reranker,
    embedders,
    methods,
    rerankers,
)
from graphrag_dagster.kernel.catalogue.search_methods import (
    AUTO,
    BASELINE,
    describe_methods,
    methods_with_option,
)
from graphrag_dagster.kernel.settings.section import (
    EngineName,
    Method,
    NamedChoice,
    PositiveInt,
    Section,
    Seed,
)
from graphrag_dagster.kernel.text.answer_form import KNOWLEDGE_MARK, LONGEST_RESPONSE_TYPE

Share = Annotated[float, Field(ge=0, lt=1)]
#: Most characters of a prefix of embedded texts, so that the model has room for the text.
_LONGEST_PREFIX = 500


def _deciding(option: str) -> str:
    return methods_with_option(option, methods().values())


class EmbeddingSettings(Section):
    """Vectors of text units, entities and reports."""

    embedder: Annotated[str, NamedChoice(embedders)] = Field(
        "static",
        description="packaged static vectors; the packaged all-MiniLM-L6-v2 on onnxruntime (extra minilm), "
        "which knows meanings better and takes longer; multilingual-e5 (extra), for other languages than "
        "English; sentence-transformers (extra); or the endpoint",
    )
    model: str | None = Field(
        None,
        description="for sentence-transformers a folder or hub name, default: the packaged all-MiniLM-L6-v2; "
        "for endpoint the model's name",
    )
    query_prefix: Annotated[str, Field(max_length=_LONGEST_PREFIX)] = Field(
        "",
        description="prefix of search queries such as questions, which some models need; in quotes, so that "
        'its trailing space is kept: `"search_query: "`, `"query: "`',
    )
    document_prefix: Annotated[str, Field(max_length=_LONGEST_PREFIX)] = Field(
        "",
        description='prefix of indexed texts: `"search_document: "`, `"passage: "`',
    )

    kept: Literal["all", "communities"] = Field(
        "all",
        description="communities: store only the vectors of reports and context nodes, which takes less "
        f"space; text units are then found by words alone, and {BASELINE} is not available",
    )

    @property
    def prefixes(self) -> Prefixes:
        """Prefixes of embedded texts."""
        return Prefixes(self.query_prefix, self.document_prefix)


class LocalShares(Section):
    """Largest shares of a local context; the rest is for the text units, which come first."""

    reports: Share = Field(0.1, description="community reports")
    entities: Share = Field(0.08, description="entities")
    relationships: Share = Field(0.08, description="relationships")
    claims: Share = Field(0.04, description="claims")

    @model_validator(mode="after")
    def _check_total(self) -> "LocalShares":
        if self.of_graph >= 1:
            raise ValueError(
                f"the shares add up to {self.of_graph:g}; leave something below 1 for the text units"
            )
        return self

    @property
    def of_graph(self) -> float:
        """Share of the context reserved for rows other than text units."""
        return self.reports + self.entities + self.relationships + self.claims


class GraphSearchSettings(Section):
    """The search method ``graph``."""

    summaries: Annotated[int, Field(ge=1, le=100)] = Field(
        5, description="number of communities to search, those whose reports are nearest to the question"
    )
    shown: Literal["reports", "synopses"] = Field(
        "reports",
        description="what is read of these communities: their whole reports, or the summaries that stand at "
        "the head of them, as in the fourth paper",
    )
    facts: Annotated[int, Field(ge=1, le=1_000)] = Field(
        30, description="most relationships that a query for nodes adds to the context"
    )
    queries: Literal["templates", "model"] = Field(
        "model",
        description="source of the query for nodes: the model of the task answer if the engine uses one, "
        "else templates; or templates only",
    )
    propagation: bool = Field(
        True,
        description="add relationships of neighbouring communities through context nodes; no effect in an "
        "index without them",
    )
    brought_in: Annotated[int, Field(ge=1, le=1_000)] = Field(
        10, description="most relationships that context nodes add"
    )


class SearchSettings(Section):
    """Answering questions."""

    method: Method = Field(
        AUTO,
        description=f"search method unless the question sets one: {describe_methods(methods().values())}",
    )
    routing: Literal["rules", "model"] = Field(
        "rules",
        description=f"{AUTO}: what chooses the search method, and graph: what chooses between nodes and "
        "summaries: rules on the words of the question, or the model of the task route, which "
        "requires an engine with a model",
    )
    level: Annotated[int, Field(ge=-100, le=100)] | None = Field(
        None,
        description=f"community level of {_deciding('level')}, k of Ck; default: 1, but for a global "
        "question the top where there are levels above C0 (communities.roots)",
    )
    retrieval: Literal["hybrid", "vector", "lexical"] = Field(
        "hybrid",
        description=f"how {_deciding('retrieval')} find text units; {BASELINE} uses vectors only",
    )
    reranker: Annotated[str, NamedChoice(rerankers)] | None = Field(
        None,
        description=f"{_deciding('reranker')}: reranker of the text units found: none; words (which "
        "sentences of a long document answer; not for basic); or a cross-encoder on this machine, which also "
        f"helps the extractive engine to choose statements; default: {CROSS_ENCODER} where its package is "
        f"installed, else {LEXICAL}",
    )
    reranker_model: str | None = Field(
        None,
        description=f"for {CROSS_ENCODER} a folder or hub name (extra sentence-transformers), default: the "
        "packaged model",
    )
    rerank_first: Annotated[int, Field(ge=2, le=1000)] = Field(
        60, description="number of the best text units that the reranker reorders"
    )
    shares: LocalShares = Field(default_factory=LocalShares)
    relevant_from: Annotated[int, Field(ge=1, le=5)] = Field(
        1,
        description=f"{_deciding('relevant_from')}: lowest rating, 0 to 5, of a relevant report",
    )
    steps: Annotated[int, Field(ge=1, le=5)] = Field(
        2, description=f"{_deciding('steps')}: rounds of follow-up questions"
    )
    follow_ups: Annotated[int, Field(ge=1, le=10)] = Field(
        3, description=f"{_deciding('follow_ups')}: most follow-up questions per round"
    )
    graph: GraphSearchSettings = Field(default_factory=GraphSearchSettings)
    sql: Literal["templates", "model"] = Field(
        "templates",
        description=f"{_deciding('sql')}: source of the query: templates, or a model if no template fits, "
        "which requires an engine with a model",
    )
    soft_filters: bool = Field(
        True,
        description="basic, local, drift: prefer passages of the documents, periods, folders and places that "
        "the question names",
    )
    hard_filters: bool = Field(
        True,
        description="of soft_filters: search only the documents that the question names exactly; off: prefer "
        "them",
    )

    engine: EngineName | None = Field(None, description="default: the corpus's engine")
    context_tokens: Annotated[PositiveInt, Field(ge=200)] = Field(
        8000, description="tokens of each map and reduce context"
    )
    seed: Seed = Field(86, description="seed for shuffling the reports")
    unit: Literal["answer", "points"] = Field(
        "answer", description="unit that a map call scores: its whole answer, or each of its points"
    )
    response_type: Annotated[str, Field(max_length=LONGEST_RESPONSE_TYPE)] | None = Field(
        None,
        description="length and format of answers in words, such as multiple paragraphs, single sentence or "
        "list of 3-7 points; the extractive engine only understands numbers of sentences or "
        "points; default: as the prompts say",
    )
    support: JudgeName = Field(
        "words",
        description="how to check whether the words that a statement cites support it: rules on words, "
        "numbers, names and negations; a natural language inference model on this machine (extra "
        "sentence-transformers); or the model of the task judge",
    )
    support_model: str | None = Field(
        None, description="for nli a folder, or the hub name of a cross-encoder; required for nli"
    )
    general_knowledge: bool = Field(
        False,
        description=f"allow a model to add general knowledge, each such sentence marked {KNOWLEDGE_MARK}; "
        "the extractive engine has none and rejects this",
    )

    @property
    def chosen_reranker(self) -> str:
        """Name of the reranker in use."""
        return self.reranker or default_reranker()

    @model_validator(mode="after")
    def _check_nli_model(self) -> "SearchSettings":
        if self.support == "nli" and not self.support_model:
            raise ValueError(
                "support is nli: set support_model to a cross-encoder for natural language inference, a "
                "folder or a hub name"
            )
        return self

    def data_tokens(self) -> Mapping[str, tuple[str, int]]:
        """Return the token limit of the context in answer prompts."""
        return {"answer": ("search.context_tokens", self.context_tokens)}
