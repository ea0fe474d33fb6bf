"""A text unit as the parser should see it: sentences without markup, mapped back to the text."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from graphrag_dagster.engines.extractive.parsing.type_lexicon import TERMS
from graphrag_dagster.kernel.text.markup_spans import TEMPLATE_TAG, Span, code_blocks
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans

_PREFIX = re.compile(
    r"(?:\s*(?:#{1,6}(?=\s)|>+|[-+•‣◦▪●](?=\s)|\*(?=\s)|\(?\d{1,3}[.)](?=\s+\D)|\(?[a-zA-Z][.)](?=\s+[A-Z])(?<![A-Z]\.)))+\s*"
)
_NOISE = re.compile(
    rf"{TEMPLATE_TAG}"
    r"""|!?\[(?=[^\]\n]{0,300}\]\()|\]\([^)\s]*(?:\s"[^"]*")?\)        # the frame of a link
    |(?:https?://|www\.)\S*[^\s.,;:!?)\]"']|(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+
    |<!--.{0,2000}?-->|</?[A-Za-z][^<>]{0,80}>|\[\^?\d+\]
    |\*+|_{2,}|(?<!\w)_|_(?!\w)|`+|~~|(?:[-:=|]{3,}(?=\s|$))""",
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(r"\S+")
_CUT = re.compile(r"-[ \t]*\r?\n[ \t]*")
_EMPHASIS = frozenset("*_`~")
_ROW = re.compile(r"\s*\|.*\||[^|]*\|[^|]*\|")
_RULE_BELOW = re.compile(r"\s*\n[ \t]*+(?:\|[ \t]*+)?:?-{2,}[-:| \t]*+(?:\n|\Z)")
_CAPITALS = r"[^\W\d_a-zß-öø-ÿ][^\W\d_a-zß-öø-ÿ'’-]+"
_LABEL = re.compile(rf"(?:{_CAPITALS}\.?)(?: (?:{_CAPITALS}|[A-Z])\.?){{0,3}}(?=:(?:\s|\Z))")
_SHOUTED_NAME = re.compile(rf"\b{_CAPITALS}(?: (?:{_CAPITALS}|[A-Z]\.))+(?!\w)")
_SHOUTED_WORD = re.compile(_CAPITALS)
_ENDED = re.compile(r"[.!?…:;。！？][\"'”’)\]»]*\Z")
_CONNECTIVE = re.compile(r"(?:\b(?:of|the|and|for|in|a|an|to|de|von|van)|[,&/–—-])\Z", re.IGNORECASE)
#: A capital inside a sentence that nothing but a new line asks for.
_HEAD_OF_LETTER = re.compile(r"(?:From|To|By|Cc|Re|Subject|Date):? +[^\W\d_a-z]")
_SHORT_LINE = 40
_LONGEST_NAME = 4

_INLINE_CODE = re.compile(r"(?<![`:\w])(`{1,2})(?!`)[^`\n]{1,200}\1(?![`_\w])")
#: What programs import and install, and whose parts they use.
_MODULE = re.compile(
    r"\b(?:import|from|install|require|add)\s+[\"'(]*([a-z][a-z0-9]{2,})|\b([a-z][a-z0-9]{2,})\.[A-Za-z]"
)
#: A line as it is typed at a prompt, or what it printed.
_PROMPT = re.compile(r"\s*(?:>>> |\.\.\. |\$ |In \[\d+\]:)")
_CODE_SIGNS = frozenset("=(){}[]<>;\\_$&*+@")
_FEWEST_SIGNS, _SHARE_OF_SIGNS = 4, 0.12

#: A word to be read, where it stands, and whether it follows the one before directly.
Piece = tuple[str, int, bool]


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """One sentence: ``span`` in the unit's text; ``start`` and ``end`` in :attr:`Reading.text`.

    ``written`` are its words as the unit has them, white space folded and Markdown marks removed.
    ``running`` is False for headings, table heads and lines in capitals, whose capitals name nothing.
    """

    span: Span
    start: int
    end: int
    written: str
    running: bool
    shouted: bool

    @property
    def ended(self) -> bool:
        """Whether it has a closing mark."""
        return bool(_ENDED.search(self.written))


@dataclass(frozen=True, slots=True)
class ReadableText:
    """A unit's sentences joined by single spaces into ``text``; :meth:`span` leads back into the unit.

    ``begins_inside``: the unit begins with a blank or a small letter, as windows do that begin inside a
    sentence or a word. ``code``: where words begin in ``text`` that are marked as code.
    ``modules``: what code of the unit imports, installs or uses parts of.
    """

    text: str
    sentences: tuple[ReadSentence, ...]
    begins_inside: bool
    code: frozenset[int]
    modules: frozenset[str]
    _starts: list[int]
    _origins: list[int]

    def span(self, start: int, end: int) -> Span:
        """Return where the non-empty range ``text[start:end]`` stands in the unit."""
        return Span(self._origin(start), self._origin(end - 1) + 1)

    def _origin(self, place: int) -> int:
        piece = bisect_right(self._starts, place) - 1
        return self._origins[piece] + place - self._starts[piece]


def read(text: str) -> ReadableText:
    """Return the sentences of a unit without blocks and lines of code, addresses and Markdown marks.

    Names in capitals, as transcripts write speakers, become capitalised words of the same length.
    """
    blocks = code_blocks(text)
    inline = [Span(*found.span()) for found in _INLINE_CODE.finditer(text)] if "`" in text else []
    code: set[int] = set()
    programs = [text[span.start : span.end] for span in (*blocks, *inline)]
    sentences: list[ReadSentence] = []
    parts: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    place = 0
    for span in _lines_apart(text):
        if any(block.start <= span.start < block.end for block in blocks):
            continue
        pieces = list(_rejoin_hyphenated(text, _pieces(text, span)))
        if not pieces:
            continue
        if _is_code(text, span, pieces):
            programs.append(text[span.start : span.end])
            continue
        written = ""
        for word, origin, glued in pieces:
            if written and not glued:
                written += " "
            if any(one.start <= origin < one.end for one in inline):
                code.add(place + len(written))
            starts.append(place + len(written))
            origins.append(origin)
            written += word
        shouted = _is_all_capitals(written)
        last, length = pieces[-1][1], len(pieces[-1][0])
        sentences.append(
            ReadSentence(
                Span(pieces[0][1], last + length),
                place,
                place + len(written),
                written,
                not shouted and not _is_heading(text, span, written),
                shouted,
            )
        )
        parts.append(written if shouted else _lower_case(written))
        place += len(written) + 1
    return ReadableText(
        " ".join(parts),
        tuple(sentences),
        text[:1] == " " or text[:1].islower(),
        frozenset(code),
        frozenset(word for one in programs for found in _MODULE.findall(one) for word in found if word),
        starts,
        origins,
    )


def _is_code(text: str, span: Span, pieces: Sequence[Piece]) -> bool:
    """Whether a line is typed at a prompt, or has more signs of code than prose has."""
    if _PROMPT.match(text, span.start, span.end):
        return True
    signs = sum(char in _CODE_SIGNS for word, _, _ in pieces for char in word)
    return signs >= _FEWEST_SIGNS and signs > _SHARE_OF_SIGNS * sum(len(word) for word, _, _ in pieces)


def _lines_apart(text: str) -> Iterator[Span]:
    """Yield the sentences, cut also after short lines that are followed by a new beginning."""
    for span in sentence_spans(text):
        begin = span.start
        newline = text.find("\n", span.start, span.end)
        if newline >= 0:
            width = max(map(len, text[span.start : span.end].split("\n")))
        while newline >= 0:
            above = text[max(begin, text.rfind("\n", 0, newline) + 1) : newline].strip()
            below = text[newline + 1 : newline + 80].lstrip()
            # Wrapped lines are about as long as each other; a signature or an address is not.
            short = len(above) < min(_SHORT_LINE, width * 0.75)
            ends = (short and not below[:1].islower()) or _HEAD_OF_LETTER.match(below)
            if ends and above and not _CONNECTIVE.search(above):
                yield Span(begin, newline)
                begin = newline + 1
            newline = text.find("\n", newline + 1, span.end)
        yield Span(begin, span.end)


def _pieces(text: str, span: Span) -> Iterator[Piece]:
    """Yield the words to be read."""
    prefix = _PREFIX.match(text, span.start, span.end)
    place = prefix.end() if prefix else span.start
    row = "|" in text[span.start : span.end] and _ROW.match(text, span.start, span.end) is not None
    before = -1
    for start, end in _kept_ranges(text, place, span.end):
        for found in _WORD.finditer(text, start, end):
            word = found[0].replace("|", ";") if row else found[0]
            if row and word == ";" and (before < 0 or not text[found.end() : span.end].strip(" |\t\n")):
                continue
            between = text[before : found.start()] if before >= 0 else " "
            yield word, found.start(), _EMPHASIS.issuperset(between)
            before = found.end()


def _rejoin_hyphenated(text: str, pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Put words together that a line end cuts at a hyphen, which names lose: Har-bour, but well-known."""
    held: Piece | None = None
    for word, origin, glued in pieces:
        if held:
            cut = _CUT.match(text, held[1] + len(held[0]) - 1) if held[0][-1] == "-" else None
            if cut and cut.end() == origin and len(held[0]) > 1 and word[0].isalpha():
                glued = True
                if held[0][0].isupper() and word[0].islower():
                    held = (held[0][:-1], held[1], held[2])
            yield held
        held = (word, origin, glued)
    if held:
        yield held


def _kept_ranges(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for noise in _NOISE.finditer(text, start, end):
        if noise.start() > start:
            yield start, noise.start()
        start = max(start, noise.end())
    if start < end:
        yield start, end


def _is_all_capitals(written: str) -> bool:
    label = _LABEL.match(written)
    letters = [char for char in written[label.end() if label else 0 :] if char.isalpha()]
    upper = sum(map(str.isupper, letters))
    return " " in written and len(letters) > 3 and upper > 0.7 * len(letters)


def _is_heading(text: str, span: Span, written: str) -> bool:
    """Whether a line is a table head, or without closing mark and written in capitalised words."""
    if _RULE_BELOW.match(text, span.end):
        return True
    if _ENDED.search(written) or _ROW.match(text, span.start, span.end):
        return False
    words = [word for word in written.split() if len(word) > 3]
    capital = sum(word[0].isupper() for word in words)
    return len(words) < 16 and capital > 0.7 * len(words)


def _lower_case(written: str) -> str:
    label = _LABEL.match(written)
    if label:
        written = _SHOUTED_WORD.sub(_as_name, label[0]) + written[label.end() :]
    return _SHOUTED_NAME.sub(_as_names, written)


def _as_names(found: re.Match[str]) -> str:
    words = found[0].split()
    terms = any(word.lower() in TERMS for word in words)
    if terms or max(map(len, words)) < 4 or len(words) > _LONGEST_NAME:
        return found[0]
    return _SHOUTED_WORD.sub(_as_name, found[0])


def _as_name(found: re.Match[str]) -> str:
    lowered = "".join(
        char if place == 0 or found[0][place - 1] in "'’-" else char.lower()
        for place, char in enumerate(found[0])
    )
    return lowered if len(lowered) == len(found[0]) else found[0]
