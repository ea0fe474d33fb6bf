"""Language technology as a resource: who uses it, and within which limits."""

from typing import Protocol

from pydantic import Field

from graphrag_dagster.catalogue.registry import named, stages
from graphrag_dagster.core.accounting.budget import Amount, Budget
from graphrag_dagster.core.resource import Resource
from graphrag_dagster.engines.session import Session
from graphrag_dagster.model_calls.memory.account import Account
from graphrag_dagster.model_calls.memory.replies import Replies, User
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.settings import CorpusSettings


class OfACorpus(Protocol):
    """The run that makes something of a corpus, as Dagster's contexts tell of it."""

    @property
    def partition_key(self) -> str:
        """The corpus."""

    @property
    def run_id(self) -> str:
        """The run."""


class Language(Resource):
    """Opens the engines of the language tasks for an asset; the limits hold for each run as a whole."""

    max_tokens: int | None = Field(default=None, ge=0, description="most tokens, in and out, of a run")
    max_usd: float | None = Field(default=None, ge=0, description="most US dollars of a run")
    memory: ReplyMemory
    corpora: CorpusStore

    def session(self, context: OfACorpus, user: str) -> Session:
        """Return the engines of the corpus that an asset is made of.

        Args:
            context: of the run.
            user: the name under which what the asset asks of models is booked.

        Raises:
            CatalogueError: no stage says that an asset of this name asks models.
        """
        corpus = context.partition_key
        return self.session_of(self.corpora.settings(corpus), User(corpus, user, context.run_id))

    def session_of(self, settings: CorpusSettings, user: User) -> Session:
        """Return the engines that settings choose; nothing is loaded or called before a task runs.

        Raises:
            CatalogueError: no stage says that an asset of this name asks models.
        """
        users = {name: None for one in stages().values() for name in one.users}
        named(users, user.asset, "user of models")
        database, log = self.memory.database(), self.memory.usage_log()
        before = log.of_run(user.corpus, user.run_id)
        budget = Budget(self.max_tokens, self.max_usd, Amount(before.tokens, before.usd))
        return Session(settings, Account(user, Replies(database), log, budget))
