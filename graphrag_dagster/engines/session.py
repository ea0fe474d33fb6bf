"""The engines of the language tasks, as a corpus's settings choose them, on the account of one asset."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphrag_dagster import prompts
from graphrag_dagster.core.accounting.use import ModelUse
from graphrag_dagster.core.language.answer_form import AnswerForm
from graphrag_dagster.core.language.decomposing import ClaimDecomposer
from graphrag_dagster.core.language.exploring import Explorer, ReportRater
from graphrag_dagster.core.language.judging import AnswerJudge
from graphrag_dagster.core.language.quality import QualityJudge
from graphrag_dagster.core.language.questioning import QuestionWriter
from graphrag_dagster.core.language.tasks import (
    Answerer,
    ClaimExtractor,
    DescriptionMerger,
    GraphExtractor,
    ReportWriter,
    Usage,
)
from graphrag_dagster.core.language.theming import ReasonReader
from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.errors import EngineError
from graphrag_dagster.model_calls.memory.ability_store import AbilityStore
from graphrag_dagster.model_calls.memory.account import Account, Till, price_of
from graphrag_dagster.model_calls.memory.replies import vector_key
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.settings.model import TaskName

if TYPE_CHECKING:
    from graphrag_dagster.core.language.chat.port import ChatModel
    from graphrag_dagster.core.language.llm.extraction.gleaning import Order
    from graphrag_dagster.model_calls.endpoint.chat import OpenAIChatModel
#: Providers take half the price for what is not urgent.
_BATCH_PRICE = 0.5


class Session:
    """The engines of the language tasks, as the settings choose them, on one account."""

    def __init__(self, settings: CorpusSettings, account: Account) -> None:
        self._settings = settings
        self._account = account
        self._asked: dict[str, OpenAIChatModel] = {}

    def finish(self) -> dict[str, Any]:
        """Note that the asset is made; return what it used as metadata, nothing where it used no model."""
        if self._asked:
            from graphrag_dagster.model_calls.probing.checkup import keep_pace

            for model in self._asked.values():
                keep_pace(model, AbilityStore(self._account.replies.database))
        return shown_use(self._account.finish())

    def graph_extractor(
        self, gleaning_rounds: int | None = None, gleaning_order: "Order | None" = None
    ) -> GraphExtractor:
        """Who finds entities and relationships.

        Args:
            gleaning_rounds: most continuations; default: the settings'.
            gleaning_order: when a model is asked whether anything is missing; default: the settings'.

        Raises:
            SettingsError: the model settings cannot be used.
        """
        own = self._settings.extraction
        if self._settings.engine_of("extraction") == "llm":
            from graphrag_dagster.core.language.llm.extraction.graph import LlmGraphExtractor

            return LlmGraphExtractor(
                self._chat("extract"),
                prompts,
                entity_types=own.entity_types,
                examples=own.examples,
                gleaning_rounds=own.gleaning.rounds if gleaning_rounds is None else gleaning_rounds,
                gleaning_order=gleaning_order or own.gleaning.order,
                **self._reply_options(),
            )
        from graphrag_dagster.core.language.extractive.graph_extractor import ExtractiveGraphExtractor

        return ExtractiveGraphExtractor(own.pipeline, own.processes, own.languages)

    def claim_extractor(self) -> ClaimExtractor | None:
        """Who finds claims; None where they are not enabled."""
        if not self._settings.claims.enabled:
            return None
        if self._settings.engine_of("claims") == "llm":
            from graphrag_dagster.core.language.llm.extraction.claims import LlmClaimExtractor

            return LlmClaimExtractor(
                self._chat("extract"),
                prompts,
                claim_description=self._settings.claims.description,
                examples=self._settings.claims.examples,
                gleaning_rounds=self._settings.extraction.gleaning.rounds,
                gleaning_order=self._settings.extraction.gleaning.order,
                **self._reply_options(),
            )
        from graphrag_dagster.core.language.extractive.claims import ExtractiveClaimExtractor

        own = self._settings.extraction
        return ExtractiveClaimExtractor(own.pipeline, own.processes, own.languages)

    def description_merger(self) -> DescriptionMerger:
        """Who joins descriptions."""
        if self._settings.engine_of("graph") == "llm":
            from graphrag_dagster.core.language.llm.descriptions import LlmDescriptionMerger

            return LlmDescriptionMerger(
                self._chat("summarise"),
                prompts,
                merge_above_tokens=self._settings.graph.joined_up_to,
                max_input_tokens=self._settings.graph.max_input_tokens,
                max_output_tokens=self._limit("summarise"),
            )
        from graphrag_dagster.core.language.extractive.descriptions import ExtractiveDescriptionMerger

        return ExtractiveDescriptionMerger(self._settings.graph.max_description_words)

    def report_writer(self) -> ReportWriter:
        """Who writes community reports."""
        from graphrag_dagster.core.language.extractive.reports import ExtractiveReportWriter

        extractive = ExtractiveReportWriter()
        if self._settings.engine_of("reports") == "extractive":
            return extractive
        from graphrag_dagster.core.language.llm.reports import LlmReportWriter

        return LlmReportWriter(
            self._chat("report"),
            prompts,
            fallback=extractive,
            max_output_tokens=self._limit("report"),
        )

    def answerer(
        self, listen: Callable[[str], None] | None = None, form: AnswerForm | None = None
    ) -> Answerer:
        """Who answers questions.

        Args:
            listen: hears a model's answer as it comes.
            form: what is wished of the answer; default: the settings'.

        Raises:
            EngineError: the settings or the form ask for what only a model can give.
        """
        own = self._settings.search
        form = form or AnswerForm.checked(own.response_type, own.general_knowledge)
        if self._settings.engine_of("search") == "llm":
            from graphrag_dagster.core.language.llm.answers import LlmAnswerer

            return LlmAnswerer(
                self._chat("answer"),
                prompts,
                unit=own.unit,
                replies=self._settings.model.replies,
                max_map_tokens=self._limit("answer") // 2,
                max_reduce_tokens=self._limit("answer"),
                form=form,
                listen=listen,
            )
        from graphrag_dagster.core.language.embedders import shared_static
        from graphrag_dagster.core.language.extractive.answers import ExtractiveAnswerer

        if own.unit == "points":
            raise EngineError(
                "search.unit is 'points', which only a model can give; set search.unit: answer, or "
                "search.engine: llm"
            )
        return ExtractiveAnswerer(shared_static(), form)

    def rater(self) -> ReportRater:
        """Who rates reports by their relevance; a model of the task ``judge``, which may be a cheap one."""
        if self._settings.engine_of("search") == "llm":
            from graphrag_dagster.core.language.llm.rating import LlmReportRater

            return LlmReportRater(self._chat("judge"), prompts)
        from graphrag_dagster.core.language.embedders import shared_static
        from graphrag_dagster.core.language.extractive.rating import ExtractiveReportRater

        return ExtractiveReportRater(shared_static())

    def explorer(self) -> Explorer:
        """Who asks on from what was found."""
        if self._settings.engine_of("search") == "llm":
            from graphrag_dagster.core.language.llm.exploring import LlmExplorer

            return LlmExplorer(self._chat("answer"), prompts, max_tokens=self._limit("answer") // 2)
        from graphrag_dagster.core.language.embedders import shared_static
        from graphrag_dagster.core.language.extractive.exploring import ExtractiveExplorer

        return ExtractiveExplorer(shared_static())

    def question_writer(self, themes: Sequence[str]) -> QuestionWriter:
        """Who writes questions; ``themes`` are what the corpus is about, most important first."""
        if self._settings.engine_of("questions") == "llm":
            from graphrag_dagster.core.language.llm.evaluation.questioning import LlmQuestionWriter

            return LlmQuestionWriter(self._chat("answer"), prompts, max_tokens=self._limit("answer"))
        from graphrag_dagster.core.language.extractive.questioning import ExtractiveQuestionWriter

        return ExtractiveQuestionWriter(themes)

    def answer_judge(self) -> AnswerJudge | None:
        """Who compares answers; None without a model, since nothing else can."""
        if self._settings.engine_of("evaluation") == "extractive":
            return None
        from graphrag_dagster.core.language.llm.evaluation.judging import LlmAnswerJudge

        return LlmAnswerJudge(
            self._chat("judge", waited_for=False),
            prompts,
            max_tokens=self._limit("judge"),
            temperature=self._settings.model.verdict_temperature,
        )

    def reason_reader(self) -> ReasonReader | None:
        """Who finds the themes of a judge's reasons; None without a model, since nothing else can."""
        if self._settings.engine_of("evaluation") == "extractive":
            return None
        from graphrag_dagster.core.language.llm.evaluation.theming import LlmReasonReader

        return LlmReasonReader(
            self._chat("judge", waited_for=False), prompts, max_tokens=self._limit("judge")
        )

    def claim_decomposer(self) -> ClaimDecomposer:
        """Who takes answers apart into claims."""
        own = self._settings.evaluation
        if self._settings.engine_of("evaluation") == "llm":
            from graphrag_dagster.core.language.llm.evaluation.decomposing import LlmClaimDecomposer

            return LlmClaimDecomposer(
                self._chat("judge", waited_for=False),
                prompts,
                preceding=own.preceding,
                following=own.following,
                max_tokens=self._limit("judge"),
            )
        from graphrag_dagster.core.language.extractive.answer_claims import ExtractiveClaimDecomposer

        return ExtractiveClaimDecomposer(self._settings.extraction.pipeline)

    def quality_judge(self) -> QualityJudge | None:
        """Who says what in an answer is relevant and true; None without a model, since nothing else can."""
        if self._settings.engine_of("evaluation") == "extractive":
            return None
        from graphrag_dagster.core.language.llm.evaluation.quality import LlmQualityJudge

        return LlmQualityJudge(
            self._chat("judge", waited_for=False), prompts, max_tokens=self._limit("judge")
        )

    def usd_of(self, task: TaskName, use: Usage) -> float | None:
        """Return US dollars of a use as if nothing had been remembered; None where the price is unknown."""
        if use == Usage():
            return 0.0
        from graphrag_dagster.model_calls.endpoint.chat import OpenAIChatModel

        settings = self._settings.model.for_task(task)
        price = price_of(settings, settings.name, OpenAIChatModel(settings).connection.url)
        return price.of(use.input_tokens, use.output_tokens) if price else None

    def embedder(self) -> Embedder:
        """Who turns texts into vectors."""
        from graphrag_dagster.core.language.embedders import StaticEmbedder, shared_sentence_transformer

        own = self._settings.embeddings
        if own.embedder == "static":
            return StaticEmbedder()
        if own.embedder == "sentence-transformers":
            return shared_sentence_transformer(own.model)
        from graphrag_dagster.model_calls.endpoint.embeddings import OpenAIEmbedder
        from graphrag_dagster.model_calls.memory.models import RememberingEmbedder

        if not own.model:
            raise EngineError("embeddings.embedder is endpoint: name its model in embeddings.model")
        model, settings = own.model, self._settings.model.for_task("embed")
        return RememberingEmbedder(
            lambda arrived: OpenAIEmbedder(model, settings, arrived=arrived), settings, self._account
        )

    def still_uses(self, texts: Sequence[str]) -> None:
        """Note that the vectors of these texts are in use, also where none was asked for."""
        own = self._settings.embeddings
        if own.embedder == "endpoint" and own.model:
            namespace = self._settings.model.for_task("embed").namespace
            keys = [vector_key(own.model, namespace, text) for text in dict.fromkeys(texts)]
            self._account.replies.touch(keys, self._account.user)

    def _chat(self, task: TaskName, *, waited_for: bool | None = None) -> "ChatModel":
        """The model of a task; ``waited_for``: someone waits for it, so that it is never sent as a batch."""
        from graphrag_dagster.model_calls.batches.batching import BatchSender
        from graphrag_dagster.model_calls.endpoint.chat import OpenAIChatModel
        from graphrag_dagster.model_calls.memory.models import BookedChatModel, RememberingChatModel
        from graphrag_dagster.model_calls.probing.checkup import checkup

        settings = self._settings.model.for_task(task)
        model = OpenAIChatModel(settings)
        self._asked[settings.name] = model
        if waited_for is None:
            # Who asks a question waits for the answer.
            waited_for = task in {"answer", "judge"}
        batched = settings.batch and not waited_for
        url, discount = model.connection.url, _BATCH_PRICE if batched else 1.0
        till = Till(self._account, settings, settings.name, url, discount)
        known = AbilityStore(self._account.replies.database)

        async def gate() -> None:
            await checkup(BookedChatModel(settings, till), known)

        if batched:
            sender = BatchSender(settings, self._account.user, self._account.replies.database)
            return RememberingChatModel(sender, self._account, till, gate)
        return RememberingChatModel(model, self._account, till, gate)

    def _limit(self, task: TaskName) -> int:
        return self._settings.model.for_task(task).reply_limit

    def _reply_options(self) -> dict[str, Any]:
        return {
            "replies": self._settings.model.replies,
            "logit_bias": self._settings.model.logit_bias,
            "max_output_tokens": self._limit("extract"),
        }


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
