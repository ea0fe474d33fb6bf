"""Inputs of a plan: text units, expected names and pairs, and replies that are already known."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from graphrag_dagster.kernel.models.cache.cache_database import Database, own_database
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, Replies, reply_keys, vector_key
from graphrag_dagster.kernel.models.cache.usage_account import UsageLog, price_of
from graphrag_dagster.kernel.models.call_estimates import Estimate
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply, ChatRequest
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.model_costs import Price
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.model_settings import ModelSettings, RoleName
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse


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
class PlanPlaces:
    """Where a plan beyond the index reads from; default: the places of the environment."""

    corpora: CorpusStore = field(default_factory=CorpusStore)
    warehouse: Warehouse = field(default_factory=Warehouse)
    memory: LLMCache = field(default_factory=LLMCache)


#: Tokens that a chat template adds to a request.
TEMPLATE = 8
_ENOUGH_CALLS = 5


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
