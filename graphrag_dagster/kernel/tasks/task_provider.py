"""Provides the implementation of each language task, as a corpus's settings choose it, on one account."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.catalogue.registry import (
    embedders,
    engines,
    guarded,
    in_plugin,
    loaded,
    named,
    rerankers,
)
from graphrag_dagster.kernel.catalogue.tasks import SUPPORT_JUDGE, Task
from graphrag_dagster.kernel.models.cache.llm_cache import vector_key
from graphrag_dagster.kernel.models.cache.usage_account import Till, UsageAccount, price_of
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.tasks.answer_form import AnswerForm
from graphrag_dagster.kernel.tasks.task_ports import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphrag_dagster.kernel.catalogue.tasks import Port
    from graphrag_dagster.kernel.models.cache.llm_cache import User
    from graphrag_dagster.kernel.models.chat.chat_model import ChatModel
    from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
    from graphrag_dagster.kernel.retrieval.rerankers import Reranker
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
    from graphrag_dagster.kernel.settings.model_settings import RoleName
    from graphrag_dagster.kernel.tasks.answering_ports import SupportJudge

#: Providers take half the price for what is not urgent.
_BATCH_PRICE = 0.5


@dataclass
class TaskProvider:
    """Who does the language tasks, as the settings choose them; each is made when it is asked for.

    Attributes:
        settings: of the corpus.
        account: on which models are asked.
        listen: hears a model's answers as they come.
        form: what is wished of answers; default: the settings'.
        themes: what the corpus is about, most important first, for who writes questions.
    """

    settings: CorpusSettings
    account: UsageAccount
    listen: Callable[[str], None] | None = None
    form: AnswerForm | None = None
    themes: Sequence[str] = ()
    _asked: dict[str, OpenAIChatModel] = field(default_factory=dict)

    @property
    def user(self) -> User:
        """Whose account it is."""
        return self.account.user

    @property
    def answer_form(self) -> AnswerForm:
        """What is wished of answers.

        Raises:
            EngineError: the settings ask for what only a model can give.
        """
        own = self.settings.search
        return self.form or AnswerForm.checked(own.response_type, own.general_knowledge)

    def task(self, task: Task[Port]) -> Port:
        """Return who does a task; None where it is switched off, or only a model could do it.

        Raises:
            EngineError: the engine that the settings choose cannot do the task.
            SettingsError: the model settings cannot be used.
        """
        engine = named(engines(), self.settings.engine_of(task.section), "engine")
        if not self.settings.switched_on(task):
            return cast("Port", None)
        if make := engine.does.get(task.name):
            with in_plugin("engine", engine.name, f"making its {task.title}"):
                made: Port = loaded(make)(self)
            return guarded(made, "engine", engine.name)
        if task.model_only:
            return cast("Port", None)
        able = ", ".join(one.name for one in engines().values() if task.name in one.does)
        raise EngineError(
            f"the engine {engine.name} has no {task.title}; set {task.section}.engine to one of {able}"
        )

    def chat(self, task: Task[object]) -> ChatModel:
        """Return the chat model of a task; what it answered before it remembers, and all is booked."""
        from graphrag_dagster.kernel.models.batch_queue import BatchSender
        from graphrag_dagster.kernel.models.cache.cached_models import AccountedChatModel, CachedChatModel
        from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore
        from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
        from graphrag_dagster.kernel.models.probing.endpoint_check import checkup

        settings = self.settings.model.for_role(task.role)
        model = OpenAIChatModel(settings)
        self._asked[settings.name] = model
        batched = settings.batch and not task.waited_for
        url, discount = model.connection.url, _BATCH_PRICE if batched else 1.0
        till = Till(self.account, settings, settings.name, url, discount)
        known = CapabilityStore(self.account.replies.database)

        async def gate() -> None:
            await checkup(AccountedChatModel(settings, till), known)

        if batched:
            sender = BatchSender(settings, self.account.user, self.account.replies.database)
            return CachedChatModel(sender, self.account, till, gate)
        return CachedChatModel(model, self.account, till, gate)

    def reply_limit(self, task: Task[object]) -> int:
        """Most tokens of a reply to a task."""
        return self.settings.model.for_role(task.role).reply_limit

    def embedder(self) -> CorpusEmbedder:
        """Who turns texts into vectors."""
        own = self.settings.embeddings
        kind = named(embedders(), own.embedder, "embedder")
        with in_plugin("embedder", kind.name, "being made"):
            made = loaded(kind.factory)(self)
        return CorpusEmbedder(guarded(made, "embedder", kind.name), own.prefixes)

    def reranker(self) -> Reranker | None:
        """Who puts the first text units found into another order; None where they stay as they are."""
        kind = named(rerankers(), self.settings.search.reranker, "reranker")
        with in_plugin("reranker", kind.name, "being made"):
            made: Reranker | None = loaded(kind.factory)(self)
        return None if made is None else guarded(made, "reranker", kind.name)

    def support_judge(self) -> SupportJudge:
        """Who says whether words support what is said.

        Raises:
            EngineError: a model is to say it, and the engine of the search is none.
        """
        from graphrag_dagster.kernel.models.local_embedders import shared_static
        from graphrag_dagster.kernel.questions.support_by_words import JudgeByWords

        own = self.settings.search
        if own.support == "nli":
            from graphrag_dagster.kernel.models.local_models import shared_entailment

            return shared_entailment(own.support_model or "")
        if own.support == "words":
            return JudgeByWords(shared_static())
        if (made := self.task(SUPPORT_JUDGE)) is None:
            raise EngineError(
                f"search.support is model, but the engine {self.settings.engine_of('search')} asks none; "
                "set search.engine: llm, or search.support: words"
            )
        return made

    def usd_of(self, task: RoleName, use: Usage) -> float | None:
        """Return US dollars of a use as if nothing had been cached; None where the price is unknown."""
        if use == Usage():
            return 0.0
        from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel

        settings = self.settings.model.for_role(task)
        price = price_of(settings, settings.name, OpenAIChatModel(settings).connection.url)
        return price.of(use.input_tokens, use.output_tokens) if price else None

    def still_uses(self, texts: Sequence[str]) -> None:
        """Note that the vectors of these texts of an index are in use, also where none was asked for."""
        own = self.settings.embeddings
        if self.settings.embeds_at_endpoint and own.model:
            namespace = self.settings.model.for_role("embed").namespace
            embedded = dict.fromkeys(own.prefixes.of_documents(texts))
            keys = [vector_key(own.model, namespace, text) for text in embedded]
            self.account.replies.touch(keys, self.account.user)

    def cached(self, replies: Sequence[str]) -> set[str]:
        """Return those of the keys of replies under which there still is one."""
        keys = [bytes.fromhex(key) for key in replies]
        return {key.hex() for key in self.account.replies.has(keys)}

    def uses_again(self, replies: Sequence[str]) -> None:
        """Note that what was made of the replies of these keys is taken over."""
        self.account.use_again([bytes.fromhex(key) for key in replies])

    def finish(self) -> dict[str, Any]:
        """Note that the asset is made; return what it used as metadata, nothing where it used no model."""
        if self._asked:
            from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore
            from graphrag_dagster.kernel.models.probing.endpoint_check import cache_pace

            # How fast the models were that were asked.
            for model in self._asked.values():
                cache_pace(model, CapabilityStore(self.account.replies.database))
        return shown_use(self.account.finish())


def shown_use(use: ModelUse) -> dict[str, Any]:
    """Return a use as metadata of an asset; nothing where no model was used."""
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
