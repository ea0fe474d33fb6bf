"""Who can do the language tasks, who turns texts into vectors, and who reorders what was found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from graphrag_dagster.catalogue.tasks import TASKS


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine: an implementation of language tasks.

    Attributes:
        name: as ``corpus.yaml`` has it.
        text: one line about it.
        does: names of the tasks that it can do.
        factory: makes it, loaded when it is used: ``module:attribute``, or the callable itself. It is called
            with the corpus's settings and a :class:`~graphrag_dagster.engines.desk.Desk`, and what it returns
            has a method of the name of each task that it does.
        asks_model: it asks a chat model at an endpoint.
        quotes: its answers are words of the documents.
        packages: distributions that it needs beside those of the base install.
        settings: keys of ``corpus.yaml`` that no other engine reads.
        library_settings: keys whose values name further such packages, for the stage of their section.
        libraries: packages whose version may change what it gives, by stage.
        models: of an engine whose models run on this machine; called with the corpus's settings, gives by
            the setting that names a model which version of it is used. Loaded as the factory is.
        examined: of such an engine; called with the corpus's settings, gives what ``doctor`` says of the
            models: findings of :mod:`graphrag_dagster.model_calls.probing.probes`. Loaded as the factory is.
    """

    name: str
    text: str
    does: tuple[str, ...]
    factory: Any
    asks_model: bool = False
    quotes: bool = False
    packages: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    library_settings: tuple[str, ...] = ()
    libraries: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    models: Any = None
    examined: Any = None


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of what does one thing, and has no tasks of which it does some.

    Attributes:
        name: as ``corpus.yaml`` has it.
        text: one line about it.
        factory: makes it: as that of :class:`Engine`, but what is returned does the thing itself.
        asks_model: it asks a model at an endpoint.
        packages: distributions that it needs beside those of the base install.
        libraries: packages whose version may change what it gives.
    """

    name: str
    text: str
    factory: Any
    asks_model: bool = False
    packages: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EmbedderKind(_Kind):
    """A kind of embedder, chosen by ``embeddings.embedder``; its factory gives an
    :class:`~graphrag_dagster.core.text.embedder.Embedder`.
    """


@dataclass(frozen=True, slots=True)
class RerankerKind(_Kind):
    """A kind of reranker, chosen by ``search.reranker``; its factory gives a
    :class:`~graphrag_dagster.core.search.reranking.port.Reranker`, or None for no other order.
    """


_NEURAL = ("gliner", "tokenizers", "torch", "transformers")

ENGINES = (
    Engine(
        "extractive",
        "sentences of the documents, chosen by rule, no model",
        tuple(task.name for task in TASKS if not task.model_only),
        "graphrag_dagster.engines.extractive:ExtractiveEngine",
        quotes=True,
        settings=("extraction.noun_phrases", "extraction.pipeline", "graph.max_description_words"),
        library_settings=("extraction.pipeline",),
        libraries=MappingProxyType({"extraction": ("numpy", "spacy", "thinc")}),
    ),
    Engine(
        "llm",
        "a language model",
        tuple(task.name for task in TASKS),
        "graphrag_dagster.engines.llm:LlmEngine",
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
        "gliner-rebel",
        "two models for science on this machine: GLiNER finds entities, REBEL relationships",
        ("graph_extractor",),
        "graphrag_dagster.engines.gliner_rebel:GlinerRebelEngine",
        packages=_NEURAL,
        settings=("extraction.device", "extraction.gliner", "extraction.rebel", "extraction.threads"),
        libraries=MappingProxyType({"extraction": _NEURAL}),
        models="graphrag_dagster.engines.gliner_rebel:models",
        examined="graphrag_dagster.engines.gliner_rebel:examined",
    ),
)

EMBEDDERS = (
    EmbedderKind(
        "static",
        "packaged static vectors",
        "graphrag_dagster.engines.embedders:static",
        libraries=("wordllama",),
    ),
    EmbedderKind(
        "sentence-transformers",
        "a sentence-transformers model on this machine",
        "graphrag_dagster.engines.embedders:sentence_transformer",
        packages=("sentence-transformers",),
        libraries=("sentence-transformers",),
    ),
    EmbedderKind(
        "endpoint",
        "the embedding model of the endpoint",
        "graphrag_dagster.engines.embedders:endpoint",
        asks_model=True,
    ),
)

#: The reranker that needs no model.
LEXICAL = "lexical"
#: The model of a cross-encoder where the settings name none.
CROSS_ENCODER = "cross-encoder/ms-marco-MiniLM-L6-v2"

RERANKERS = (
    RerankerKind(
        "none",
        "text units stay as they are ranked",
        "graphrag_dagster.engines.rerankers:none",
    ),
    RerankerKind(
        LEXICAL,
        "which sentences of a long document answer, by their words and what is around them, no model",
        "graphrag_dagster.engines.rerankers:lexical",
    ),
    RerankerKind(
        "cross-encoder",
        "a cross-encoder of sentence-transformers on this machine",
        "graphrag_dagster.engines.rerankers:cross_encoder",
        packages=("sentence-transformers",),
        libraries=("sentence-transformers",),
    ),
)
