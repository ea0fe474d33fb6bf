"""What an engine is given to work with: a model for each task, on the account of one asset."""

from typing import TYPE_CHECKING

from graphrag_dagster.catalogue.registry import tasks
from graphrag_dagster.model_calls.memory.account import Account, Till
from graphrag_dagster.settings import CorpusSettings

if TYPE_CHECKING:
    from graphrag_dagster.core.language.chat.port import ChatModel
    from graphrag_dagster.model_calls.endpoint.chat import OpenAIChatModel

#: Providers take half the price for what is not urgent.
_BATCH_PRICE = 0.5


class Desk:
    """Models at the endpoint, as a corpus's settings choose them; each is made when it is asked for."""

    def __init__(self, settings: CorpusSettings, account: Account) -> None:
        self.settings = settings
        self.account = account
        self._asked: dict[str, OpenAIChatModel] = {}

    def chat(self, task: str) -> "ChatModel":
        """Return the chat model of a task; what it answered before it remembers, and all is booked."""
        from graphrag_dagster.model_calls.batches.batching import BatchSender
        from graphrag_dagster.model_calls.endpoint.chat import OpenAIChatModel
        from graphrag_dagster.model_calls.memory.ability_store import AbilityStore
        from graphrag_dagster.model_calls.memory.models import BookedChatModel, RememberingChatModel
        from graphrag_dagster.model_calls.probing.checkup import checkup

        declared = tasks()[task]
        settings = self.settings.model.for_role(declared.role)
        model = OpenAIChatModel(settings)
        self._asked[settings.name] = model
        batched = settings.batch and not declared.waited_for
        url, discount = model.connection.url, _BATCH_PRICE if batched else 1.0
        till = Till(self.account, settings, settings.name, url, discount)
        known = AbilityStore(self.account.replies.database)

        async def gate() -> None:
            await checkup(BookedChatModel(settings, till), known)

        if batched:
            sender = BatchSender(settings, self.account.user, self.account.replies.database)
            return RememberingChatModel(sender, self.account, till, gate)
        return RememberingChatModel(model, self.account, till, gate)

    def reply_limit(self, task: str) -> int:
        """Most tokens of a reply to a task."""
        return self.settings.model.for_role(tasks()[task].role).reply_limit

    def keep_pace(self) -> None:
        """Remember how fast the models were that were asked."""
        if self._asked:
            from graphrag_dagster.model_calls.memory.ability_store import AbilityStore
            from graphrag_dagster.model_calls.probing.checkup import keep_pace

            for model in self._asked.values():
                keep_pace(model, AbilityStore(self.account.replies.database))
