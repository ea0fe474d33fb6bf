"""An indexed corpus that can be asked questions, as the command line, the service and evaluations use it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import CorpusError, QuestionError, SettingsError, VectorLengthError
from graphrag_dagster.kernel.catalogue.registry import attached_graph, embedders, methods
from graphrag_dagster.kernel.common.state_comparison import flatten
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, User
from graphrag_dagster.kernel.models.local_embedders import shared_static
from graphrag_dagster.kernel.questions.context.index_background import Support
from graphrag_dagster.kernel.questions.document_filters import ALL, Filters
from graphrag_dagster.kernel.questions.question import Question, validate_question
from graphrag_dagster.kernel.questions.searcher import Searcher
from graphrag_dagster.kernel.questions.snapshot_opening import open_published
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.published.shared_snapshots import shared_corpora
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tasks.language_resource import Language
from graphrag_dagster.kernel.text.answer_form import AnswerForm
from graphrag_dagster.kernel.text.prompt_templates import Turn
from graphrag_dagster.kernel.text.tokenization import get_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
    from graphrag_dagster.kernel.questions.context.answer import Answer
    from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
    from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
    from graphrag_dagster.kernel.text.evidence import Passage


Vectors = NDArray[np.float32]


def local_embedders() -> list[str]:
    """Return the names of the embedders that need neither a corpus nor an endpoint."""
    return [embedder.name for embedder in embedders().values() if not embedder.asks_model]


def embed_locally(name: str, texts: Sequence[str]) -> Vectors:
    """Return unit vectors of texts from a local embedder, one per row.

    Raises:
        QuestionError: there is no local embedder of that name.
        EngineError: a package that it needs is not installed.
    """
    if name not in local_embedders():
        raise QuestionError(f"there is no embedder {name!r}; there are: {', '.join(local_embedders())}")
    settings = parse_settings({"embeddings": {"embedder": name}}, name)
    session = Language(memory=LLMCache(), corpora=CorpusStore()).session_of(
        settings, User(name, "ask", str(uuid.uuid4()))
    )
    return session.embedder().embed(texts)


def embed_texts(
    embedder: CorpusEmbedder, index: IndexSnapshot, texts: Sequence[str], *, queries: bool
) -> Vectors:
    """Return unit vectors of texts that are comparable with those of an index, one per row.

    Args:
        embedder: of the corpus.
        index: with the vectors.
        texts: to embed.
        queries: the texts are queries, not passages.

    Raises:
        SettingsError: another embedder made the vectors of the index, or they are of another length.
        EndpointError: the model endpoint cannot be used.
    """
    known = index.unit_vectors
    if known is not None:
        check_embedder(known, embedder.name)
    vectors = embedder.embed_queries(texts) if queries else embedder.embed(texts)
    if known is not None and len(known) and len(known["vector"][0]) != vectors.shape[1]:
        raise VectorLengthError(vectors.shape[1], len(known["vector"][0]), embedder.name)
    return vectors


def check_embedder(vectors: pl.DataFrame, name: str) -> None:
    """Check that the vectors of an index are comparable with those of an embedder.

    Raises:
        SettingsError: another embedder made them.
    """
    made_by = sorted(vectors["embedder"].unique())
    if made_by not in ([], [name]):
        raise SettingsError(
            f"the vectors of the index were made by {', '.join(made_by)}, but the settings say {name}; "
            "index the corpus again"
        )


_UNPUBLISHED = "warehouse"


@dataclass(frozen=True, slots=True)
class EntityHit:
    """An entity that matches a query; ``score`` has no fixed scale, higher is better."""

    entity_id: str
    title: str
    type: str
    description: str
    degree: int
    score: float


@dataclass(frozen=True, slots=True)
class ReportText:
    """A community report."""

    report_id: str
    title: str
    level: int
    rating: float
    content: str


class CorpusIndex:
    """One snapshot of a corpus's index. Open it again to see what a later run published.

    It holds no lock, so runs can go on meanwhile. It may be used from several threads.
    """

    def __init__(
        self,
        name: str,
        searcher: Searcher,
        settings: CorpusSettings,
        version: str,
        memory: LLMCache,
        warehouse: Warehouse | None = None,
    ) -> None:
        self.name = name
        self.version = version
        self.searcher = searcher
        self._settings = settings
        self._memory = memory
        self._warehouse = warehouse or Warehouse()

    @classmethod
    def open(
        cls,
        name: str,
        *,
        corpora: CorpusStore | None = None,
        warehouse: Warehouse | None = None,
        memory: LLMCache | None = None,
    ) -> Self:
        """Open what the last complete run of a corpus published, else what the warehouse holds.

        Args:
            name: the corpus.
            corpora: the corpus store; default: from the environment.
            warehouse: the warehouse; default: from the environment.
            memory: the LLM cache; default: from the environment.

        Raises:
            CorpusError: there is no such corpus.
            SettingsError: its settings cannot be used.
            WarehouseError: it has never been indexed.
        """
        warehouse = warehouse or Warehouse()
        settings = settings_for_questions(name, corpora, warehouse)
        unpublished = _unpublished_version(warehouse, name)
        index, snapshot = open_published(warehouse, name)
        version = snapshot.index if snapshot else unpublished
        if snapshot and (graph := attached_graph(warehouse, name, settings, snapshot.index)):
            index = replace(index, graph=graph)
        count = get_tokenizer(settings.text_units.encoding).count
        searcher = Searcher(index, settings, count, Support(shared_static()))
        return cls(name, searcher, settings, version, memory or LLMCache(), warehouse)

    @staticmethod
    def names() -> list[str]:
        """Return the names of the corpora that can be opened, sorted."""
        known = set(CorpusStore().names())
        here = [name for name in Warehouse().corpora() if name in known]
        return sorted({*here, *shared_corpora(Warehouse())})

    @staticmethod
    def unindexed() -> list[str]:
        """Return the names of the corpora that have not been indexed yet, sorted."""
        made = {*Warehouse().corpora(), *shared_corpora(Warehouse())}
        return [name for name in CorpusStore().names() if name not in made]

    @staticmethod
    def methods(name: str) -> list[str]:
        """Return the names of the search methods that a corpus's settings build an index for.

        Raises:
            CorpusError: there is no such corpus.
            SettingsError: its settings cannot be used.
        """
        settings = settings_for_questions(name)
        return [
            method.name for method in methods().values() if not method.needs or settings.makes(method.needs)
        ]

    @staticmethod
    def published_version(name: str) -> str:
        """Return a version that changes whenever another index is published, so evaluations can be reused.

        Raises:
            WarehouseError: the published snapshot is damaged.
        """
        warehouse = Warehouse()
        snapshot = published(warehouse, name)
        return snapshot.index if snapshot else _unpublished_version(warehouse, name)

    @staticmethod
    def snapshot(name: str) -> str | None:
        """Return the version of the current snapshot, as listed by ``snapshots``; None if there is none.

        Raises:
            WarehouseError: the published snapshot is damaged.
        """
        current = published(Warehouse(), name)
        return current.version if current else None

    def ask(
        self,
        question: str,
        *,
        method: str | None = None,
        level: str | None = None,
        history: Sequence[tuple[str, str]] = (),
        response_type: str | None = None,
        general_knowledge: bool | None = None,
        filters: Filters | None = None,
        listen: Callable[[str], None] | None = None,
    ) -> Answer:
        """Answer a question.

        Args:
            question: at most 4,000 characters.
            method: a search method, as :func:`~graphrag_dagster.kernel.catalogue.registry.methods` lists
                them, or ``C<k>`` of a deeper level; default: ``search.method`` of the corpus's settings, or
                global if a level is given.
            level: community level, such as ``C1``, for methods with a selectable level; default:
                ``search.level``.
            history: earlier questions and answers, oldest first.
            response_type: length and layout of the answer in at most 200 characters, such as ``single
                sentence``; default: ``search.response_type``.
            general_knowledge: a model may add general knowledge, marked ``[LLM: verify]``; default:
                ``search.general_knowledge``.
            filters: which documents to answer from; None: all.
            listen: receives a model's answer as it is streamed.

        Raises:
            QuestionError: the question, method or level is invalid, or no document matches the filters; the
                message says what to do.
            EngineError: an engine cannot do what was asked.
            EndpointError: the model endpoint cannot be used.
        """
        turns = tuple(Turn(*turn) for turn in history)
        asked = Question(question, method, level, filters or ALL, turns, response_type, general_knowledge)
        return self.answer(asked, listen)

    def answer(self, question: Question, listen: Callable[[str], None] | None = None) -> Answer:
        """Answer a prepared question; see :meth:`ask`."""
        options, session = self._settings.search, self._session()
        session.listen, session.waited_for = listen, True
        session.form = AnswerForm.checked(
            options.response_type if question.response_type is None else question.response_type,
            options.general_knowledge if question.general_knowledge is None else question.general_knowledge,
        )
        return self.searcher.answer(question, session)

    def _session(self, user: str = "ask") -> TaskProvider:
        return session_of(self.name, self._settings, user, self._memory)

    def embed(self, texts: Sequence[str], *, queries: bool = False) -> Vectors:
        """Return unit vectors of texts that are comparable with those of the index, one per row.

        Args:
            texts: to embed; a blank text gives zeros.
            queries: the texts are queries, not passages; some models expect a prefix on queries.

        Raises:
            SettingsError: another embedder made the vectors of the index.
            EngineError: the embedder is not installed.
            EndpointError: the model endpoint cannot be used.
        """
        return embed_texts(self._session().embedder(), self.searcher.index, texts, queries=queries)

    @staticmethod
    def embedders() -> list[str]:
        """Return the names of the embedders that need neither a corpus nor an endpoint."""
        return local_embedders()

    @staticmethod
    def embed_here(name: str, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts from a local embedder; see :func:`embed_locally`."""
        return embed_locally(name, texts)

    def search_entities(self, query: str, limit: int = 10) -> list[EntityHit]:
        """Return the entities that match a query, best first.

        Raises:
            QuestionError: the query is blank or too long.
        """
        hits = self.searcher.entities(validate_question(query), limit, self._session())
        columns = ("entity_id", "title", "type", "description", "degree")
        rows = self.searcher.index.entities.filter(
            pl.col("entity_id").is_in([entity_id for entity_id, _ in hits])
        )
        by_id = {row["entity_id"]: row for row in rows.select(columns).iter_rows(named=True)}
        return [EntityHit(**by_id[entity_id], score=score) for entity_id, score in hits]

    def report(self, report_id: str) -> ReportText:
        """Return a community report.

        Raises:
            QuestionError: there is no report of that id.
        """
        rows = self.searcher.index.reports.filter(pl.col("report_id") == report_id)
        if rows.is_empty():
            raise QuestionError(f"corpus {self.name!r} has no report {report_id!r}")
        return ReportText(*rows.select("report_id", "title", "level", "rating", "content").row(0))

    def source(self, text_unit_id: str) -> Passage:
        """Return a text unit.

        Raises:
            QuestionError: there is no text unit of that id.
        """
        passage = self.searcher.index.passages.get(text_unit_id)
        if passage is None:
            raise QuestionError(f"corpus {self.name!r} has no text unit {text_unit_id!r}")
        return passage


def settings_for_questions(
    name: str, corpora: CorpusStore | None = None, warehouse: Warehouse | None = None
) -> CorpusSettings:
    """Return the settings of a corpus; of one without a folder here, those that its snapshot was made with.

    Args:
        name: the corpus.
        corpora: the corpus store; default: from the environment.
        warehouse: the warehouse; default: from the environment.

    Raises:
        CorpusError: there is no such corpus.
        SettingsError: its settings cannot be used.
        WarehouseError: they would have to be fetched, and cannot be.
    """
    store, warehouse = corpora or CorpusStore(), warehouse or Warehouse()
    try:
        return store.settings(name)
    except CorpusError:
        # Only where machines share snapshots are there some of corpora that this machine does not have.
        shared = shared_corpora(warehouse)
        if shared and name not in {*store.names(), *shared}:
            raise CorpusError(
                f"no corpus {name!r} below {store.path.resolve()} or at {warehouse.published_url}; "
                f"there are: {', '.join(sorted({*store.names(), *shared}))}"
            ) from None
        if name in store.names() or not shared:
            raise
        snapshot = published(warehouse, name)
        if snapshot is None:
            raise
    told = snapshot.manifest["settings"]
    if hidden := next((key for key, value in flatten(told).items() if "***" in str(value)), None):
        raise SettingsError(
            f"{hidden} of corpus {name!r} may hold a key and is not published; put the corpus's corpus.yaml "
            f"into {store.path / name}"
        )
    return parse_settings(told, f"the published settings of corpus {name!r}")


def session_of(
    corpus: str, settings: CorpusSettings, user: str, memory: LLMCache | None = None
) -> TaskProvider:
    """Return the task provider of a corpus for use outside a run.

    Args:
        corpus: its name.
        settings: of the corpus.
        user: the name under which model calls are accounted.
        memory: the LLM cache; default: from the environment.
    """
    language = Language(memory=memory or LLMCache(), corpora=CorpusStore())
    return language.session_of(settings, User(corpus, user, str(uuid.uuid4())))


def _unpublished_version(warehouse: Warehouse, name: str) -> str:
    file = warehouse.file(name)
    return f"{_UNPUBLISHED}-{file.stat().st_mtime_ns if file.is_file() else 0}"
