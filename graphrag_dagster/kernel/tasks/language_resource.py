"""Language technology, with the limits of a run."""

from pydantic import Field

from graphrag_dagster.kernel.catalogue.registry import require_named, stages
from graphrag_dagster.kernel.common.lazy_values import once
from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, Replies, User
from graphrag_dagster.kernel.models.cache.usage_account import UsageAccount
from graphrag_dagster.kernel.models.model_costs import Budget
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider


class Language(Resource):
    """Opens the task provider of an asset. The limits hold for each run as a whole."""

    max_tokens: int | None = Field(default=None, ge=0, description="most tokens, in and out, of a run")
    max_usd: float | None = Field(default=None, ge=0, description="most US dollars of a run")
    memory: LLMCache
    corpora: CorpusStore

    @property
    def limited(self) -> bool:
        """Whether a run has a token or cost limit."""
        return self.max_tokens is not None or self.max_usd is not None

    def session_of(
        self, settings: CorpusSettings, user: User, default_tokens: int | None = None
    ) -> TaskProvider:
        """Return the task provider for these settings; nothing is loaded or called before a task runs.

        Args:
            settings: the corpus's settings.
            user: whose calls they are.
            default_tokens: most tokens of the run if it has no limit; None: then any number.

        Raises:
            CatalogueError: no stage declares that an asset of this name calls models.
        """
        users = {name: None for stage in stages().values() for name in stage.users}
        require_named(users, user.asset, "user of models")

        def account() -> UsageAccount:
            budget = Budget(self.max_tokens, self.max_usd) if self.limited else Budget(default_tokens)
            return UsageAccount(user, Replies(self.memory.database()), self.memory.usage_log(), budget)

        return TaskProvider(settings, once(account))
