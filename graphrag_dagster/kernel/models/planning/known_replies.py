"""Known replies before a model is asked: those in the LLM cache, and how long others were."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphrag_dagster.kernel.models.cache.account import UsageLog
from graphrag_dagster.kernel.models.cache.database import database_at
from graphrag_dagster.kernel.models.cache.replies import Replies, reply_key, vector_key
from graphrag_dagster.kernel.models.chat.port import ChatReply, ChatRequest
from graphrag_dagster.kernel.settings.corpus import CorpusSettings
from graphrag_dagster.kernel.settings.model import ModelSettings, RoleName
from graphrag_dagster.kernel.storage.home import memory_file

#: Tokens that a chat template adds to a request.
TEMPLATE = 8
_ENOUGH_CALLS = 5

#: Communities that are not tiny, for each name of texts of which there is no index yet: .009 in a story, .021
#: in papers of a town, .027 in passages of an encyclopedia (MuSiQue).
SUMMARIES_PER_NAME = 0.02


class Known:
    """Statistics on a model from the LLM cache and the accounts.

    Args:
        settings: the section ``model`` of a corpus.
        count: counts the tokens of a text.
    """

    def __init__(self, settings: ModelSettings, count: Callable[[str], int]) -> None:
        self._settings = settings
        self._count = count
        database = database_at(memory_file())
        self._replies = Replies(database)
        self._log = UsageLog(database)

    def of_task(self, task: RoleName) -> ModelSettings:
        """Return the settings of a task."""
        return self._settings.for_role(task)

    def new(self, task: RoleName, requests: Sequence[ChatRequest]) -> list[int]:
        """Return the places of the requests whose replies are not cached."""
        keys = [reply_key(self.of_task(task), request) for request in requests]
        known = self._replies.has(keys)
        return [place for place, key in enumerate(keys) if key not in known]

    def reply(self, task: RoleName, request: ChatRequest) -> ChatReply | None:
        """Return the cached reply to a request; None where there is none."""
        return self._replies.shown(reply_key(self.of_task(task), request))

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
    known: Known
    names: int
    pairs: int
