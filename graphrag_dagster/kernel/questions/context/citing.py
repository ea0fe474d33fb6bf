"""Resolves the citations of an answer to the words of the documents behind them."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.context.answer import Source, Statement
from graphrag_dagster.kernel.questions.context.context_units import ContextUnits, Provenance
from graphrag_dagster.kernel.questions.context.index_background import Support
from graphrag_dagster.kernel.tasks.answering_ports import Cited, SupportOf
from graphrag_dagster.kernel.tasks.task_ports import FinalAnswer, Layout, Quote
from graphrag_dagster.kernel.text.citations import canonical_citations, parse_citations
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.statement_reading import share_of_numbers

_MARK = re.compile(r"(?P<blank>\s*)(?P<mark>\[Data: [^\[\]]*\](?:[ \t]*\[Data: [^\[\]]*\])*)")
_KNOWLEDGE = re.compile(r"\[LLM:\s?verify\]", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_NO_STATEMENT = re.compile(r"(?:#{1,6}\s.*|\*\*[^*]*\*\*:?|[-*+•]|\d+[.)])\Z")
#: Most quotations per cited row, and the least score of the second relative to the first.
_QUOTES, _AS_NEAR = 2, 0.6
#: Weight of a statement's numbers, relative to its similarity, in choosing its quotations.
_NUMBERS = 0.25
_UNCITED = "it cites nothing"


@dataclass(frozen=True, slots=True)
class CitedText:
    """A text with marks ``[1]``, its sources and statements, and the number of ids removed.

    ``marks``: the words that answer the question, as characters of the text. ``problems``: why the support
    judge failed on some statements.
    """

    text: str
    sources: tuple[Source, ...]
    statements: tuple[Statement, ...]
    removed: int
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    marks: tuple[Span, ...] = ()


def cite(
    final: FinalAnswer, units: ContextUnits, shown: Collection[int], support: Support | None = None
) -> CitedText:
    """Return an answer with numbered marks, their sources, and its statements.

    A sentence that the answer quotes is its own source. Any other cited row is resolved to the one or two
    quotations behind it that are nearest to the citing sentence. A mark applies to the sentences since the
    previous mark, within its paragraph. Ids of rows that were not shown, or of anything else, are removed and
    counted. Support is judged at the end for all statements together, each against everything that it cites.
    If the answer may contain general knowledge, the sentence before such a mark has no verdict. Quotations
    that the layout tells are kept as they stand, whatever looks like a citation in them.

    Args:
        final: the answer, citing rows as ``[Data: Reports (1, 2)]``.
        units: all rows of the search.
        shown: numbers of the rows that the answer may cite.
        support: compares statements with words; default: by shared words.
    """
    support = support or Support()
    sources = _Sources(units, final, support)
    removed = 0
    parts: list[str] = []
    statements: list[Statement] = []
    layout = final.layout
    text = final.text if layout.quotations else canonical_citations(final.text)
    end = length = 0
    marked: list[Span] = []
    for match in _citations(text, layout):
        passage = text[end : match.start()]
        cited = [
            citation.id
            for citation in parse_citations(match["mark"])
            if citation.id in shown and units.kind(citation.id) == citation.kind
        ]
        removed += len(_NUMBER.findall(match["mark"])) - len(cited)
        before, _, last = passage.rpartition("\n\n")
        general, cited_for = _split_general_knowledge(last, final)
        statements += [*_uncited(before, final), *general]
        spoken = _quoted(cited_for, match.start() - len(cited_for), layout)
        cited_statements = [
            replace(sources.statement(sentence, cited), marks=inside) for sentence, inside in spoken
        ]
        statements += cited_statements
        numbers = sorted({number for statement in cited_statements for number in statement.sources})
        marks = "".join(f"[{number}]" for number in numbers)
        marked += [_moved(one, length - end) for one in layout.marks if end <= one.start < match.start()]
        parts += [passage, match["blank"] + marks if marks else ""]
        length += len(parts[-2]) + len(parts[-1])
        end = match.end()
    statements += _uncited(text[end:], final)
    verdicts = support.judged([sources.cited_by(statement) for statement in statements if statement.sources])
    judged = iter(verdicts.items)
    whole = "".join([*parts, text[end:]])
    blank = len(whole) - len(whole.lstrip())
    return CitedText(
        whole.strip(),
        sources.in_order(),
        tuple(
            _with_verdict(statement, next(judged)) if statement.sources else statement
            for statement in statements
        ),
        removed,
        tuple(dict.fromkeys(verdict.problem for verdict in verdicts.items if verdict.problem)),
        verdicts.usage,
        tuple(_moved(one, -blank) for one in marked),
    )


def _citations(text: str, layout: Layout) -> Iterator[re.Match[str]]:
    """Yield the citations of a text, but those that stand in its quotations."""
    place = 0
    while match := _MARK.search(text, place):
        start = match.start("mark")
        within = next((one for one in layout.quotations if one.start <= start < one.end), None)
        if within is None:
            yield match
        place = within.end if within else match.end()


def _moved(span: Span, by: int) -> Span:
    return Span(span.start + by, span.end + by)


def _quoted(passage: str, start: int, layout: Layout) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """Yield the statements of a cited passage that begins at a character of the text, with their marks."""
    if not layout.quotations:
        yield from ((sentence, ()) for sentence in _sentences(passage))
        return
    for span in sentence_spans(passage):
        said = passage[span.start : span.end]
        if any(map(str.isalnum, said)):
            first, last = start + span.start, start + span.end
            inside = [one for one in layout.marks if first <= one.start and one.end <= last]
            places = [
                (_tidy_length(said, one.start - first), _tidy_length(said, one.end - first)) for one in inside
            ]
            yield " ".join(said.split()), tuple(Span(*place) for place in places)


def _tidy_length(said: str, place: int) -> int:
    """How many characters there are before a place once white space is tidied."""
    return len(" ".join(f"{said[:place]}.".split())) - 1


def uncited(text: str, reason: str) -> tuple[Statement, ...]:
    """Return the statements of a text without citations; ``reason`` says why none is supported."""
    return tuple(Statement(sentence, (), 0.0, "not", 0.0, reason) for sentence in _sentences(text))


def _with_verdict(statement: Statement, support: SupportOf) -> Statement:
    return replace(statement, verdict=support.verdict, score=support.score, reason=support.reason)


def _uncited(passage: str, final: FinalAnswer) -> list[Statement]:
    """Return the statements of a passage without citations."""
    general, rest = _split_general_knowledge(passage, final)
    return [*general, *uncited(rest, _UNCITED)]


def _split_general_knowledge(passage: str, final: FinalAnswer) -> tuple[list[Statement], str]:
    """Return the statements up to the last mark of general knowledge, and the text after it.

    A mark applies to the one sentence before it.
    """
    if not final.general_knowledge:
        return [], passage
    statements: list[Statement] = []
    end = 0
    for mark in _KNOWLEDGE.finditer(passage):
        sentences = list(_sentences(passage[end : mark.start()]))
        statements += map(_without_source, sentences[:-1])
        statements += [Statement(sentence, (), 0.0, None, general=True) for sentence in sentences[-1:]]
        end = mark.end()
    return statements, passage[end:]


def _sentences(passage: str) -> Iterator[str]:
    for span in sentence_spans(passage):
        sentence = " ".join(passage[span.start : span.end].split())
        if any(character.isalnum() for character in sentence) and not _NO_STATEMENT.match(sentence):
            yield _strip_bold(sentence)


def _strip_bold(sentence: str) -> str:
    """Remove the marks of bold text."""
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
    """Sources in order of first citation."""

    def __init__(self, units: ContextUnits, final: FinalAnswer, support: Support) -> None:
        self._units = units
        self._support = support
        verbatim = bool(final.layout.quotations)
        self._quoted = {
            (unit, sentence if verbatim else _strip_bold(sentence)): quote
            for sentence, unit, quote in final.quotes
            if quote
        }
        self._cited: dict[tuple[int, Quote | None], _CitedUnit] = {}

    def statement(self, sentence: str, cited: list[int]) -> Statement:
        """Return a sentence that cites rows, with the numbers of the quotations nearest to it."""
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
        """Return a statement with the words of its sources and the titles of their rows."""
        by_number = {source.number: source for source in self._cited.values()}
        cited = [by_number[number] for number in statement.sources]
        words = [self._units.index.words(source.provenance.quote) for source in cited if source.provenance]
        titles = dict.fromkeys(self._units.title(source.unit) for source in cited)
        # If a sentence ends with a quotation of the answer, only the quotation is judged.
        quoted = (sentence for _, sentence in self._quoted if statement.text.endswith(sentence))
        return Cited(next(quoted, statement.text), tuple(filter(None, words)), "; ".join(titles))

    def in_order(self) -> tuple[Source, ...]:
        """Return all cited sources."""
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
                exact = next(
                    (provenance for provenance in known if provenance.quote == quote), Provenance(quote)
                )
                return [(exact, 1.0)]
        words = [self._units.index.words(provenance.quote) for provenance in known]
        similarities = self._support.similarities(sentence, words)
        scores = [
            similarity + _NUMBERS * share_of_numbers(sentence, quoted_words)
            for similarity, quoted_words in zip(similarities, words, strict=True)
        ]
        best = sorted(range(len(known)), key=lambda position: -scores[position])[:_QUOTES]
        return [
            (known[position], similarities[position])
            for position in best
            if position == best[0] or scores[position] > _AS_NEAR * scores[best[0]]
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
            return replace(base, evidence=index.evidence_record(base.kind, base.record_id))
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
