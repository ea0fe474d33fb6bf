"""An indexed corpus to ask: what all doors, and an evaluation, have in common."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import QuestionError, SettingsError
from graphrag_dagster.kernel.catalogue.registry import attached_graph, embedders, methods
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, User
from graphrag_dagster.kernel.models.local_embedders import shared_static
from graphrag_dagster.kernel.questions.context.index_background import Support
from graphrag_dagster.kernel.questions.document_filters import ALL, Filters
from graphrag_dagster.kernel.questions.question import Question, checked
from graphrag_dagster.kernel.questions.searcher import Searcher
from graphrag_dagster.kernel.questions.snapshot_opening import open_published
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tasks.answer_form import AnswerForm
from graphrag_dagster.kernel.tasks.language_resource import Language
from graphrag_dagster.kernel.tasks.task_ports import Turn
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


def embedders_here() -> list[str]:
    """Return the names of the embedders that need neither a corpus nor an endpoint."""
    return [one.name for one in embedders().values() if not one.asks_model]


def embed_here(name: str, texts: Sequence[str]) -> Vectors:
    """Return unit vectors of texts by an embedder of this machine, one a row.

    Raises:
        QuestionError: there is none of that name.
        EngineError: what it needs is not installed.
    """
    if name not in embedders_here():
        raise QuestionError(f"there is no embedder {name!r}; there are: {', '.join(embedders_here())}")
    settings = parse_settings({"embeddings": {"embedder": name}}, name)
    session = Language(memory=LLMCache(), corpora=CorpusStore()).session_of(
        settings, User(name, "ask", str(uuid.uuid4()))
    )
    return session.embedder().embed(texts)


def embedded(
    embedder: CorpusEmbedder, index: IndexSnapshot, texts: Sequence[str], *, queries: bool
) -> Vectors:
    """Return unit vectors of texts that can be compared with those of an index, one a row.

    Args:
        embedder: of the corpus.
        index: with the vectors.
        texts: what is embedded.
        queries: these are looked for, not found.

    Raises:
        SettingsError: another embedder made the vectors of the index.
        EndpointError: the model endpoint cannot be used.
    """
    if index.unit_vectors is not None:
        check_embedder(index.unit_vectors, embedder.name)
    return embedder.embed_queries(texts) if queries else embedder.embed(texts)


def check_embedder(vectors: pl.DataFrame, name: str) -> None:
    """Refuse vectors of an index that cannot be compared with those of an embedder.

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
    """An entity that a query is about; ``score`` of any scale, higher is nearer."""

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
    """One snapshot of a corpus's index; open it anew to see what a later run published.

    It holds no lock: runs go on while it is asked. Several threads may ask at once.
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
            corpora: where corpora lie; default: as the environment says.
            warehouse: where their tables lie; default: as the environment says.
            memory: where replies are remembered; default: as the environment says.

        Raises:
            CorpusError: there is no such corpus.
            SettingsError: its settings cannot be used.
            WarehouseError: it has never been indexed.
        """
        warehouse = warehouse or Warehouse()
        settings = (corpora or CorpusStore()).settings(name)
        unpublished = _unpublished(warehouse, name)
        index, found = open_published(warehouse, name)
        version = found.index if found else unpublished
        if found and (graph := attached_graph(warehouse, name, settings, found.index)):
            index = replace(index, graph=graph)
        count = get_tokenizer(settings.text_units.encoding).count
        searcher = Searcher(index, settings, count, Support(shared_static()))
        return cls(name, searcher, settings, version, memory or LLMCache(), warehouse)

    @staticmethod
    def names() -> list[str]:
        """Names of the corpora that can be opened, sorted."""
        known = set(CorpusStore().names())
        return [name for name in Warehouse().corpora() if name in known]

    @staticmethod
    def methods(name: str) -> list[str]:
        """Names of the search methods that the settings of a corpus make an index for.

        Raises:
            CorpusError: there is no such corpus.
            SettingsError: its settings cannot be used.
        """
        settings = CorpusStore().settings(name)
        return [one.name for one in methods().values() if not one.needs or settings.makes(one.needs)]

    @staticmethod
    def published_version(name: str) -> str:
        """Return what changes when another index is published; an evaluation of the same changes nothing.

        Raises:
            WarehouseError: what was published is damaged.
        """
        warehouse = Warehouse()
        found = published(warehouse, name)
        return found.index if found else _unpublished(warehouse, name)

    @staticmethod
    def snapshot(name: str) -> str | None:
        """Return the version of the snapshot that is read, as ``snapshots`` lists it; None for none.

        Raises:
            WarehouseError: what was published is damaged.
        """
        found = published(Warehouse(), name)
        return found.version if found else None

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
                global where a level is given.
            level: community level, such as ``C1``, of a way that reads one of choice; default:
                ``search.level``.
            history: questions and answers so far, oldest first.
            response_type: length and layout of the answer in at most 200 characters, such as ``single
                sentence``; default: ``search.response_type``.
            general_knowledge: a model may add what it knows of the world, marked ``[LLM: verify]``;
                default: ``search.general_knowledge``.
            filters: which documents to answer from; None: all.
            listen: hears a model's answer as it comes.

        Raises:
            QuestionError: the question, method or level cannot be answered, or no document fits the filters;
                says what to do.
            EngineError: an engine cannot do what was asked.
            EndpointError: the model endpoint cannot be used.
        """
        turns = tuple(Turn(*turn) for turn in history)
        asked = Question(question, method, level, filters or ALL, turns, response_type, general_knowledge)
        return self.answer(asked, listen)

    def answer(self, question: Question, listen: Callable[[str], None] | None = None) -> Answer:
        """Answer a question that was put together before; see :meth:`ask`."""
        own, session = self._settings.search, self._session()
        session.listen = listen
        session.form = AnswerForm.checked(
            own.response_type if question.response_type is None else question.response_type,
            own.general_knowledge if question.general_knowledge is None else question.general_knowledge,
        )
        return self.searcher.answer(question, session)

    def _session(self, user: str = "ask") -> TaskProvider:
        return session_of(self.name, self._settings, user, self._memory)

    def embed(self, texts: Sequence[str], *, queries: bool = False) -> Vectors:
        """Return unit vectors of texts that can be compared with those of the index, one a row.

        Args:
            texts: what is embedded; a blank one gives zeros.
            queries: these are looked for, not found: some models want a prefix before such texts.

        Raises:
            SettingsError: another embedder made the vectors of the index.
            EngineError: the embedder is not installed.
            EndpointError: the model endpoint cannot be used.
        """
        return embedded(self._session().embedder(), self.searcher.index, texts, queries=queries)

    @staticmethod
    def embedders() -> list[str]:
        """Names of the embedders that need neither a corpus nor an endpoint."""
        return embedders_here()

    @staticmethod
    def embed_here(name: str, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts by such an embedder; see :func:`.embedding.embed_here`."""
        return embed_here(name, texts)

    def search_entities(self, query: str, limit: int = 10) -> list[EntityHit]:
        """Return the entities that a query is about, best first.

        Raises:
            QuestionError: the query is blank or too long.
        """
        found = self.searcher.entities(checked(query), limit, self._session())
        columns = ("entity_id", "title", "type", "description", "degree")
        rows = self.searcher.index.entities.filter(pl.col("entity_id").is_in([one for one, _ in found]))
        by_id = {row["entity_id"]: row for row in rows.select(columns).iter_rows(named=True)}
        return [EntityHit(**by_id[one], score=score) for one, score in found]

    def report(self, report_id: str) -> ReportText:
        """Return a report.

        Raises:
            QuestionError: there is none of that id.
        """
        rows = self.searcher.index.reports.filter(pl.col("report_id") == report_id)
        if rows.is_empty():
            raise QuestionError(f"corpus {self.name!r} has no report {report_id!r}")
        return ReportText(*rows.select("report_id", "title", "level", "rating", "content").row(0))

    def source(self, text_unit_id: str) -> Passage:
        """Return a text unit.

        Raises:
            QuestionError: there is none of that id.
        """
        passage = self.searcher.index.passages.get(text_unit_id)
        if passage is None:
            raise QuestionError(f"corpus {self.name!r} has no text unit {text_unit_id!r}")
        return passage


def session_of(
    corpus: str, settings: CorpusSettings, user: str, memory: LLMCache | None = None
) -> TaskProvider:
    """Return the engines of a corpus for who asks it outside of a run.

    Args:
        corpus: its name.
        settings: of the corpus.
        user: the name under which what is asked of models is booked.
        memory: where replies are remembered; default: as the environment says.
    """
    language = Language(memory=memory or LLMCache(), corpora=CorpusStore())
    return language.session_of(settings, User(corpus, user, str(uuid.uuid4())))


def _unpublished(warehouse: Warehouse, name: str) -> str:
    file = warehouse.file(name)
    return f"{_UNPUBLISHED}-{file.stat().st_mtime_ns if file.is_file() else 0}"
