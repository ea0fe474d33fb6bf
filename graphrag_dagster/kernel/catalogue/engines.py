"""Declarations of engines, embedders and rerankers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from graphrag_dagster.errors import CatalogueError
from graphrag_dagster.kernel.catalogue.tasks import EXTRACTIVE, GLINER_REBEL, LLM


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine: an implementation of language tasks.

    Attributes:
        name: as ``corpus.yaml`` has it.
        text: one line about it.
        does: by the name of each task that it can do, what makes who does it: ``module:function``, loaded
            when it is used, or the callable itself. It is called with a
            :class:`.TaskProvider`, and what it returns has the methods of
            the task's port.
        asks_model: it asks a chat model at an endpoint.
        quotes: its answers are words of the documents.
        packages: distributions that it needs beside those of the base install.
        settings: keys of ``corpus.yaml`` that no other engine reads.
        library_settings: keys whose values name further such packages, for the stage of their section.
        libraries: packages whose version may change what it gives, by stage.
        models: of an engine whose models run on this machine; called with the corpus's settings, gives by
            the setting that names a model which version of it is used. Loaded as the makers are.
        examined: of such an engine; called with the corpus's settings, gives what ``doctor`` says of the
            models: findings of :mod:`.capability_probes`. Loaded as the makers
            are.

    Raises:
        CatalogueError: the declaration cannot be used; says why.
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
                f"{self.name}: does maps each task to the function that makes its implementation, such as "
                "{'answerer': make_answerer}; it is called with the session"
            )
        for name, make in self.does.items():
            if not callable(make) and not (isinstance(make, str) and make.count(":") == 1):
                raise CatalogueError(f"{self.name}: {name} is neither a function nor a text module:function")

    def unknown(self, tasks: Iterable[str]) -> str | None:
        """Say which task it claims to do that is none of those there are; None where all are known."""
        known = tuple(tasks)
        wrong = next((name for name in self.does if name not in known), None)
        return wrong and f"{self.name}: there is no task {wrong!r}; use one of {', '.join(known)}"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of what does one thing, and has no tasks of which it does some.

    Attributes:
        name: as ``corpus.yaml`` has it.
        text: one line about it.
        factory: makes it, as one of :attr:`Engine.does`.
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
    :class:`~graphrag_dagster.kernel.models.embedders.Embedder`.
    """


@dataclass(frozen=True, slots=True)
class RerankerKind(_Kind):
    """A kind of reranker, chosen by ``search.reranker``; its factory gives a
    :class:`~graphrag_dagster.kernel.retrieval.rerankers.Reranker`, or None for no other order.
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
        examined="graphrag_dagster.systems.graphrag.gliner_rebel:examined",
    ),
)

EMBEDDERS = (
    EmbedderKind(
        "static",
        "packaged static vectors",
        "graphrag_dagster.kernel.models.embedders:static",
        libraries=("wordllama",),
    ),
    EmbedderKind(
        "sentence-transformers",
        "a sentence-transformers model on this machine",
        "graphrag_dagster.kernel.models.embedders:sentence_transformer",
        packages=("sentence-transformers",),
        libraries=("sentence-transformers",),
    ),
    EmbedderKind(
        "endpoint",
        "the endpoint's embedding model",
        "graphrag_dagster.kernel.models.embedders:endpoint",
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
        "text units keep their order",
        "graphrag_dagster.kernel.retrieval.rerankers:none",
    ),
    RerankerKind(
        LEXICAL,
        "by which sentences of a long document answer, from their words and surroundings, no model",
        "graphrag_dagster.kernel.retrieval.rerankers:lexical",
    ),
    RerankerKind(
        "cross-encoder",
        "a sentence-transformers cross-encoder on this machine",
        "graphrag_dagster.kernel.retrieval.rerankers:cross_encoder",
        packages=("sentence-transformers",),
        libraries=("sentence-transformers",),
    ),
)


#: ``supported``: the words say it; ``partly``: they say some of it, or something near it; ``not``: they do
#: not say it, or say something else.
Verdict = Literal["supported", "partly", "not"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

#: ``words``: rules; ``nli``: a model for natural language inference on this machine; ``model``: a chat model.
JudgeName = Literal["words", "nli", "model"]
