"""The engines of the language tasks, as a corpus's settings choose them, on the account of one asset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphrag_dagster.catalogue.registry import (
    embedders,
    engines,
    guarded,
    in_plugin,
    loaded,
    named,
    rerankers,
    tasks,
)
from graphrag_dagster.core.accounting.use import ModelUse
from graphrag_dagster.core.language.answer_form import AnswerForm
from graphrag_dagster.core.language.tasks import (
    Answerer,
    ClaimExtractor,
    DescriptionMerger,
    GraphExtractor,
    ReportWriter,
    Usage,
)
from graphrag_dagster.core.text.embedder import CorpusEmbedder
from graphrag_dagster.engines.desk import Desk
from graphrag_dagster.errors import EngineError
from graphrag_dagster.model_calls.memory.account import Account, price_of
from graphrag_dagster.model_calls.memory.replies import vector_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphrag_dagster.core.language.answer_checking import PathJudge
    from graphrag_dagster.core.language.coterag import (
        AnswerValidator,
        CommunitySummariser,
        EvidenceAnswerer,
        EvidenceRouter,
    )
    from graphrag_dagster.core.language.decomposing import ClaimDecomposer
    from graphrag_dagster.core.language.entity_typing import EntityTyper
    from graphrag_dagster.core.language.exploring import Explorer, ReportRater
    from graphrag_dagster.core.language.judging import AnswerJudge
    from graphrag_dagster.core.language.llm.extraction.gleaning import Order
    from graphrag_dagster.core.language.name_judging import NameJudge
    from graphrag_dagster.core.language.own_context import ContextWriter
    from graphrag_dagster.core.language.path_selection import PathAnswerer, PathSelector
    from graphrag_dagster.core.language.quality import QualityJudge
    from graphrag_dagster.core.language.querying import QueryWriter
    from graphrag_dagster.core.language.questioning import QuestionWriter
    from graphrag_dagster.core.language.routing import Router
    from graphrag_dagster.core.language.supporting import SupportJudge
    from graphrag_dagster.core.language.testset import TestsetWriter
    from graphrag_dagster.core.language.theming import ReasonReader
    from graphrag_dagster.core.search.reranking.port import Reranker
    from graphrag_dagster.model_calls.memory.replies import User
    from graphrag_dagster.settings import CorpusSettings
    from graphrag_dagster.settings.model import RoleName


class Session:
    """The engines of the language tasks, as the settings choose them, on one account.

    Attributes:
        settings: of the corpus.
        listen: hears a model's answers as they come.
        form: what is wished of answers; default: the settings'.
    """

    def __init__(self, settings: CorpusSettings, account: Account) -> None:
        self.settings = settings
        self.listen: Callable[[str], None] | None = None
        self.form: AnswerForm | None = None
        self._account = account
        self._desk = Desk(settings, account)

    @property
    def user(self) -> User:
        """Whose account it is."""
        return self._account.user

    def finish(self) -> dict[str, Any]:
        """Note that the asset is made; return what it used as metadata, nothing where it used no model."""
        self._desk.keep_pace()
        return shown_use(self._account.finish())

    def graph_extractor(
        self, gleaning_rounds: int | None = None, gleaning_order: Order | None = None
    ) -> GraphExtractor:
        """Who finds entities and relationships.

        Args:
            gleaning_rounds: most continuations; default: the settings'.
            gleaning_order: when a model is asked whether anything is missing; default: the settings'.

        Raises:
            SettingsError: the model settings cannot be used.
        """
        made: GraphExtractor = self._who("graph_extractor", gleaning_rounds, gleaning_order)
        return made

    def claim_extractor(self) -> ClaimExtractor | None:
        """Who finds claims; None where they are not enabled."""
        return self._who("claim_extractor") if self.settings.claims.enabled else None

    def entity_typer(self) -> EntityTyper | None:
        """Who says what kinds of things names are that have no type; None where rules alone do."""
        return self._who("entity_typer") if self.settings.typing.enabled else None

    def name_judge(self) -> NameJudge | None:
        """Who says whether names are one entity; None without a model, since it is left open then."""
        made: NameJudge | None = self._who("name_judge")
        return made

    def description_merger(self) -> DescriptionMerger:
        """Who joins descriptions."""
        made: DescriptionMerger = self._who("description_merger")
        return made

    def report_writer(self) -> ReportWriter:
        """Who writes community reports."""
        made: ReportWriter = self._who("report_writer")
        return made

    def answerer(self) -> Answerer:
        """Who answers questions.

        Raises:
            EngineError: the settings or the form ask for what only a model can give.
        """
        own = self.settings.search
        form = self.form or AnswerForm.checked(own.response_type, own.general_knowledge)
        made: Answerer = self._who("answerer", self.listen, form)
        return made

    def rater(self) -> ReportRater:
        """Who rates reports by their relevance."""
        made: ReportRater = self._who("rater")
        return made

    def explorer(self) -> Explorer:
        """Who asks on from what was found."""
        made: Explorer = self._who("explorer")
        return made

    def support_judge(self) -> SupportJudge:
        """Who says whether words support what is said.

        Raises:
            EngineError: a model is to say it, and the engine of the search is none.
        """
        from graphrag_dagster.core.language.embedders import shared_static
        from graphrag_dagster.core.search.support.by_words import JudgeByWords

        own = self.settings.search
        if own.support == "nli":
            from graphrag_dagster.core.language.entailment import shared_entailment

            return shared_entailment(own.support_model or "")
        if own.support == "words":
            return JudgeByWords(shared_static())
        made: SupportJudge | None = self._who("support_judge")
        if made is None:
            raise EngineError(
                f"search.support is model, but the engine {self.settings.engine_of('search')} asks none; "
                "set search.engine: llm, or search.support: words"
            )
        return made

    def community_summariser(self) -> CommunitySummariser:
        """Who summarises the communities of CoTeRAG-S."""
        made: CommunitySummariser = self._who("community_summariser")
        return made

    def evidence_router(self) -> EvidenceRouter:
        """Who says whether a question needs the documents."""
        made: EvidenceRouter = self._who("evidence_router")
        return made

    def evidence_answerer(self) -> EvidenceAnswerer:
        """Who answers from a context, and says where it is not enough."""
        made: EvidenceAnswerer = self._who("evidence_answerer", self.listen)
        return made

    def answer_validator(self) -> AnswerValidator:
        """Who checks answers against their context."""
        made: AnswerValidator = self._who("answer_validator")
        return made

    def question_writer(self, themes: Sequence[str]) -> QuestionWriter:
        """Who writes questions; ``themes`` are what the corpus is about, most important first."""
        made: QuestionWriter = self._who("question_writer", themes)
        return made

    def testset_writer(self) -> TestsetWriter | None:
        """Who writes questions with reference answers from documents; None without a model."""
        made: TestsetWriter | None = self._who("testset_writer")
        return made

    def answer_judge(self) -> AnswerJudge | None:
        """Who compares answers; None without a model, since nothing else can."""
        made: AnswerJudge | None = self._who("answer_judge")
        return made

    def reason_reader(self) -> ReasonReader | None:
        """Who finds the themes of a judge's reasons; None without a model, since nothing else can."""
        made: ReasonReader | None = self._who("reason_reader")
        return made

    def claim_decomposer(self) -> ClaimDecomposer:
        """Who takes answers apart into claims."""
        made: ClaimDecomposer = self._who("claim_decomposer")
        return made

    def quality_judge(self) -> QualityJudge | None:
        """Who says what in an answer is relevant and true; None without a model, since nothing else can."""
        made: QualityJudge | None = self._who("quality_judge")
        return made

    def path_selector(self) -> PathSelector:
        """Who selects nodes, relations, triples and paths."""
        made: PathSelector = self._who("path_selector")
        return made

    def path_answerer(self) -> PathAnswerer:
        """Who answers from paths."""
        made: PathAnswerer = self._who("path_answerer", self.listen)
        return made

    def path_judge(self) -> PathJudge | None:
        """Who says whether answers from paths are correct; None without a model, since nothing else can."""
        made: PathJudge | None = self._who("path_judge")
        return made

    def query_writer(self) -> QueryWriter | None:
        """Who writes queries over tables; None without a model, since nothing else can."""
        made: QueryWriter | None = self._who("query_writer")
        return made

    def cypher_writer(self) -> QueryWriter | None:
        """Who writes queries over the graph; None without a model, since nothing else can."""
        made: QueryWriter | None = self._who("cypher_writer")
        return made

    def context_writer(self) -> ContextWriter | None:
        """Who writes down what is known without documents; None without a model, since nothing else can."""
        made: ContextWriter | None = self._who("context_writer")
        return made

    def router(self) -> Router | None:
        """Who chooses ways of answering; None without a model, since rules choose then."""
        made: Router | None = self._who("router")
        return made

    def graph_router(self) -> Router | None:
        """Who chooses what of the graph is looked up; None without a model, since rules choose then."""
        made: Router | None = self._who("graph_router")
        return made

    def embedder(self) -> CorpusEmbedder:
        """Who turns texts into vectors."""
        own = self.settings.embeddings
        kind = named(embedders(), own.embedder, "embedder")
        with in_plugin("embedder", kind.name, "being made"):
            made = loaded(kind.factory)(self.settings, self._desk)
        return CorpusEmbedder(guarded(made, "embedder", kind.name), own.prefixes)

    def reranker(self) -> Reranker | None:
        """Who puts the first text units found into another order; None where they stay as they are."""
        kind = named(rerankers(), self.settings.search.reranker, "reranker")
        with in_plugin("reranker", kind.name, "being made"):
            made: Reranker | None = loaded(kind.factory)(self.settings, self._desk)
        return None if made is None else guarded(made, "reranker", kind.name)

    def usd_of(self, task: RoleName, use: Usage) -> float | None:
        """Return US dollars of a use as if nothing had been remembered; None where the price is unknown."""
        if use == Usage():
            return 0.0
        from graphrag_dagster.model_calls.endpoint.chat import OpenAIChatModel

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
            self._account.replies.touch(keys, self._account.user)

    def remembered(self, replies: Sequence[str]) -> set[str]:
        """Return those of the keys of replies under which there still is one."""
        keys = [bytes.fromhex(key) for key in replies]
        return {key.hex() for key in self._account.replies.has(keys)}

    def uses_again(self, replies: Sequence[str]) -> None:
        """Note that what was made of the replies of these keys is taken over."""
        self._account.use_again([bytes.fromhex(key) for key in replies])

    def _who(self, name: str, *given: Any) -> Any:
        """Who does a task; None where only a model could, and the settings choose none.

        Raises:
            EngineError: the chosen engine cannot do the task.
        """
        task = tasks()[name]
        engine = named(engines(), self.settings.engine_of(task.section), "engine")
        if name in engine.does:
            with in_plugin("engine", engine.name, f"making its {name.replace('_', ' ')}"):
                made = getattr(loaded(engine.factory)(self.settings, self._desk), name)(*given)
            return guarded(made, "engine", engine.name)
        if task.model_only:
            return None
        able = ", ".join(one.name for one in engines().values() if name in one.does)
        raise EngineError(
            f"the engine {engine.name} has no {name.replace('_', ' ')}; set {task.section}.engine to one of "
            f"{able}"
        )


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
