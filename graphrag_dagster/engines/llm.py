"""The engine ``llm``: a language model does the tasks, as the settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphrag_dagster import prompts
from graphrag_dagster.catalogue import tasks

if TYPE_CHECKING:
    from graphrag_dagster.catalogue.tasks import Task
    from graphrag_dagster.core.language.answering import (
        ContextWriter,
        Explorer,
        QueryWriter,
        ReportRater,
        Router,
        SupportJudge,
    )
    from graphrag_dagster.core.language.coterag import (
        AnswerValidator,
        CommunitySummariser,
        EvidenceAnswerer,
        EvidenceRouter,
    )
    from graphrag_dagster.core.language.evaluating import (
        AnswerJudge,
        ClaimDecomposer,
        PathJudge,
        QuestionWriter,
        ReasonReader,
        TestsetWriter,
    )
    from graphrag_dagster.core.language.name_judging import EntityTyper, NameJudge
    from graphrag_dagster.core.language.path_selection import PathAnswerer, PathSelector
    from graphrag_dagster.core.language.quality import QualityJudge
    from graphrag_dagster.core.language.tasks import (
        Answerer,
        ClaimExtractor,
        DescriptionMerger,
        GraphExtractor,
        ReportWriter,
    )
    from graphrag_dagster.engines.session import Session


def graph_extractor(session: Session) -> GraphExtractor:
    """Who finds entities and relationships."""
    from graphrag_dagster.core.language.llm.extraction.graph import LlmGraphExtractor

    own = session.settings.extraction
    return LlmGraphExtractor(
        session.chat(tasks.GRAPH_EXTRACTOR),
        prompts,
        entity_types=own.entity_types,
        examples=own.examples,
        relation_labels=own.relation_labels,
        gleaning_rounds=own.gleaning.rounds,
        gleaning_order=own.gleaning.order,
        **_reply_options(session, tasks.GRAPH_EXTRACTOR),
    )


def claim_extractor(session: Session) -> ClaimExtractor:
    """Who finds claims."""
    from graphrag_dagster.core.language.llm.extraction.claims import LlmClaimExtractor

    own, gleaning = session.settings.claims, session.settings.extraction.gleaning
    return LlmClaimExtractor(
        session.chat(tasks.CLAIM_EXTRACTOR),
        prompts,
        claim_description=own.description,
        examples=own.examples,
        gleaning_rounds=gleaning.rounds,
        gleaning_order=gleaning.order,
        **_reply_options(session, tasks.CLAIM_EXTRACTOR),
    )


def entity_typer(session: Session) -> EntityTyper:
    """Who says what kinds of things names are; of the labels that the entity model chooses from."""
    from graphrag_dagster.core.language.llm.entity_typing import LlmEntityTyper

    return LlmEntityTyper(
        session.chat(tasks.ENTITY_TYPER),
        prompts,
        labels=session.settings.extraction.gliner.labels,
        max_tokens=session.reply_limit(tasks.ENTITY_TYPER),
    )


def name_judge(session: Session) -> NameJudge:
    """Who says whether names are one entity."""
    from graphrag_dagster.core.language.llm.name_judging import LlmNameJudge

    limit = session.reply_limit(tasks.NAME_JUDGE)
    return LlmNameJudge(session.chat(tasks.NAME_JUDGE), prompts, max_tokens=limit)


def description_merger(session: Session) -> DescriptionMerger:
    """Who joins descriptions."""
    from graphrag_dagster.core.language.llm.descriptions import LlmDescriptionMerger

    own = session.settings.graph
    return LlmDescriptionMerger(
        session.chat(tasks.DESCRIPTION_MERGER),
        prompts,
        merge_above_tokens=own.joined_up_to,
        max_input_tokens=own.max_input_tokens,
        max_output_tokens=session.reply_limit(tasks.DESCRIPTION_MERGER),
    )


def report_writer(session: Session) -> ReportWriter:
    """Who writes community reports; what the model cannot write is made of quotations, and says so."""
    from graphrag_dagster.core.language.extractive.report_writer import ExtractiveReportWriter
    from graphrag_dagster.core.language.llm.report_writer import LlmReportWriter

    return LlmReportWriter(
        session.chat(tasks.REPORT_WRITER),
        prompts,
        fallback=ExtractiveReportWriter(),
        max_output_tokens=session.reply_limit(tasks.REPORT_WRITER),
    )


def answerer(session: Session) -> Answerer:
    """Who answers questions."""
    from graphrag_dagster.core.language.llm.answerer import LlmAnswerer

    limit = session.reply_limit(tasks.ANSWERER)
    return LlmAnswerer(
        session.chat(tasks.ANSWERER),
        prompts,
        unit=session.settings.search.unit,
        replies=session.settings.model.replies,
        max_map_tokens=limit // 2,
        max_reduce_tokens=limit,
        form=session.answer_form,
        listen=session.listen,
    )


def rater(session: Session) -> ReportRater:
    """Who rates reports by their relevance; a model of the role ``judge``, which may be a cheap one."""
    from graphrag_dagster.core.language.llm.exploring import LlmReportRater

    return LlmReportRater(session.chat(tasks.RATER), prompts)


def support_judge(session: Session) -> SupportJudge:
    """Who says whether words support statements; what the model cannot say is judged by words."""
    from graphrag_dagster.core.language.embedders import shared_static
    from graphrag_dagster.core.language.llm.supporting import LlmSupportJudge
    from graphrag_dagster.core.search.support.by_words import JudgeByWords

    limit = session.reply_limit(tasks.SUPPORT_JUDGE)
    chat, fallback = session.chat(tasks.SUPPORT_JUDGE), JudgeByWords(shared_static())
    return LlmSupportJudge(chat, prompts, fallback=fallback, max_tokens=limit)


def explorer(session: Session) -> Explorer:
    """Who asks on from what was found."""
    from graphrag_dagster.core.language.llm.exploring import LlmExplorer

    limit = session.reply_limit(tasks.EXPLORER)
    return LlmExplorer(session.chat(tasks.EXPLORER), prompts, max_tokens=limit // 2)


def query_writer(session: Session) -> QueryWriter:
    """Who writes queries over the tables of an index."""
    from graphrag_dagster.core.language.llm.querying import LlmQueryWriter

    limit = session.reply_limit(tasks.QUERY_WRITER)
    return LlmQueryWriter(session.chat(tasks.QUERY_WRITER), prompts, max_tokens=limit // 2)


def cypher_writer(session: Session) -> QueryWriter:
    """Who writes queries over the graph of an index."""
    from graphrag_dagster.core.language.llm.querying import LlmQueryWriter

    limit = session.reply_limit(tasks.CYPHER_WRITER)
    chat = session.chat(tasks.CYPHER_WRITER)
    return LlmQueryWriter(chat, prompts, language="cypher", max_tokens=limit // 2)


def context_writer(session: Session) -> ContextWriter:
    """Who writes down what is known of a question, without documents."""
    from graphrag_dagster.core.language.llm.querying import LlmContextWriter

    limit = session.reply_limit(tasks.CONTEXT_WRITER)
    return LlmContextWriter(session.chat(tasks.CONTEXT_WRITER), prompts, max_tokens=limit // 2)


def router(session: Session) -> Router:
    """Who chooses ways of answering; a model of the role ``route``, which may be a cheap one."""
    from graphrag_dagster.core.language.llm.routing import LlmRouter

    limit = session.reply_limit(tasks.ROUTER)
    return LlmRouter(session.chat(tasks.ROUTER), prompts, max_tokens=limit)


def graph_router(session: Session) -> Router:
    """Who chooses what of the graph is looked up; a model of the role ``route``."""
    from graphrag_dagster.core.language.llm.routing import LlmRouter

    limit = session.reply_limit(tasks.GRAPH_ROUTER)
    return LlmRouter(session.chat(tasks.GRAPH_ROUTER), prompts, chooses="graph_route", max_tokens=limit)


def community_summariser(session: Session) -> CommunitySummariser:
    """Who summarises communities; what the model cannot is made of quotations, and says so."""
    from graphrag_dagster.core.language.extractive.coterag.summarising import (
        ExtractiveCommunitySummariser,
    )
    from graphrag_dagster.core.language.llm.coterag.summarising import LlmCommunitySummariser

    own = session.settings.coterag
    return LlmCommunitySummariser(
        session.chat(tasks.COMMUNITY_SUMMARISER),
        prompts,
        fallback=ExtractiveCommunitySummariser(own.summary_words, own.exact_names),
        context_tokens=own.summary_tokens,
        exact_names=own.exact_names,
        max_output_tokens=session.reply_limit(tasks.COMMUNITY_SUMMARISER),
    )


def evidence_router(session: Session) -> EvidenceRouter:
    """Who says whether a question needs the documents; a model of the role ``route``."""
    from graphrag_dagster.core.language.llm.coterag.answering import LlmEvidenceRouter

    limit = session.reply_limit(tasks.EVIDENCE_ROUTER)
    return LlmEvidenceRouter(session.chat(tasks.EVIDENCE_ROUTER), prompts, max_tokens=limit)


def evidence_answerer(session: Session) -> EvidenceAnswerer:
    """Who answers from a context, and says where it is not enough."""
    from graphrag_dagster.core.language.llm.coterag.answering import LlmEvidenceAnswerer

    limit = session.reply_limit(tasks.EVIDENCE_ANSWERER)
    chat = session.chat(tasks.EVIDENCE_ANSWERER)
    return LlmEvidenceAnswerer(chat, prompts, max_tokens=limit, listen=session.listen)


def answer_validator(session: Session) -> AnswerValidator:
    """Who checks answers against their context; a model of the role ``validate``."""
    from graphrag_dagster.core.language.llm.coterag.answering import LlmAnswerValidator

    limit = session.reply_limit(tasks.ANSWER_VALIDATOR)
    return LlmAnswerValidator(session.chat(tasks.ANSWER_VALIDATOR), prompts, max_tokens=limit)


def path_selector(session: Session) -> PathSelector:
    """Who selects nodes, relations, triples and paths; a model of the role ``select``."""
    from graphrag_dagster.core.language.chat.yes_no import encoding_of_model, first_tokens
    from graphrag_dagster.core.language.llm.paths.selector import LlmPathSelector

    own, chat = session.settings.paths, session.chat(tasks.PATH_SELECTOR)
    forced = first_tokens(encoding_of_model(chat.name)) if session.settings.model.logit_bias else ()
    return LlmPathSelector(
        chat,
        prompts,
        parsing=own.parsing,
        context_tokens=own.context_tokens,
        max_tokens=session.reply_limit(tasks.PATH_SELECTOR),
        forced=forced,
    )


def path_answerer(session: Session) -> PathAnswerer:
    """Who answers from paths."""
    from graphrag_dagster.core.language.llm.paths.selector import LlmPathAnswerer

    return LlmPathAnswerer(
        session.chat(tasks.PATH_ANSWERER),
        prompts,
        context_tokens=session.settings.paths.context_tokens,
        max_tokens=session.reply_limit(tasks.PATH_ANSWERER),
        listen=session.listen,
    )


def question_writer(session: Session) -> QuestionWriter:
    """Who writes questions, from the description of the corpus."""
    from graphrag_dagster.core.language.llm.evaluation.questioning import LlmQuestionWriter

    limit = session.reply_limit(tasks.QUESTION_WRITER)
    return LlmQuestionWriter(session.chat(tasks.QUESTION_WRITER), prompts, max_tokens=limit)


def testset_writer(session: Session) -> TestsetWriter:
    """Who writes questions with reference answers from documents."""
    from graphrag_dagster.core.language.llm.evaluation.testset import LlmTestsetWriter

    limit = session.reply_limit(tasks.TESTSET_WRITER)
    return LlmTestsetWriter(session.chat(tasks.TESTSET_WRITER), prompts, max_tokens=limit)


def answer_judge(session: Session) -> AnswerJudge:
    """Who compares answers."""
    from graphrag_dagster.core.language.llm.evaluation.judging import LlmAnswerJudge

    return LlmAnswerJudge(
        session.chat(tasks.ANSWER_JUDGE),
        prompts,
        max_tokens=session.reply_limit(tasks.ANSWER_JUDGE),
        temperature=session.settings.model.verdict_temperature,
    )


def reason_reader(session: Session) -> ReasonReader:
    """Who finds the themes of a judge's reasons."""
    from graphrag_dagster.core.language.llm.evaluation.theming import LlmReasonReader

    limit = session.reply_limit(tasks.REASON_READER)
    return LlmReasonReader(session.chat(tasks.REASON_READER), prompts, max_tokens=limit)


def claim_decomposer(session: Session) -> ClaimDecomposer:
    """Who takes answers apart into claims."""
    from graphrag_dagster.core.language.llm.evaluation.decomposing import LlmClaimDecomposer

    own = session.settings.evaluation
    return LlmClaimDecomposer(
        session.chat(tasks.CLAIM_DECOMPOSER),
        prompts,
        preceding=own.preceding,
        following=own.following,
        max_tokens=session.reply_limit(tasks.CLAIM_DECOMPOSER),
    )


def quality_judge(session: Session) -> QualityJudge:
    """Who says what in an answer is relevant and true."""
    from graphrag_dagster.core.language.llm.evaluation.quality import LlmQualityJudge

    limit = session.reply_limit(tasks.QUALITY_JUDGE)
    return LlmQualityJudge(session.chat(tasks.QUALITY_JUDGE), prompts, max_tokens=limit)


def path_judge(session: Session) -> PathJudge:
    """Who says whether answers from paths are correct."""
    from graphrag_dagster.core.language.llm.evaluation.judging import LlmPathJudge

    return LlmPathJudge(
        session.chat(tasks.PATH_JUDGE),
        prompts,
        max_tokens=session.reply_limit(tasks.PATH_JUDGE),
        temperature=session.settings.model.verdict_temperature,
    )


def _reply_options(session: Session, task: Task[object]) -> dict[str, Any]:
    return {
        "replies": session.settings.model.replies,
        "logit_bias": session.settings.model.logit_bias,
        "max_output_tokens": session.reply_limit(task),
    }
