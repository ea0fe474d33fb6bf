"""The engine ``llm``: a language model does the tasks, as the settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphrag_dagster import prompts

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphrag_dagster.core.language.answer_checking import PathJudge
    from graphrag_dagster.core.language.answer_form import AnswerForm
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
    from graphrag_dagster.core.language.tasks import (
        Answerer,
        ClaimExtractor,
        DescriptionMerger,
        GraphExtractor,
        ReportWriter,
    )
    from graphrag_dagster.core.language.testset import TestsetWriter
    from graphrag_dagster.core.language.theming import ReasonReader
    from graphrag_dagster.engines.desk import Desk
    from graphrag_dagster.settings import CorpusSettings


class LlmEngine:
    """Makes who does each task; nothing is loaded or called before."""

    def __init__(self, settings: CorpusSettings, desk: Desk) -> None:
        self._settings = settings
        self._desk = desk

    def graph_extractor(
        self, gleaning_rounds: int | None = None, gleaning_order: Order | None = None
    ) -> GraphExtractor:
        """Who finds entities and relationships; the arguments are those of the settings by default."""
        from graphrag_dagster.core.language.llm.extraction.graph import LlmGraphExtractor

        own = self._settings.extraction
        return LlmGraphExtractor(
            self._desk.chat("graph_extractor"),
            prompts,
            entity_types=own.entity_types,
            examples=own.examples,
            relation_labels=own.relation_labels,
            gleaning_rounds=own.gleaning.rounds if gleaning_rounds is None else gleaning_rounds,
            gleaning_order=gleaning_order or own.gleaning.order,
            **self._reply_options("graph_extractor"),
        )

    def claim_extractor(self) -> ClaimExtractor:
        """Who finds claims."""
        from graphrag_dagster.core.language.llm.extraction.claims import LlmClaimExtractor

        own, gleaning = self._settings.claims, self._settings.extraction.gleaning
        return LlmClaimExtractor(
            self._desk.chat("claim_extractor"),
            prompts,
            claim_description=own.description,
            examples=own.examples,
            gleaning_rounds=gleaning.rounds,
            gleaning_order=gleaning.order,
            **self._reply_options("claim_extractor"),
        )

    def entity_typer(self) -> EntityTyper:
        """Who says what kinds of things names are; of the labels that the entity model chooses from."""
        from graphrag_dagster.core.language.llm.entity_typing import LlmEntityTyper

        return LlmEntityTyper(
            self._desk.chat("entity_typer"),
            prompts,
            labels=self._settings.extraction.gliner.labels,
            max_tokens=self._desk.reply_limit("entity_typer"),
        )

    def name_judge(self) -> NameJudge:
        """Who says whether names are one entity."""
        from graphrag_dagster.core.language.llm.name_judging import LlmNameJudge

        limit = self._desk.reply_limit("name_judge")
        return LlmNameJudge(self._desk.chat("name_judge"), prompts, max_tokens=limit)

    def description_merger(self) -> DescriptionMerger:
        """Who joins descriptions."""
        from graphrag_dagster.core.language.llm.descriptions import LlmDescriptionMerger

        own = self._settings.graph
        return LlmDescriptionMerger(
            self._desk.chat("description_merger"),
            prompts,
            merge_above_tokens=own.joined_up_to,
            max_input_tokens=own.max_input_tokens,
            max_output_tokens=self._desk.reply_limit("description_merger"),
        )

    def report_writer(self) -> ReportWriter:
        """Who writes community reports; what the model cannot write is made of quotations, and says so."""
        from graphrag_dagster.core.language.extractive.report_writer import ExtractiveReportWriter
        from graphrag_dagster.core.language.llm.report_writer import LlmReportWriter

        return LlmReportWriter(
            self._desk.chat("report_writer"),
            prompts,
            fallback=ExtractiveReportWriter(),
            max_output_tokens=self._desk.reply_limit("report_writer"),
        )

    def answerer(self, listen: Callable[[str], None] | None, form: AnswerForm) -> Answerer:
        """Who answers questions; ``listen`` hears the answer as it comes."""
        from graphrag_dagster.core.language.llm.answerer import LlmAnswerer

        limit = self._desk.reply_limit("answerer")
        return LlmAnswerer(
            self._desk.chat("answerer"),
            prompts,
            unit=self._settings.search.unit,
            replies=self._settings.model.replies,
            max_map_tokens=limit // 2,
            max_reduce_tokens=limit,
            form=form,
            listen=listen,
        )

    def rater(self) -> ReportRater:
        """Who rates reports by their relevance; a model of the role ``judge``, which may be a cheap one."""
        from graphrag_dagster.core.language.llm.rating import LlmReportRater

        return LlmReportRater(self._desk.chat("rater"), prompts)

    def support_judge(self) -> SupportJudge:
        """Who says whether words support statements; what the model cannot say is judged by words."""
        from graphrag_dagster.core.language.embedders import shared_static
        from graphrag_dagster.core.language.llm.supporting import LlmSupportJudge
        from graphrag_dagster.core.search.support.by_words import JudgeByWords

        limit = self._desk.reply_limit("support_judge")
        chat, fallback = self._desk.chat("support_judge"), JudgeByWords(shared_static())
        return LlmSupportJudge(chat, prompts, fallback=fallback, max_tokens=limit)

    def explorer(self) -> Explorer:
        """Who asks on from what was found."""
        from graphrag_dagster.core.language.llm.exploring import LlmExplorer

        limit = self._desk.reply_limit("explorer")
        return LlmExplorer(self._desk.chat("explorer"), prompts, max_tokens=limit // 2)

    def query_writer(self) -> QueryWriter:
        """Who writes queries over the tables of an index."""
        from graphrag_dagster.core.language.llm.querying import LlmQueryWriter

        limit = self._desk.reply_limit("query_writer")
        return LlmQueryWriter(self._desk.chat("query_writer"), prompts, max_tokens=limit // 2)

    def cypher_writer(self) -> QueryWriter:
        """Who writes queries over the graph of an index."""
        from graphrag_dagster.core.language.llm.querying import LlmQueryWriter

        limit = self._desk.reply_limit("cypher_writer")
        chat = self._desk.chat("cypher_writer")
        return LlmQueryWriter(chat, prompts, language="cypher", max_tokens=limit // 2)

    def context_writer(self) -> ContextWriter:
        """Who writes down what is known of a question, without documents."""
        from graphrag_dagster.core.language.llm.own_context import LlmContextWriter

        limit = self._desk.reply_limit("context_writer")
        return LlmContextWriter(self._desk.chat("context_writer"), prompts, max_tokens=limit // 2)

    def router(self) -> Router:
        """Who chooses ways of answering; a model of the role ``route``, which may be a cheap one."""
        from graphrag_dagster.core.language.llm.routing import LlmRouter

        limit = self._desk.reply_limit("router")
        return LlmRouter(self._desk.chat("router"), prompts, max_tokens=limit)

    def graph_router(self) -> Router:
        """Who chooses what of the graph is looked up; a model of the role ``route``."""
        from graphrag_dagster.core.language.llm.routing import LlmRouter

        limit = self._desk.reply_limit("graph_router")
        return LlmRouter(self._desk.chat("graph_router"), prompts, chooses="graph_route", max_tokens=limit)

    def community_summariser(self) -> CommunitySummariser:
        """Who summarises communities; what the model cannot is made of quotations, and says so."""
        from graphrag_dagster.core.language.extractive.coterag.summarising import (
            ExtractiveCommunitySummariser,
        )
        from graphrag_dagster.core.language.llm.coterag.summarising import LlmCommunitySummariser

        own = self._settings.coterag
        return LlmCommunitySummariser(
            self._desk.chat("community_summariser"),
            prompts,
            fallback=ExtractiveCommunitySummariser(own.summary_words, own.exact_names),
            context_tokens=own.summary_tokens,
            exact_names=own.exact_names,
            max_output_tokens=self._desk.reply_limit("community_summariser"),
        )

    def evidence_router(self) -> EvidenceRouter:
        """Who says whether a question needs the documents; a model of the role ``route``."""
        from graphrag_dagster.core.language.llm.coterag.answering import LlmEvidenceRouter

        limit = self._desk.reply_limit("evidence_router")
        return LlmEvidenceRouter(self._desk.chat("evidence_router"), prompts, max_tokens=limit)

    def evidence_answerer(self, listen: Callable[[str], None] | None) -> EvidenceAnswerer:
        """Who answers from a context, and says where it is not enough; ``listen`` hears it as it comes."""
        from graphrag_dagster.core.language.llm.coterag.answering import LlmEvidenceAnswerer

        limit = self._desk.reply_limit("evidence_answerer")
        chat = self._desk.chat("evidence_answerer")
        return LlmEvidenceAnswerer(chat, prompts, max_tokens=limit, listen=listen)

    def answer_validator(self) -> AnswerValidator:
        """Who checks answers against their context; a model of the role ``validate``."""
        from graphrag_dagster.core.language.llm.coterag.answering import LlmAnswerValidator

        limit = self._desk.reply_limit("answer_validator")
        return LlmAnswerValidator(self._desk.chat("answer_validator"), prompts, max_tokens=limit)

    def path_selector(self) -> PathSelector:
        """Who selects nodes, relations, triples and paths; a model of the role ``select``."""
        from graphrag_dagster.core.language.chat.yes_no import encoding_of_model, first_tokens
        from graphrag_dagster.core.language.llm.paths.selector import LlmPathSelector

        own, chat = self._settings.paths, self._desk.chat("path_selector")
        forced = first_tokens(encoding_of_model(chat.name)) if self._settings.model.logit_bias else ()
        return LlmPathSelector(
            chat,
            prompts,
            parsing=own.parsing,
            context_tokens=own.context_tokens,
            max_tokens=self._desk.reply_limit("path_selector"),
            forced=forced,
        )

    def path_answerer(self, listen: Callable[[str], None] | None) -> PathAnswerer:
        """Who answers from paths; ``listen`` hears the answer as it comes."""
        from graphrag_dagster.core.language.llm.paths.answerer import LlmPathAnswerer

        return LlmPathAnswerer(
            self._desk.chat("path_answerer"),
            prompts,
            context_tokens=self._settings.paths.context_tokens,
            max_tokens=self._desk.reply_limit("path_answerer"),
            listen=listen,
        )

    def question_writer(self, _themes: object) -> QuestionWriter:
        """Who writes questions, from the description of the corpus."""
        from graphrag_dagster.core.language.llm.evaluation.questioning import LlmQuestionWriter

        limit = self._desk.reply_limit("question_writer")
        return LlmQuestionWriter(self._desk.chat("question_writer"), prompts, max_tokens=limit)

    def testset_writer(self) -> TestsetWriter:
        """Who writes questions with reference answers from documents."""
        from graphrag_dagster.core.language.llm.evaluation.testset import LlmTestsetWriter

        limit = self._desk.reply_limit("testset_writer")
        return LlmTestsetWriter(self._desk.chat("testset_writer"), prompts, max_tokens=limit)

    def answer_judge(self) -> AnswerJudge:
        """Who compares answers."""
        from graphrag_dagster.core.language.llm.evaluation.judging import LlmAnswerJudge

        return LlmAnswerJudge(
            self._desk.chat("answer_judge"),
            prompts,
            max_tokens=self._desk.reply_limit("answer_judge"),
            temperature=self._settings.model.verdict_temperature,
        )

    def reason_reader(self) -> ReasonReader:
        """Who finds the themes of a judge's reasons."""
        from graphrag_dagster.core.language.llm.evaluation.theming import LlmReasonReader

        limit = self._desk.reply_limit("reason_reader")
        return LlmReasonReader(self._desk.chat("reason_reader"), prompts, max_tokens=limit)

    def claim_decomposer(self) -> ClaimDecomposer:
        """Who takes answers apart into claims."""
        from graphrag_dagster.core.language.llm.evaluation.decomposing import LlmClaimDecomposer

        own = self._settings.evaluation
        return LlmClaimDecomposer(
            self._desk.chat("claim_decomposer"),
            prompts,
            preceding=own.preceding,
            following=own.following,
            max_tokens=self._desk.reply_limit("claim_decomposer"),
        )

    def quality_judge(self) -> QualityJudge:
        """Who says what in an answer is relevant and true."""
        from graphrag_dagster.core.language.llm.evaluation.quality import LlmQualityJudge

        limit = self._desk.reply_limit("quality_judge")
        return LlmQualityJudge(self._desk.chat("quality_judge"), prompts, max_tokens=limit)

    def path_judge(self) -> PathJudge:
        """Who says whether answers from paths are correct."""
        from graphrag_dagster.core.language.llm.evaluation.answer_checking import LlmPathJudge

        return LlmPathJudge(
            self._desk.chat("path_judge"),
            prompts,
            max_tokens=self._desk.reply_limit("path_judge"),
            temperature=self._settings.model.verdict_temperature,
        )

    def _reply_options(self, task: str) -> dict[str, Any]:
        return {
            "replies": self._settings.model.replies,
            "logit_bias": self._settings.model.logit_bias,
            "max_output_tokens": self._desk.reply_limit(task),
        }
