"""The router of ``auto``: rules choose the search method, or a model among those that rules leave open.

The rules are a logistic model over few cues, each between 0 and 1. Its weights were fitted by
``benchmarks/routing.py`` on labelled questions and are frozen here, so that the same question is always
answered in the same way.
"""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import exp, fsum
from types import MappingProxyType

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.catalogue.search_methods import GLOBAL, LOCAL, SOURCES
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.finding import (
    NAMES,
    linked_names_section,
    names_in_question,
    with_history,
    with_route,
)
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.questions.searcher import (
    answer_question,
    level_read,
    require_method,
    with_method,
)
from graphrag_dagster.kernel.retrieval.entity_linking import LinkedName
from graphrag_dagster.kernel.retrieval.sentence_relevance import asks_for_overview
from graphrag_dagster.kernel.tasks.answering_ports import Routed
from graphrag_dagster.kernel.text.english_words import GENERAL, GENRES, MANY, OVERVIEW
from graphrag_dagster.kernel.text.text_similarity import stem, stems, words
from graphrag_dagster.systems.graphrag.search.sql.template_matching import match_question
from graphrag_dagster.systems.graphrag.tasks import ROUTER

_NEAREST = 10
#: Contexts that the text units of a restriction may fill to be read all.
_MOST_CONTEXTS = 8
#: Probability of the chosen method below which the other is tried, too, where it gives nothing.
_SURE = 0.9
#: What each cue says, for something in particular and for the whole.
_SAID: Mapping[str, tuple[str, str]] = {
    "named": ("it names {names}", ""),
    "names": ("it names {names}", ""),
    "overview": ("", "it asks for an overview"),
    "many": ("", "it asks about many at once"),
    "value": ("it asks for a fact, such as a person, place, time or number", ""),
    "own": ("it asks how to do something", ""),
    "past": ("it asks what happened", ""),
    "generic": ("", "it asks about things in general"),
    "rarest": ("its words are specific", ""),
    "specific": ("its words are specific", ""),
    "held": ("one passage has most of its words", ""),
}
#: What each search method is for, as a model is told that chooses.
_FOR: Mapping[str, str] = {
    LOCAL: "for questions about something in particular, such as a person, place, event, date or "
    "passage; reads what the texts say about it",
    GLOBAL: "for questions about the whole collection, such as themes, trends or what many things have "
    "in common; reads summaries of all of it",
    "sql": "for counts, top lists, firsts and lasts, and groups of documents, entities or relationships; "
    "queries tables",
}
_NOTHING = {1: "it asks about something in particular", -1: "it asks about nothing in particular"}
_MOST_REASONS, _MOST_NAMES = 2, 3


@dataclass(frozen=True, slots=True)
class RoutedMethod:
    """A search method by its name, how likely it suits (½ to 1), why, and what a model said if asked."""

    method: str
    likely: float
    why: str
    routed: Routed | None = None


def answer(search: Search) -> Answer:
    """Answer a question by the method that suits it; by the other where that gives nothing and is near.

    Raises:
        QuestionError: the question lacks what that method needs.
    """
    names = names_in_question(search)
    choice = choose(search, names)
    made = answer_question(with_method(search, choice.method))
    why = choice.why
    if made.refused and choice.likely < _SURE and (other := _answer_otherwise(search, choice)):
        why = f"{why}; it found nothing, so {other.method} was tried"
        made = _with_calls_of(made, other) if other.refused else _with_calls_of(other, made)
    trace = made.trace if made.section(NAMES) else (*linked_names_section(names), *made.trace)
    told = replace(made, why="; ".join(filter(None, (why, made.why))), trace=trace)
    return with_route(told, choice.routed, "no method")


def choose(search: Search, linked_names: Sequence[LinkedName]) -> RoutedMethod:
    """Choose between the surroundings of what a question names, the reports of the corpus, and its tables."""
    if (counted_by := _by_query(search)) is not None:
        return counted_by
    named = sorted((one for one in linked_names if one.named and one.entity_id), key=lambda one: -one.sure)
    open_methods = _available_methods(search)
    if len(open_methods) < 2:
        return _by_rules(search, named)
    router = search.engines.task(ROUTER)
    if router is None:
        chosen = _by_rules(search, named)
        return replace(chosen, why=f"the engine uses no model, so rules chose; {chosen.why}")
    titles = list(dict.fromkeys(one.title or one.text for one in named))
    routed = router.route(search.question.text, {one: _FOR[one] for one in open_methods}, titles)
    if routed.method is None:
        chosen = _by_rules(search, named)
        return replace(
            chosen, why=f"the model gave no usable reply, so rules chose; {chosen.why}", routed=routed
        )
    chosen = RoutedMethod(routed.method, 0.5, f"{routed.method}: {routed.reason} (chosen by a model)")
    if routed.method == GLOBAL and search.index.restricted:
        chosen = _without_reports(search) or chosen
    return replace(chosen, routed=routed)


def _available_methods(search: Search) -> list[str]:
    """The search methods that a model may choose from; none where rules are to choose."""
    if search.options.routing == "rules" or search.question.history or search.favour.names_documents:
        return []
    index = search.index
    reported = index.restricted or not index.reports.is_empty()
    queried = search.options.sql == "model" and index.queries is not None and not index.restricted
    return [LOCAL, *([GLOBAL] if reported else []), *(["sql"] if queried else [])]


def _by_rules(search: Search, named: Sequence[LinkedName]) -> RoutedMethod:
    """Choose by the cues of a question; ``named`` are its names that are linked to entities, surest first."""
    if search.index.reports.is_empty() and not search.index.restricted:
        return RoutedMethod(LOCAL, 1.0, f"{LOCAL}: this corpus has no community reports")
    if search.language_gap and not asks_for_overview(search.question.text):
        return RoutedMethod(LOCAL, 1.0, f"{LOCAL}: the question is in another language than the texts")
    found = cues_of(search, [one.text for one in named])
    local = probability_of_local(found)
    if local < 0.5 and search.question.history:
        return RoutedMethod(LOCAL, 1 - local, f"{LOCAL}: the question goes on from a conversation")
    if local < 0.5 and search.favour.names_documents:
        return RoutedMethod(LOCAL, 1.0, f"{LOCAL}: the question names documents or their period")
    if local < 0.5 and search.index.restricted and (instead := _without_reports(search)):
        return instead
    method, sign = (LOCAL, 1) if local >= 0.5 else (GLOBAL, -1)
    reasons = _reasons(found, sign, list(dict.fromkeys(one.title or one.text for one in named)))
    return RoutedMethod(method, max(local, 1 - local), f"{method}: {reasons} (chosen by rules)")


def _by_query(search: Search) -> RoutedMethod | None:
    """Choose the tables for what a query answers without a guess; they know of no restriction."""
    if search.index.queries is None or search.index.restricted or search.question.history:
        return None
    fit = match_question(search.question.text, search.index)
    if fit.refused:
        return RoutedMethod("sql", 1.0, f"sql: {fit.reason}")
    if fit.recognised is None or fit.score < 1:
        return None
    return RoutedMethod("sql", 1.0, "sql: a query over the tables answers it")


def _without_reports(search: Search) -> RoutedMethod | None:
    """Choose for a question about the whole of a restriction whose reports leave most of it out."""
    index, options = search.index, search.options
    level = level_read(require_method(GLOBAL), None, options, index) or 0
    if index.once(_share_reported, level) >= 0.5:
        return None
    why = f"the reports of C{level} that rest on these documents alone cover less than half of them"
    if index.text_chunks["tokens"].sum() > _MOST_CONTEXTS * options.context_tokens:
        return RoutedMethod(LOCAL, 1.0, f"{LOCAL}: {why}")
    units = plural(len(index.text_chunks), "text unit")
    return RoutedMethod(SOURCES, 1.0, f"{SOURCES}: {why}, so these documents are read whole: {units}")


def _share_reported(index: IndexSnapshot, level: int) -> float:
    """The share of the text units in which an entity stands that a report of a level is about."""
    of_level = index.community_levels.filter(pl.col("level") == level)
    reported = of_level.join(index.reports, left_on="community_id", right_on="report_id", how="semi")
    units = index.entities.join(reported, on="entity_id", how="semi")["text_unit_ids"].explode()
    return units.drop_nulls().n_unique() / max(len(index.text_chunks), 1)


def cues_of(search: Search, names: Sequence[str]) -> dict[str, float]:
    """Return the cues of a question by which a method is chosen."""
    nearest = search.retriever.units(with_history(search), None, "lexical", most=_NEAREST)
    texts = [search.index.passages[one].text for one in nearest.ids]
    return cues(search.question.text, names, texts, search.retriever.rarity.of)


def _answer_otherwise(search: Search, choice: RoutedMethod) -> Answer | None:
    try:
        return answer_question(with_method(search, GLOBAL if choice.method == LOCAL else LOCAL))
    except QuestionError:
        return None


def _with_calls_of(made: Answer, tried: Answer) -> Answer:
    """Return an answer that accounts for the calls of another method, too, which found nothing."""
    return replace(
        made,
        steps=(*(replace(one, used=False) for one in tried.steps), *made.steps),
        usage=tried.usage + made.usage,
        problems=(*tried.problems, *made.problems),
    )


def _reasons(found: Mapping[str, float], sign: int, names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES]) + (" …" if len(names) > _MOST_NAMES else "")
    told = (_SAID[name][0 if sign > 0 else 1].format(names=shown) for name in weightiest_cues(found, sign))
    return ", and ".join(list(dict.fromkeys(filter(None, told)))[:_MOST_REASONS]) or _NOTHING[sign]


#: Of the log-odds that a question asks for something in particular; see ``benchmarks/routing.py``.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "named": 1.72,
        "names": 0.7,
        "overview": -2.58,
        "many": -1.1,
        "value": 0.31,
        # Not fitted: the labelled questions have none of this kind.
        "own": 2.0,
        "past": 1.27,
        "generic": -1.61,
        "rarest": 0.59,
        "specific": 0.79,
        "held": 2.46,
    }
)
BIAS = -1.2

_VALUE = re.compile(
    r"\s*(?:(?:who|whom|whose|when|where|why)\b|what(?:'s| is| was) an?\b|"
    r"how (?:many|much|old|long|far|fast|high|big|tall)\b|"
    r"(?:what|which) (?:year|date|day|time|number|age|amount|percentage)\b|"
    r"(?:did|does|do|is|are|was|were|has|have|had|can|could|will|would)\b)",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:did|was|were|had)\b", re.IGNORECASE)
#: "How do I …" and "what does it do" ask nothing general.
_GENERIC = re.compile(r"\b(?:do(?= \w)(?! (?:i|we|you|one)\b)|are|have|is there|are there)\b", re.IGNORECASE)
_OWN = re.compile(r"\b(?:do|can|could|should|must|may|would) (?:i|we|you|one)\b", re.IGNORECASE)
_ENOUGH = 8
_OVERVIEW, _MANY, _UNSPECIFIC = (
    frozenset(map(stem, listed)) for listed in (OVERVIEW, MANY, {*GENERAL, *GENRES, *OVERVIEW})
)


def cues(
    question: str, named: Sequence[str], nearest: Sequence[str], rarity: Callable[[str], float]
) -> dict[str, float]:
    """Return the cues of a question.

    Args:
        question: as asked.
        named: the names in it that are linked to entities.
        nearest: texts of the passages that are nearest to it by words.
        rarity: how rare a word is in the corpus, 0 (everywhere) to 1 (nowhere).

    Returns:
        ``named``: it names an entity; ``names``: the share of its meaningful words that stand in names;
        ``overview``: the share that ask for an overview; ``many``: the share that speak of many at
        once; ``value``: it asks who, when, where, why, how many, or whether; ``own``: it asks what one
        can do oneself; ``past``: it asks what happened; ``generic``: it asks what is so in general;
        ``rarest``: how rare the rarest of the words is that say what to look for; ``specific``: how many such
        words it has, of eight; ``held``: the share of them that one passage holds.
    """
    meaningful = [word for word in words(question) if stems(word)]
    wanted = {stem(word) for word in meaningful} - _UNSPECIFIC
    of_names = {word for name in named for word in words(name)}
    whole = max(len(meaningful), 1)
    return {
        "named": float(bool(named)),
        "names": sum(word in of_names for word in meaningful) / whole,
        "overview": sum(stem(word) in _OVERVIEW for word in meaningful) / whole,
        "many": sum(word not in of_names and stem(word) in _MANY for word in meaningful) / whole,
        "value": float(bool(_VALUE.match(question))),
        "own": float(bool(_OWN.search(question))),
        "past": float(bool(_PAST.search(question))),
        "generic": float(bool(_GENERIC.search(question))),
        "rarest": _rarest_word([word for word in meaningful if stem(word) in wanted], rarity),
        "specific": min(len(wanted), _ENOUGH) / _ENOUGH,
        "held": _share_held(wanted, nearest),
    }


def probability_of_local(found: Mapping[str, float]) -> float:
    """Return how likely it is that a question with these cues asks for something in particular."""
    return 1 / (1 + exp(-(BIAS + fsum(WEIGHTS[name] * value for name, value in found.items()))))


def weightiest_cues(found: Mapping[str, float], sign: int) -> list[str]:
    """Return the cues that speak for something in particular (1) or the whole (-1), strongest first."""
    pull = {name: sign * WEIGHTS[name] * value for name, value in found.items()}
    return sorted((name for name in pull if pull[name] > 0), key=lambda name: -pull[name])


def _share_held(wanted: Set[str], texts: Sequence[str]) -> float:
    best = max((len(wanted & set(stems(text))) for text in texts), default=0)
    return best / len(wanted) if wanted else 0.0


def _rarest_word(wanted: Sequence[str], rarity: Callable[[str], float]) -> float:
    known = [value for value in map(rarity, wanted) if value < 1]
    return max(known, default=0.0)
