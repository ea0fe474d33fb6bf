"""Scorers by their names, with those of embedders and cross-encoders."""

from functools import cache

import numpy as np

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.common.stable_values import Scores, cosines
from graphrag_dagster.kernel.graph.graph_labels import VerbalizedRows
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.models.local_embedders import MemoizedEmbedder, shared_sentence_transformer
from graphrag_dagster.kernel.retrieval.rerankers import CrossEncoderReranker
from graphrag_dagster.kernel.tasks.answering_ports import Sought
from graphrag_dagster.systems.lego.retrieval.hidden_states import HiddenStateEmbedder
from graphrag_dagster.systems.lego.retrieval.path_scorers import (
    Bm25Scorer,
    PathScorer,
    ShuffledScorer,
    StaticScorer,
    WordedScorer,
    tokens_of,
)
from graphrag_dagster.systems.lego.search.instance_definitions import Recipe, ScorerName

_MOST = 100_000
# Models give the last bits of a vector by what else they read with the text.
_DIGITS = 5


class EmbeddedScorer:
    """Cosine of question and text; vectors of texts are cached.

    Args:
        embedder: makes vectors of questions and of texts.
        most: vectors cached; when there are more, all are forgotten.
    """

    def __init__(self, embedder: CorpusEmbedder, most: int = _MOST) -> None:
        self._embedder = embedder
        self._remembering = MemoizedEmbedder(embedder, most)

    @property
    def name(self) -> str:
        """That of the embedder."""
        return self._embedder.name

    def scores(self, question: str, candidates: VerbalizedRows) -> Scores:
        """Return the cosine of each candidate [n], to 5 digits after the point; see the port."""
        if not len(candidates):
            return np.zeros(0)
        (asked,) = self._embedder.embed_queries([question])
        return cosines(self._remembering.embed(candidates.texts), asked).round(_DIGITS)

    def tokens(self, candidates: VerbalizedRows) -> int:
        """Return the tokens of all candidates, about; see :func:`tokens_of`."""
        return tokens_of(candidates)


class CrossEncoderScorer:
    """The number of a cross-encoder for question and text.

    Args:
        encoder: gives the numbers.
    """

    def __init__(self, encoder: CrossEncoderReranker) -> None:
        self._encoder = encoder

    @property
    def name(self) -> str:
        """That of the cross-encoder."""
        return self._encoder.name

    def scores(self, question: str, candidates: VerbalizedRows) -> Scores:
        """Return the model's number for each candidate [n]; see the port."""
        return self._encoder.scores(Sought(question), candidates.texts)

    def tokens(self, candidates: VerbalizedRows) -> int:
        """Return the tokens of all candidates, about; see :func:`tokens_of`."""
        return tokens_of(candidates)


#: The cross-encoder of the paper, where none is named.
BGE_RERANKER = "BAAI/bge-reranker-v2-m3"

# Paths are a few words each: one at a time, a model is held up by its own calls.
_PATHS_AT_ONCE = 64


def scorer_of(
    name: ScorerName,
    *,
    embedder: CorpusEmbedder | None = None,
    model: str | None = None,
    seed: int = 0,
    relation_words: bool = False,
) -> PathScorer:
    """Return a scorer.

    Args:
        name: of it.
        embedder: of the corpus, for ``embedder``.
        model: for ``minilm`` and ``cross-encoder`` a folder, or the name of a model of the hub; default: the
            packaged all-MiniLM-L6-v2, and the paper's cross-encoder.
        seed: for ``random``.
        relation_words: relations are read as words, not as they are written.

    Raises:
        EngineError: ``embedder`` without one.
    """
    made: PathScorer
    match name:
        case "static":
            made = StaticScorer()
        case "bm25":
            made = Bm25Scorer()
        case "random":
            made = ShuffledScorer(seed)
        case "minilm":
            made = _sentence_transformer(model)
        case "cross-encoder":
            made = _cross_encoder(model or BGE_RERANKER)
        case "embedder":
            if embedder is None:
                raise EngineError(
                    "paths.scorer is embedder, but there is none here; set paths.scorer to static"
                )
            made = EmbeddedScorer(embedder)
    return WordedScorer(made) if relation_words else made


def recipe_scorer(recipe: Recipe, embedder: CorpusEmbedder | None = None) -> PathScorer:
    """Return the scorer of an instance; see :func:`scorer_of`."""
    own = recipe.options
    return scorer_of(
        own.scorer,
        embedder=embedder,
        model=recipe.scorer_model,
        seed=own.seed,
        relation_words=own.relation_words,
    )


@cache
def hidden_states(model: str) -> EmbeddedScorer:
    """Return the scorer by the hidden states of a language model on this machine (LLMs-E), one a process.

    Args:
        model: a folder, or the name of a model of the hub.
    """
    return EmbeddedScorer(CorpusEmbedder(HiddenStateEmbedder(model)))


@cache
def _sentence_transformer(model: str | None) -> EmbeddedScorer:
    """The scorer of that model of this process, with its memory of vectors."""
    embedder = shared_sentence_transformer(
        model,
        batch=_PATHS_AT_ONCE,
        wanted_by="paths.scorer is minilm",
        named_by="paths.scorer_model",
    )
    return EmbeddedScorer(CorpusEmbedder(embedder))


@cache
def _cross_encoder(model: str) -> CrossEncoderScorer:
    """The scorer of that model of this process: loading one takes seconds."""
    wanted = "paths.scorer is cross-encoder"
    return CrossEncoderScorer(CrossEncoderReranker(model, wanted, "paths.scorer_model"))
