"""Inputs of a plan: text units, expected names and pairs, and replies that are already known."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory

import polars as pl

from graphrag_dagster.apps.interchange.settings import ImportSettings
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.documents.documents import read_corpus, require_documents
from graphrag_dagster.kernel.documents.imported_texts import imported_texts
from graphrag_dagster.kernel.documents.text_units import cut_text_units
from graphrag_dagster.kernel.models.cache.cache_database import Database, own_database
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, Replies, reply_keys, vector_key
from graphrag_dagster.kernel.models.cache.usage_account import UsageLog, price_of
from graphrag_dagster.kernel.models.call_estimates import Estimate, names_and_pairs
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply, ChatRequest
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.model_costs import Price
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.model_settings import ModelSettings, RoleName
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.duckdb_access import first_row
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse


def prices_of(
    settings: ModelSettings, estimates: Iterable[Estimate], role_of: Callable[[Estimate], RoleName]
) -> dict[str, Price]:
    """Return the prices that are known of the models of estimates; ``role_of``: which one is asked."""
    prices = {}
    for one in estimates:
        model = settings.for_role(role_of(one))
        if price := price_of(model, one.model, OpenAIChatModel(model).connection.url):
            prices[one.model] = price
    return prices


@dataclass(frozen=True, slots=True)
class PlanBasis:
    """The work to plan.

    ``units``: rows of ``corpus.text_chunks``; ``names`` and ``pairs``: of the graph, guessed where it is yet
    to be extracted; ``reports``: how many are to be written by level, None if unknown.
    """

    units: pl.DataFrame
    names: int
    pairs: int
    reports: Mapping[int, int] | None = None


def basis_of(store: CorpusStore, name: str) -> PlanBasis:
    """Read the files of a corpus as they are now.

    Raises:
        CorpusError: none of them can be read.
        SettingsError: its settings cannot be used.
    """
    settings = store.settings(name)
    if settings.makes("imports"):
        return _of_graph(store, name, settings)
    contents = read_corpus(store, name)
    # A corpus that had documents may have lost them all.
    if not Warehouse().exists(tables.DOCUMENTS, name):
        require_documents(contents, store.folder(name))
    units = cut_text_units(contents.documents, **settings.text_units.model_dump())
    found = [names_and_pairs(text) for text in units["text"]]
    return PlanBasis(
        units,
        names=len({one for names, _ in found for one in names}),
        pairs=len({one for _, pairs in found for one in pairs}),
    )


def _of_graph(store: CorpusStore, name: str, settings: CorpusSettings) -> PlanBasis:
    """A graph is taken in as an index does, into a file that goes again."""
    from graphrag_dagster.apps.interchange.graph_import import import_graphs

    own = settings.section(ImportSettings)
    with TemporaryDirectory() as folder:
        warehouse = Warehouse(path=f"{folder}/{{corpus}}.duckdb")
        import_graphs(store, warehouse, name)
        with warehouse.reading(name) as reader:
            texts = imported_texts(
                reader.read(tables.IMPORTED_DOCUMENTS),
                reader.read(tables.IMPORTED_TEXT_UNITS),
                settings.text_units.encoding,
            )
            names = _count_rows(
                reader,
                "select name from imports.entities union select head from imports.relations "
                "union select tail from imports.relations",
            )
            pairs = _count_rows(
                reader, "select distinct least(head, tail), greatest(head, tail) from imports.relations"
            )
            communities, reports = (
                Counter[int](reader.read(table, ["level"])["level"])
                for table in (tables.IMPORTED_COMMUNITIES, tables.IMPORTED_REPORTS)
            )
    if own.communities != "kept" or not communities:
        return PlanBasis(texts.text_units, names, pairs)
    there = reports if own.reports == "kept" else Counter()
    return PlanBasis(texts.text_units, names, pairs, communities - there)


def _count_rows(reader: Reader, query: str) -> int:
    found = first_row(reader.connection.execute(f"select count(*) from ({query})"))
    return int(found[0]) if found else 0


@dataclass(frozen=True, slots=True)
class PlanPlaces:
    """Where a plan beyond the index reads from; default: the places of the environment."""

    corpora: CorpusStore = field(default_factory=CorpusStore)
    warehouse: Warehouse = field(default_factory=Warehouse)
    memory: LLMCache = field(default_factory=LLMCache)


#: Tokens that a chat template adds to a request.
TEMPLATE = 8
_ENOUGH_CALLS = 5

#: Communities that are not tiny, for each name of texts of which there is no index yet: .009 in a story, .021
#: in papers of a town, .027 in passages of an encyclopedia (MuSiQue).
SUMMARIES_PER_NAME = 0.02


class KnownReplies:
    """Statistics on a model from the LLM cache and the accounts.

    Args:
        settings: the section ``model`` of a corpus.
        count: counts the tokens of a text.
        database: file of the LLM cache; default: that of the environment.
    """

    def __init__(
        self, settings: ModelSettings, count: Callable[[str], int], database: Database | None = None
    ) -> None:
        self._settings = settings
        self._count = count
        database = database or own_database()
        self._replies = Replies(database)
        self._log = UsageLog(database)

    def of_task(self, task: RoleName) -> ModelSettings:
        """Return the settings of a task."""
        return self._settings.for_role(task)

    def new_requests(self, task: RoleName, requests: Sequence[ChatRequest]) -> list[int]:
        """Return the places of the requests whose replies are not cached."""
        keys = [reply_keys(self.of_task(task), request) for request in requests]
        known = self._replies.has([key for some in keys for key in some])
        return [place for place, some in enumerate(keys) if known.isdisjoint(some)]

    def reply(self, task: RoleName, request: ChatRequest) -> ChatReply | None:
        """Return the cached reply to a request; None where there is none."""
        found = map(self._replies.cached_reply_for_display, reply_keys(self.of_task(task), request))
        return next((reply for reply in found if reply is not None), None)

    def vectors(self, model: str, texts: Sequence[str]) -> int:
        """Return how many texts, as they are sent, have a cached vector."""
        namespace = self.of_task("embed").namespace
        return len(self._replies.has([vector_key(model, namespace, text) for text in texts]))

    def size(self, request: ChatRequest) -> int:
        """Return the tokens of a request."""
        return sum(self._count(message.content) for message in request.messages) + TEMPLATE

    def tokens(self, *texts: str) -> int:
        """Return the tokens of a prompt that has these texts."""
        return sum(map(self._count, texts)) + TEMPLATE

    def average(self, task: RoleName, request: str) -> float | None:
        """Return the tokens of this model's replies to such requests; None with too few of them."""
        calls, tokens = self._log.written(request, self.of_task(task).name)
        return tokens / calls if calls >= _ENOUGH_CALLS else None


@dataclass(frozen=True, slots=True)
class Unit:
    """A text unit in a plan: its id, its text, and whether it is to be extracted anew."""

    unit_id: str
    text: str
    new: bool


@dataclass(frozen=True, slots=True)
class Planned:
    """What the estimates of a plan are made from.

    Attributes:
        corpus: its name.
        settings: of the corpus.
        units: its text units as they are now.
        known: of the models.
        names: different ones in the text units, about.
        pairs: of names that stand side by side, about.
    """

    corpus: str
    settings: CorpusSettings
    units: Sequence[Unit]
    known: KnownReplies
    names: int
    pairs: int
