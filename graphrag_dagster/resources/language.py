"""Language technology as a resource: who uses it, and within which limits."""

from dagster import ConfigurableResource
from pydantic import Field

from graphrag_dagster.core.accounting.budget import Amount, Budget
from graphrag_dagster.resources.home import memory_file
from graphrag_dagster.resources.memory.account import Account
from graphrag_dagster.resources.memory.database import database_at
from graphrag_dagster.resources.memory.replies import Replies, User
from graphrag_dagster.resources.memory.usage import UsageLog
from graphrag_dagster.resources.session import Session
from graphrag_dagster.settings import CorpusSettings


class Language(ConfigurableResource[None]):
    """Opens the engines of the language tasks for an asset; the limits hold for each run as a whole."""

    max_tokens: int | None = Field(default=None, ge=0, description="most tokens, in and out, of a run")
    max_usd: float | None = Field(default=None, ge=0, description="most US dollars of a run")

    def usage_log(self) -> UsageLog:
        """The accounts of all runs."""
        return UsageLog(database_at(memory_file()))

    def session(self, settings: CorpusSettings, *, corpus: str, asset: str, run_id: str) -> Session:
        """Return the engines of a corpus as one asset uses them in one run.

        Nothing is loaded or called before a task runs.
        """
        database = database_at(memory_file())
        log = UsageLog(database)
        before = log.of_run(corpus, run_id)
        budget = Budget(self.max_tokens, self.max_usd, Amount(before.tokens, before.usd))
        account = Account(User(corpus, asset, run_id), Replies(database), log, budget)
        return Session(settings, account)
