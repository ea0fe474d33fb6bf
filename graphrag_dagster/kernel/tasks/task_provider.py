"""Provides the implementation of each language task, as a corpus's settings choose it, on one usage
account.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.catalogue.registry import (
    embedders,
    engines,
    load_target,
    require_named,
    rerankers,
)
from graphrag_dagster.kernel.models.cache.llm_cache import vector_key
from graphrag_dagster.kernel.models.cache.usage_account import CostMeter, UsageAccount, price_of
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.tasks.answering_ports import SUPPORT_JUDGE
from graphrag_dagster.kernel.text.answer_form import AnswerForm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphrag_dagster.kernel.catalogue.tasks import Port, Task
    from graphrag_dagster.kernel.models.cache.cached_models import CachedChatModel
    from graphrag_dagster.kernel.models.cache.llm_cache import User
    from graphrag_dagster.kernel.models.chat.chat_model import ChatModel
    from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
    from graphrag_dagster.kernel.settings.model_settings import RoleName
    from graphrag_dagster.kernel.tasks.answering_ports import Reranker, SupportJudge

#: Providers charge half the price for batches.
_BATCH_PRICE = 0.5


@dataclass
class TaskProvider:
    """Provides implementations of language tasks according to the settings, each created on request.

    Attributes:
        settings: the corpus's settings.
        open_account: returns the usage account of all model calls, each time the same.
        listen: receives a model's answers as they stream in.
        form: the requested form of answers; default: that of the settings.
        themes: the main topics of the corpus, most important first, for question writers.
        waited_for: someone waits for the replies to all tasks, so none is sent as a batch.
    """

    settings: CorpusSettings
    open_account: Callable[[], UsageAccount]
    listen: Callable[[str], None] | None = None
    form: AnswerForm | None = None
    themes: Sequence[str] = ()
    waited_for: bool = False

    @property
    def account(self) -> UsageAccount:
        """The usage account; it opens the LLM cache, which a home that cannot be written may lack.

        Raises:
            CacheFileError: the cache cannot be opened.
        """
        return self.open_account()

    @property
    def user(self) -> User:
        """The account's user."""
        return self.account.user

    @property
    def answer_form(self) -> AnswerForm:
        """The requested form of answers.

        Raises:
            EngineError: the settings ask for something only a model can provide.
        """
        search = self.settings.search
        return self.form or AnswerForm.checked(search.response_type, search.general_knowledge)

    def task(self, task: Task[Port]) -> Port:
        """Return the implementation of a task; None if it is switched off, or only a model could do it.

        Raises:
            EngineError: the chosen engine does not support the task.
            SettingsError: the model settings are invalid.
        """
        engine = require_named(engines(), self.settings.engine_of(task.section), "engine")
        if not self.settings.switched_on(task):
            return cast("Port", None)
        if factory := engine.does.get(task.name):
            implementation: Port = load_target(factory)(self)
            return implementation
        if task.model_only:
            return cast("Port", None)
        able = ", ".join(other.name for other in engines().values() if task.name in other.does)
        raise EngineError(
            f"the engine {engine.name} has no {task.title}; set {task.section}.engine to one of {able}"
        )

    def chat(self, task: Task[object]) -> ChatModel:
        """Return the chat model of a task, with caching and usage accounting."""
        model = self._endpoint_model(task.role)
        batched = model.settings.batch and not (task.waited_for or self.waited_for)
        return self._cached_chat(model, batched=batched)

    def check_endpoint(self, task: Task[object]) -> None:
        """Find out what the endpoint of a task can do, for the processes that are to call it.

        Raises:
            EndpointError: it cannot be used.
        """
        from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one

        run_one(self._cached_chat(self._endpoint_model(task.role), batched=False).open())

    def _endpoint_model(self, role: RoleName) -> OpenAIChatModel:
        from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel

        return OpenAIChatModel(self.settings.model.for_role(role))

    def _cached_chat(self, model: OpenAIChatModel, *, batched: bool) -> CachedChatModel:
        from graphrag_dagster.kernel.models.batch_queue import BatchSender
        from graphrag_dagster.kernel.models.cache.cached_models import AccountedChatModel, CachedChatModel
        from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore
        from graphrag_dagster.kernel.models.probing.endpoint_check import check_endpoint

        settings = model.settings
        url = model.connection.url
        meter = CostMeter(self.account, settings, settings.name, url)
        database = self.account.replies.database
        capabilities = CapabilityStore(database)

        async def gate() -> None:
            await check_endpoint(AccountedChatModel(settings, meter), capabilities)

        if batched:
            sender = BatchSender(settings, self.account.user, database)
            cheaper = CostMeter(self.account, settings, settings.name, url, _BATCH_PRICE)
            return CachedChatModel(sender, self.account, cheaper, gate, direct=(model, meter))
        return CachedChatModel(model, self.account, meter, gate)

    def reply_limit(self, task: Task[object]) -> int:
        """Most tokens of a reply to a task."""
        return self.settings.model.for_role(task.role).reply_limit

    def embedder(self) -> CorpusEmbedder:
        """Return the embedder."""
        settings = self.settings.embeddings
        kind = require_named(embedders(), settings.embedder, "embedder")
        return CorpusEmbedder(load_target(kind.factory)(self), settings.prefixes or kind.prefixes)

    def reranker(self) -> Reranker | None:
        """Return the reranker of the first text units found; None to keep their order."""
        kind = require_named(rerankers(), self.settings.search.chosen_reranker, "reranker")
        reranker: Reranker | None = load_target(kind.factory)(self)
        return reranker

    def support_judge(self) -> SupportJudge:
        """Return the judge of whether words support a statement.

        Raises:
            EngineError: the settings choose a model as judge, but the search engine uses none.
        """
        from graphrag_dagster.kernel.models.local_embedders import shared_static
        from graphrag_dagster.kernel.tasks.support_by_words import JudgeByWords

        search = self.settings.search
        if search.support == "nli":
            from graphrag_dagster.kernel.tasks.support_by_entailment import shared_entailment

            return shared_entailment(search.support_model or "")
        if search.support == "words":
            return JudgeByWords(shared_static())
        if (judge := self.task(SUPPORT_JUDGE)) is None:
            raise EngineError(
                f"search.support is model, but the engine {self.settings.engine_of('search')} asks none; "
                "set search.engine: llm, or search.support: words"
            )
        return judge

    def usd_of(self, task: RoleName, use: Usage) -> float | None:
        """Return the US dollars of a usage as if nothing had been cached; None if the price is unknown."""
        if use == Usage():
            return 0.0
        model = self._endpoint_model(task)
        price = price_of(model.settings, model.settings.name, model.connection.url)
        return price.of(use.input_tokens, use.output_tokens) if price else None

    def mark_in_use(self, texts: Sequence[str]) -> None:
        """Mark the cached vectors of an index's texts as in use, even if none was requested."""
        embeddings = self.settings.embeddings
        if self.settings.embeds_at_endpoint and embeddings.model:
            namespace = self.settings.model.for_role("embed").namespace
            embedded = dict.fromkeys(embeddings.prefixes.of_documents(texts))
            keys = [vector_key(embeddings.model, namespace, text) for text in embedded]
            self.account.replies.touch(keys, self.account.user)

    def cached(self, replies: Sequence[str]) -> set[str]:
        """Return those of the reply keys that are still in the cache."""
        keys = [bytes.fromhex(key) for key in replies]
        return {key.hex() for key in self.account.replies.has(keys)}

    def mark_reused(self, replies: Sequence[str]) -> None:
        """Mark cached replies as in use because results made from them are reused."""
        self.account.use_again([bytes.fromhex(key) for key in replies])

    def finish(self) -> dict[str, Any]:
        """Complete the asset and return its model usage as metadata, empty if it used no model."""
        return shown_use(self.account.finish())


def shown_use(use: ModelUse) -> dict[str, Any]:
    """Return a usage as asset metadata; empty if no model was used."""
    if use == ModelUse():
        return {}
    return {
        "model_calls": use.calls,
        "cached_replies": use.cached,
        "retries": use.retries,
        "timeouts": use.timeouts,
        "failed_calls": use.failed,
        "input_tokens": use.input_tokens,
        "output_tokens": use.output_tokens,
        "usd": "unknown price" if use.money is None else use.money,
        "endpoint_seconds": round(use.seconds, 3),
    }
