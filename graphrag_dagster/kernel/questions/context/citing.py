"""From the citations of an answer to the words that they rest on."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from graphrag_dagster.kernel.questions.citations import canonical_citations, parse_citations
from graphrag_dagster.kernel.questions.context.answer import Source, Statement
from graphrag_dagster.kernel.questions.context.context_units import ContextUnits, Provenance
from graphrag_dagster.kernel.questions.context.index_background import Support
from graphrag_dagster.kernel.questions.statement_reading import numbers_shared
from graphrag_dagster.kernel.tasks.answering_ports import Cited, SupportOf
from graphrag_dagster.kernel.tasks.task_ports import FinalAnswer, Quote, Usage
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans

_MARK = re.compile(r"(?P<blank>\s*)(?P<mark>\[Data: [^\[\]]*\](?:[ \t]*\[Data: [^\[\]]*\])*)")
_KNOWLEDGE = re.compile(r"\[LLM:\s?verify\]", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_NO_STATEMENT = re.compile(r"(?:#{1,6}\s.*|\*\*[^*]*\*\*:?|[-*+•]|\d+[.)])\Z")
#: Most quotations that stand for one cited row, and how near the second must be against the first.
_QUOTES, _AS_NEAR = 2, 0.6
#: What the numbers of a statement count beside its similarity in choosing its quotations.
_NUMBERS = 0.25
_UNCITED = "it cites nothing"


@dataclass(frozen=True, slots=True)
class CitedText:
    """A text with marks ``[1]``, what they stand for, its statements, and how many ids were taken out.

    ``problems``: why who judges whether statements are supported could not say so of some.
    """

    text: str
    sources: tuple[Source, ...]
    statements: tuple[Statement, ...]
    removed: int
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


def cite(
    final: FinalAnswer, units: ContextUnits, shown: Collection[int], support: Support | None = None
) -> CitedText:
    """Return an answer with numbered marks, their sources, and its statements.

    A sentence that the answer quotes stands for itself. Any other citation of a row stands for those one or
    two of the words the row rests on that are nearest to what is cited for. A mark holds for the sentences
    between it and the mark before, inside a paragraph. Ids of rows that were not shown, and of anything else,
    are taken out and counted. Whether the words of all that a statement cites support it is judged at the
    end, of all statements together. Where the answer may hold general knowledge, a sentence before the mark
    of that has no verdict.

    Args:
        final: the answer; it cites rows as ``[Data: Reports (1, 2)]``.
        units: all rows of the search.
        shown: numbers of the rows that the answer may cite.
        support: compares statements with words; default: by shared words.
    """
    support = support or Support()
    sources = _Sources(units, final, support)
    removed = 0
    parts: list[str] = []
    statements: list[Statement] = []
    text = canonical_citations(final.text)
    end = 0
    for found in _MARK.finditer(text):
        passage = text[end : found.start()]
        cited = [
            one.id
            for one in parse_citations(found["mark"])
            if one.id in shown and units.kind(one.id) == one.kind
        ]
        removed += len(_NUMBER.findall(found["mark"])) - len(cited)
        before, _, last = passage.rpartition("\n\n")
        general, cited_for = _after_knowledge(last, final)
        statements += [*_uncited(before, final), *general]
        made = [sources.statement(sentence, cited) for sentence in _sentences(cited_for)]
        statements += made
        numbers = sorted({number for statement in made for number in statement.sources})
        marks = "".join(f"[{number}]" for number in numbers)
        parts += [passage, found["blank"] + marks if marks else ""]
        end = found.end()
    statements += _uncited(text[end:], final)
    verdicts = support.judged([sources.cited_by(one) for one in statements if one.sources])
    judged = iter(verdicts.items)
    return CitedText(
        "".join([*parts, text[end:]]).strip(),
        sources.all(),
        tuple(_with_verdict(one, next(judged)) if one.sources else one for one in statements),
        removed,
        tuple(dict.fromkeys(one.problem for one in verdicts.items if one.problem)),
        verdicts.usage,
    )


def uncited(text: str, reason: str) -> tuple[Statement, ...]:
    """Return the statements of a text that cites nothing; ``reason`` says why none is supported."""
    return tuple(Statement(one, (), 0.0, "not", 0.0, reason) for one in _sentences(text))


def _with_verdict(statement: Statement, found: SupportOf) -> Statement:
    return replace(statement, verdict=found.verdict, score=found.score, reason=found.reason)


def _uncited(passage: str, final: FinalAnswer) -> list[Statement]:
    """The statements of a passage that cites nothing."""
    general, rest = _after_knowledge(passage, final)
    return [*general, *uncited(rest, _UNCITED)]


def _after_knowledge(passage: str, final: FinalAnswer) -> tuple[list[Statement], str]:
    """The statements up to the last mark of general knowledge, and what follows it.

    A mark holds for the one sentence before it.
    """
    if not final.general_knowledge:
        return [], passage
    statements: list[Statement] = []
    end = 0
    for mark in _KNOWLEDGE.finditer(passage):
        sentences = list(_sentences(passage[end : mark.start()]))
        statements += map(_without_source, sentences[:-1])
        statements += [Statement(one, (), 0.0, None, general=True) for one in sentences[-1:]]
        end = mark.end()
    return statements, passage[end:]


def _sentences(passage: str) -> Iterator[str]:
    for span in sentence_spans(passage):
        sentence = " ".join(passage[span.start : span.end].split())
        if any(character.isalnum() for character in sentence) and not _NO_STATEMENT.match(sentence):
            yield _plain(sentence)


def _plain(sentence: str) -> str:
    """Without the marks of bold words."""
    return sentence.replace("**", "")


def _without_source(sentence: str) -> Statement:
    return Statement(sentence, (), 0.0, "not", 0.0, _UNCITED)


@dataclass(slots=True)
class _CitedUnit:
    unit: int
    provenance: Provenance | None
    number: int
    similarity: float | None = field(default=None)


class _Sources:
    """Sources in the order in which they are first cited."""

    def __init__(self, units: ContextUnits, final: FinalAnswer, support: Support) -> None:
        self._units = units
        self._support = support
        self._quoted = {(unit, _plain(sentence)): quote for sentence, unit, quote in final.quotes if quote}
        self._cited: dict[tuple[int, Quote | None], _CitedUnit] = {}

    def statement(self, sentence: str, cited: list[int]) -> Statement:
        """Return a sentence that cites rows, with the numbers of the words nearest to it."""
        numbers: dict[int, float] = {}
        for unit in dict.fromkeys(cited):
            nearest = self._nearest(sentence, unit)
            for provenance, similarity in nearest:
                numbers[self._number(unit, provenance, similarity)] = similarity
            if not nearest:
                numbers[self._number(unit, None, 0.0)] = 0.0
        best = max(numbers.values(), default=0.0)
        return Statement(sentence, tuple(sorted(numbers)), best, "not", 0.0, _UNCITED)

    def cited_by(self, statement: Statement) -> Cited:
        """Return a statement with the words of its sources, and the titles of what these are about."""
        by_number = {one.number: one for one in self._cited.values()}
        cited = [by_number[number] for number in statement.sources]
        words = [self._units.index.words(one.provenance.quote) for one in cited if one.provenance]
        titles = dict.fromkeys(self._units.title(one.unit) for one in cited)
        # Where a sentence ends in what the answer quotes, that is what is said.
        quoted = (one for _, one in self._quoted if statement.text.endswith(one))
        return Cited(next(quoted, statement.text), tuple(filter(None, words)), "; ".join(titles))

    def all(self) -> tuple[Source, ...]:
        """Return every source that was cited."""
        return tuple(self._source(cited) for cited in self._cited.values())

    def _number(self, unit: int, provenance: Provenance | None, similarity: float) -> int:
        key = (unit, provenance.quote if provenance else None)
        cited = self._cited.setdefault(key, _CitedUnit(unit, provenance, len(self._cited) + 1))
        if provenance:
            cited.similarity = max(cited.similarity or 0.0, similarity)
        return cited.number

    def _nearest(self, sentence: str, unit: int) -> list[tuple[Provenance, float]]:
        known = self._units.provenance(unit)
        for (quoting, quotation), quote in self._quoted.items():
            if quoting == unit and sentence.endswith(quotation):
                exact = next((one for one in known if one.quote == quote), Provenance(quote))
                return [(exact, 1.0)]
        words = [self._units.index.words(one.quote) for one in known]
        near = self._support.similarities(sentence, words)
        told = [
            similarity + _NUMBERS * numbers_shared(sentence, one)
            for similarity, one in zip(near, words, strict=True)
        ]
        best = sorted(range(len(known)), key=lambda place: -told[place])[:_QUOTES]
        return [
            (known[one], near[one]) for one in best if one == best[0] or told[one] > _AS_NEAR * told[best[0]]
        ]

    def _source(self, cited: _CitedUnit) -> Source:
        unit, provenance = cited.unit, cited.provenance
        base = Source(
            cited.number,
            self._units.record_kind(unit),
            self._units.record_id(unit),
            self._units.title(unit),
            similarity=cited.similarity,
        )
        index = self._units.index
        if provenance is None and base.kind in ("relationship", "entity"):
            return replace(base, evidence=index.stated(base.kind, base.record_id))
        evidence = index.evidence_of(provenance.quote) if provenance else None
        if provenance is None or evidence is None:
            return base
        return replace(
            base,
            finding=provenance.finding,
            via_kind=provenance.kind,
            via_id=provenance.record_id,
            evidence=evidence,
        )
