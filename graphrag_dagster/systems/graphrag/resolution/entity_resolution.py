"""Entity resolution: from mentions to candidate pairs, decisions, and the entity of every name.

First the names of each document, where short forms find their full ones; then the full names of all
documents. The result can be inspected and undone: no input is changed.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import polars as pl

from graphrag_dagster.kernel.lineage.resolved_names import DISAMBIGUATION_SUFFIX
from graphrag_dagster.kernel.tasks.name_judging_ports import NameInText, NameJudge, NamePair, Ruling
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.human_decisions import DecisionLinks, Decisions, NameRuling
from graphrag_dagster.systems.graphrag.resolution.match_probability import ScoredPair
from graphrag_dagster.systems.graphrag.resolution.name_clustering import (
    ComparedNames,
    NameDecision,
    clusters,
    decisions_of,
    verdict_on,
)
from graphrag_dagster.systems.graphrag.resolution.name_pairs import ComparedPairs, Comparing
from graphrag_dagster.systems.graphrag.resolution.name_scopes import (
    Corpus,
    NameMention,
    Place,
    ScopeNames,
    of_document,
    places_in_document,
    places_in_documents,
)
from graphrag_dagster.systems.graphrag.resolution.namesakes import Name

#: A document, a name as written there, and its type.
Spelling = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class NameQuestion:
    """A pair that the rules leave open; ``document`` is None between documents.

    ``one_stands`` and ``other_stands`` are some places where the names stand, the first ones first.
    """

    document: str | None
    one: Name
    other: Name
    one_stands: tuple[Place, ...] = ()
    other_stands: tuple[Place, ...] = ()


#: Rules on pairs that are open, in their order.
Judge = Callable[[Sequence[NameQuestion]], Sequence[Ruling]]
#: Where names of a scope stand.
_Places = Callable[[ScopeNames, frozenset[Name]], Mapping[Name, tuple[Place, ...]]]


@dataclass(frozen=True, slots=True)
class Resolution:
    """Result of resolution.

    Attributes:
        scopes: the documents in order, then the corpus.
        people: what people decided.
        heads: for each spelling of a document the full name that it stands for there.
        entities: for each spelling of a document the title and type of its entity.
        namesakes: names that are spelled alike and are not one.
        unused: words of people that concern no two names.
    """

    scopes: tuple[ComparedNames, ...]
    people: Decisions
    heads: dict[Spelling, Name]
    entities: dict[Spelling, Name]
    namesakes: list[set[Name]]
    unused: tuple[NameRuling, ...]

    @property
    def decisions(self) -> Iterator[NameDecision]:
        """What was decided of pairs, but for those that nothing spoke for."""
        return (one for scope in self.scopes for one in decisions_of(scope, self.people))


def resolve(
    mentions: Iterable[NameMention],
    sentences: Mapping[tuple[str, int], str],
    people: Decisions | None = None,
    *,
    titles: Mapping[str, str] | None = None,
    judge: Judge | None = None,
    comparing: Comparing | None = None,
) -> Resolution:
    """Return which names are one entity, the same for the same mentions in whatever order.

    In a document a short form, an acronym or a variant goes to the one full name that fits. Between documents
    only full names are compared: equal names are one but for namesakes, variants where more speaks for it.

    Args:
        mentions: of any number of documents.
        sentences: text by document and number; where one is missing, nothing in it defines a name.
        people: what people decided.
        titles: of the documents; they tell namesakes apart.
        judge: rules on what the rules leave open; None leaves it open.
        comparing: compares, and keeps all pairs.

    Raises:
        SettingsError: decisions of people contradict each other.
    """
    said, compare = people or Decisions(), comparing or Comparing()
    everywhere = said.links()
    links = {document: said.links(document) for document in said.documents()}
    ordered = sorted(mentions, key=lambda one: (one.document, one.sentence, one.name, one.type))
    found = {
        document: of_document(document, list(of_it), sentences)
        for document, of_it in groupby(ordered, key=lambda one: one.document)
    }
    ordered.clear()
    local = [
        _cluster_names(names, pairs, links.get(document, everywhere), {})
        for (document, names), pairs in zip(
            found.items(), compare.documents(list(found.values())), strict=True
        )
    ]
    if judge is not None:
        local = _rule_open_pairs(local, judge, places_in_document, {})
    return _resolve_between_documents(found, local, said, titles or {}, compare, judge)


def _resolve_between_documents(
    documents: Mapping[str, ScopeNames],
    local: Sequence[ComparedNames],
    said: Decisions,
    titles: Mapping[str, str],
    comparing: Comparing,
    judge: Judge | None,
) -> Resolution:
    """Resolve the names between documents; ``local`` is what came of the names of each."""
    corpus, heads = Corpus(said, titles), dict[Spelling, Name]()
    for document, one in zip(documents, local, strict=True):
        added = corpus.add(document, one.names, one.titles)
        heads |= {(document, *name): head for name, head in zip(one.names.names, added, strict=True)}
    full, known_as, namesakes = corpus.names()
    meant = {spelling: known_as[spelling[0], head] for spelling, head in heads.items()}
    # Of many names these take more memory than all that follows.
    del corpus, known_as
    bearing = {name: number for number, names in enumerate(namesakes) for name in names}

    def places(_: ScopeNames, wanted: frozenset[Name]) -> Mapping[Name, tuple[Place, ...]]:
        return places_in_documents(documents, meant, wanted)

    whole = _cluster_names(full, comparing.between(full), said.links(between=True), bearing)
    if judge is not None:
        (whole,) = _rule_open_pairs([whole], judge, places, bearing)
    entity = dict(zip(full.names, whole.titles, strict=True))
    scopes = (*local, whole)
    return Resolution(
        scopes,
        said,
        heads,
        {spelling: entity[name] for spelling, name in meant.items()},
        namesakes,
        said.unused(_names_by_document(heads, full, said)),
    )


def _names_by_document(
    spellings: Iterable[Spelling], full: ScopeNames, said: Decisions
) -> dict[str | None, set[str]]:
    """Return the names of each document, and under None those of all with what tells namesakes apart."""
    present: dict[str | None, set[str]] = defaultdict(set)
    if not said.words:
        return present
    for document, name, _ in spellings:
        present[document].add(normalise(name))
    present[None] = set().union(*present.values(), (normalise(name) for name, _ in full.names))
    # What told namesakes apart is gone from the name where a person says that they are one.
    told = {
        key
        for word in said.words
        for key in word.keys
        if re.sub(DISAMBIGUATION_SUFFIX, "", key) in present[None]
    }
    present[None] |= told
    return present


def _open_pairs(one: ComparedNames) -> list[ScoredPair]:
    """Return the pairs that the rules leave open, and of which nobody has said anything."""
    names = one.names.names
    return [
        pair
        for pair in one.pairs
        if verdict_on(pair, one)[0] == "ask"
        and not one.links.has_decision(*(names[at][0] for at in pair.pair))
    ]


def _rule_open_pairs(
    compared: Sequence[ComparedNames], judge: Judge, places: _Places, bearing: Mapping[Name, int]
) -> list[ComparedNames]:
    """Put what is open in any of the scopes to the judge at once, and cluster anew where it has ruled."""
    open_pairs = list(map(_open_pairs, compared))
    questions = [
        question
        for one, pairs in zip(compared, open_pairs, strict=True)
        if pairs
        for question in _questions(one.names, pairs, places)
    ]
    rulings = iter(judge(questions) if questions else ())
    ruled = list(compared)
    for at, pairs in enumerate(open_pairs):
        if pairs:
            one, of_scope = compared[at], {pair.pair: next(rulings) for pair in pairs}
            now = [p.with_ruling(of_scope[p.pair]) if p.pair in of_scope else p for p in one.pairs]
            again = ComparedPairs(now, one.vetoed, one.refused, one.left_out)
            ruled[at] = _cluster_names(one.names, again, one.links, bearing)
    return ruled


def _questions(found: ScopeNames, pairs: Sequence[ScoredPair], places: _Places) -> Iterator[NameQuestion]:
    asked = [(found.names[one.pair[0]], found.names[one.pair[1]]) for one in pairs]
    standing = places(found, frozenset(name for pair in asked for name in pair))
    for one, other in asked:
        yield NameQuestion(found.document, one, other, standing.get(one, ()), standing.get(other, ()))


def _cluster_names(
    found: ScopeNames,
    compared: ComparedPairs,
    links: DecisionLinks,
    bearing: Mapping[Name, int],
) -> ComparedNames:
    def apart(one: int, other: int) -> bool:
        first, second = found.names[one], found.names[other]
        numbers = bearing.get(first), bearing.get(second)
        if numbers[0] is not None and numbers[0] == numbers[1] and not links.are_same(first[0], second[0]):
            return True
        return bool(links.different) and any(
            links.are_different(a, b) for a in found.known(one) for b in found.known(other)
        )

    groups = _human_groups(found, links, apart)
    clustering = clusters(compared.pairs, compared.vetoed, groups, apart)
    titles = _titles(clustering.roots, found, compared.pairs)
    return ComparedNames(found, *compared, clustering, [titles[root] for root in clustering.roots], links)


def _human_groups(found: ScopeNames, links: DecisionLinks, apart: Callable[[int, int], bool]) -> list[int]:
    """Return for each name the smallest that a person says is the same."""
    groups = list(range(len(found.names)))
    if not links.roots:
        return groups
    first: dict[str, int] = {}
    spoken = [{normalise(name) for name in found.known(place) if links.is_decided(name)} for place in groups]
    there: dict[str, set[str]] = defaultdict(set)
    for key in set().union(*spoken):
        there[links.root(key)].add(key)
    for place, keys in enumerate(spoken):
        # Where all that a name is said to be is gone, what has that name is no more one than before.
        for root in sorted({root for root in map(links.root, keys) if len(there[root]) > 1}):
            target, own = groups[first.setdefault(root, place)], groups[place]
            members = [[at for at, group in enumerate(groups) if group == one] for one in (target, own)]
            if target != own and not any(apart(one, other) for one in members[0] for other in members[1]):
                for at in members[0] + members[1]:
                    groups[at] = min(target, own)
    return groups


def _titles(roots: Sequence[int], found: ScopeNames, pairs: Iterable[ScoredPair]) -> dict[int, Name]:
    """Return for each cluster its commonest name of those that are short for no other of it."""
    short = {
        one.pair[one.short]
        for one in pairs
        if one.short is not None and roots[one.pair[0]] == roots[one.pair[1]] and not one.veto
    }
    best: dict[int, int] = {}
    for place, root in enumerate(roots):
        ranks = [
            (at not in short, found.counts[at], len(found.names[at][0]), at)
            for at in (place, best.get(root, place))
        ]
        best[root] = max(ranks)[-1]
    return {root: found.names[place] for root, place in best.items()}


#: Sentences of a name that are shown, and most characters of one.
_SENTENCES, _CHARACTERS = 2, 240


class ModelNameJudge:
    """Puts open pairs to a model, and counts what it says: the ``judge`` of :func:`.resolving.resolve`.

    Two names that stand in one document only are asked about once, also where the rules leave them open in
    the document and then between documents.

    Args:
        documents: rows of ``corpus.documents``; only sentences of names that are asked about are kept.
    """

    def __init__(self, judge: NameJudge, documents: pl.DataFrame) -> None:
        self._judge = judge
        self._documents = documents
        self._counts: Counter[str] = Counter()
        self._ruled: dict[tuple[str | None, Name, Name], Ruling] = {}

    def __call__(self, questions: Sequence[NameQuestion]) -> list[Ruling]:
        """Return the rulings on questions, in their order."""
        asked = [one for one in questions if _question_key(one) not in self._ruled]
        self._ruled |= zip(map(_question_key, asked), self._ask(asked), strict=True)
        return [self._ruled[_question_key(one)] for one in questions]

    def _ask(self, questions: Sequence[NameQuestion]) -> list[Ruling]:
        texts = self._texts({place for one in questions for place in (*one.one_stands, *one.other_stands)})
        pairs = [
            NamePair(
                one.document,
                _name_in_text(one.one, one.one_stands, texts),
                _name_in_text(one.other, one.other_stands, texts),
            )
            for one in questions
        ]
        rulings = self._judge.judge(pairs)
        for ruling in rulings:
            self._counts["problems" if ruling.problem else ruling.verdict] += 1
            self._counts["repaired"] += ruling.repaired
        return rulings

    @property
    def counts(self) -> dict[str, int]:
        """Number of pairs a model was asked about, and its verdicts; ``problems`` had no usable reply."""
        kinds = ("same", "different", "unsure", "problems")
        asked = sum(self._counts[kind] for kind in kinds)
        return {"asked": asked, **{kind: self._counts[kind] for kind in (*kinds, "repaired")}}

    def _texts(self, places: set[Place]) -> dict[Place, str]:
        wanted: dict[str, list[int]] = defaultdict(list)
        for document, number in places:
            wanted[document].append(number)
        concerned = self._documents.filter(pl.col("document_id").is_in(sorted(wanted)))
        found: dict[Place, str] = {}
        for document, text in concerned.select("document_id", "text").iter_rows():
            spans = sentence_spans(text)
            found |= {(document, at): text[spans[at].start : spans[at].end] for at in wanted[document]}
        return found


def _question_key(question: NameQuestion) -> tuple[str | None, Name, Name]:
    """The names, and the document where both are of one."""
    documents = {document for document, _ in (*question.one_stands, *question.other_stands)}
    only = documents.pop() if len(documents) == 1 else None
    return question.document or only, question.one, question.other


def _name_in_text(name: Name, places: Sequence[Place], texts: Mapping[Place, str]) -> NameInText:
    """The name with the first sentences that have it as it is written, else with those that mean it."""
    sentences = list(dict.fromkeys(" ".join(texts[place].split()) for place in places))
    sentences.sort(key=lambda sentence: name[0].casefold() not in sentence.casefold())
    return NameInText(*name, tuple(_shorten(one, name[0]) for one in sentences[:_SENTENCES]))


def _shorten(sentence: str, name: str) -> str:
    if len(sentence) <= _CHARACTERS:
        return sentence
    at = max(sentence.casefold().find(name.casefold()), 0)
    start = max(min(at - _CHARACTERS // 2, len(sentence) - _CHARACTERS), 0)
    part = sentence[start : start + _CHARACTERS]
    return f"{'… ' if start else ''}{part}{' …' if start + _CHARACTERS < len(sentence) else ''}"
