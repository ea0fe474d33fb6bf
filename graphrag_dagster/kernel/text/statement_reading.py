"""Splits answers into sentences, and parses texts for support judging."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from types import MappingProxyType

from graphrag_dagster.kernel.text.citations import rewrite_citations
from graphrag_dagster.kernel.text.english_words import STOP_WORDS, word_set
from graphrag_dagster.kernel.text.names_and_numbers import KnownWords, Number, is_among, numbers_of
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.text_similarity import stem

_WORD = re.compile(r"[^\W_]+(?:['’]t\b)?")
#: Scripts without blanks between words: Thai, Lao, Burmese, Khmer, kana, Chinese characters.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_CLAUSE = re.compile(r"[,;:()–—](?=\s|\Z)|\s[–—(]")
#: Words after a negation that it covers: all up to the first limit, else the first up to the second limit.
_NEAR, _REACH = 3, 6
#: Size of the caches of parsed texts.
CACHED_TEXTS = 20_000


@dataclass(frozen=True, slots=True)
class SupportSentence:
    """A sentence: the stems of its words in order, the negated ones, and whether it is hedged or passive."""

    text: str
    stems: tuple[str, ...]
    negated: frozenset[str]
    hedged: bool
    passive: bool

    @property
    def affirmed(self) -> frozenset[str]:
        """The stems that are not negated."""
        return frozenset(self.stems) - self.negated


@dataclass(frozen=True, slots=True)
class StatementReading:
    """A parsed text.

    Attributes:
        sentences: in order.
        surfaces: the first word of each stem in lower case, by stem, in order.
        numbers: in order.
        lower: its lower-case words.
        known: what names are matched against.
        pronouns: whether it has pronouns that refer to something named before.
    """

    sentences: tuple[SupportSentence, ...]
    surfaces: Mapping[str, str]
    numbers: tuple[Number, ...]
    lower: frozenset[str]
    known: KnownWords
    pronouns: bool


@lru_cache(maxsize=CACHED_TEXTS)
def read(text: str) -> StatementReading:
    """Return the parsed text for support judging."""
    surfaces: dict[str, str] = {}
    words = _WORD.findall(text)
    return StatementReading(
        tuple(_sentence(text[span.start : span.end], surfaces) for span in sentence_spans(text)),
        surfaces,
        tuple(numbers_of(text)),
        frozenset(word for word in words if word.islower()),
        KnownWords.of(text),
        not PRONOUNS.isdisjoint(word.lower() for word in words),
    )


def is_stated_in(said: str, quoted: str) -> bool:
    """Return whether a statement occurs word for word in a quotation."""
    wanted = " ".join(_tokens(said))
    return bool(wanted) and f" {wanted} " in f" {' '.join(_tokens(quoted))} "


def share_of_numbers(said: str, quoted: str) -> float:
    """Return the share, 0–1, of the statement's numbers that a quotation has; 0 without numbers."""
    numbers, known = read(said).numbers, read(quoted).numbers
    return sum(is_among(number, known) for number in numbers) / len(numbers) if numbers else 0.0


def _tokens(text: str) -> Iterator[str]:
    """Yield words in lower case; single characters in scripts without blanks between words."""
    for match in _WORD.finditer(text.lower().replace("’", "'")):
        end = 0
        for run in _UNSPACED.finditer(match[0]):
            yield from filter(None, (match[0][end : run.start()], *run[0]))
            end = run.end()
        if match[0][end:]:
            yield match[0][end:]


def _meaningful(text: str) -> Iterator[str]:
    """Yield the tokens of a sentence; character bigrams in scripts without blanks between words."""
    before = ""
    for token in _tokens(text):
        if _UNSPACED.fullmatch(token):
            if before:
                yield before + token
            before = token
        else:
            before = ""
            yield token


def _sentence(text: str, surfaces: dict[str, str]) -> SupportSentence:
    stems: list[str] = []
    negated: set[str] = set()
    seen: set[str] = set()
    for clause in _CLAUSE.split(text):
        words = list(_meaningful(clause))
        seen.update(words)
        stem_at = {
            position: stem(word) for position, word in enumerate(words) if word in MEANT or _is_counted(word)
        }
        stems += stem_at.values()
        for position, word_stem in stem_at.items():
            surfaces.setdefault(word_stem, words[position])
        for position, (word, following) in enumerate(pairwise([*words, ""])):
            if (word in NEGATIONS or word.endswith("n't")) and following not in NO_NEGATION:
                negated |= _negated_stems(position, stem_at)
    return SupportSentence(text, tuple(stems), frozenset(negated), not HEDGES.isdisjoint(seen), "by" in seen)


def _is_counted(word: str) -> bool:
    return word not in STOP_WORDS and word not in NEGATIONS and not word.endswith("n't")


def _negated_stems(negation: int, stem_at: Mapping[int, str]) -> set[str]:
    """Return the stems that a negation covers: those near after it, else the next, else the last before."""
    after = [position for position in stem_at if negation < position <= negation + _REACH]
    near = [position for position in after if position <= negation + _NEAR] or after[:1]
    before = [position for position in stem_at if position < negation][-1:]
    return {stem_at[position] for position in near or before}


NEGATIONS = word_set(
    """
    not no never neither nor none nobody nothing nowhere without cannot hardly barely scarcely unable
    fail failed fails failing refuse refused refuses deny denied denies lack lacked lacks cant wont didnt
    """
)
#: These cancel a preceding negation: not only, not until, no longer than.
NO_NEGATION = word_set("only just merely until limited least less fewer more")
#: State a direction or a bound; elsewhere they are stop words.
MEANT = word_set("more less most least before after over under above below up down against")
#: Mark a sentence as a mere possibility.
HEDGES = word_set(
    """
    might possibly perhaps maybe allegedly alleged reportedly rumoured rumored supposedly presumably proposed
    suspected unconfirmed hypothetical
    """
)
#: Refer to somebody or something named before.
PRONOUNS = word_set("he she it they him her them his hers its their theirs")

_OPPOSITES = """
    rise:fall,drop,decline,decrease,sink increase:decrease,drop,decline,fall,reduce,shrink,cut
    grow:shrink,decline,fall gain:lose,loss raise:lower,cut,reduce more:less,fewer most:least,fewest
    high:low higher:lower highest:lowest up:down upward:downward large:small larger:smaller
    largest:smallest big:small bigger:smaller biggest:smallest long:short longer:shorter
    longest:shortest old:new,young older:younger,newer oldest:youngest,newest early:late earlier:later
    earliest:latest before:after first:last begin:end start:end,stop,finish open:close,shut win:lose
    winner:loser victory:defeat accept:reject,refuse approve:reject,refuse,veto agree:disagree
    allow:forbid,ban,prohibit permit:forbid,ban,prohibit support:oppose for:against build:demolish
    create:destroy north:south east:west northern:southern eastern:western left:right inside:outside
    internal:external import:export buy:sell bought:sold hire:dismiss,fire arrive:depart,leave
    enter:leave appear:disappear male:female man:woman men:women king:queen father:mother son:daughter
    brother:sister husband:wife boy:girl true:false right:wrong safe:dangerous,unsafe legal:illegal
    guilty:innocent success:failure succeed:fail strong:weak stronger:weaker strengthen:weaken fast:slow
    faster:slower hot:cold warm:cool warmer:cooler rich:poor cheap:expensive easy:difficult,hard
    simple:complex public:private maximum:minimum positive:negative possible:impossible able:unable
    likely:unlikely present:absent include:exclude alive:dead survive:die above:below over:under
    major:minor majority:minority heavy:light heavier:lighter thick:thin wide:narrow add:remove
    connect:disconnect join:leave attack:defend love:hate remember:forget visible:invisible best:worst
    better:worse good:bad profit:loss surplus:deficit day:night morning:evening
"""


def _pairs() -> Iterator[tuple[str, str]]:
    for entry in _OPPOSITES.split():
        word, _, others = entry.partition(":")
        for other in others.split(","):
            yield stem(word), stem(other)
            yield stem(other), stem(word)


@cache
def opposites() -> Mapping[str, frozenset[str]]:
    """Return the stems of antonyms by stem."""
    by_stem: dict[str, set[str]] = {}
    for word, other in _pairs():
        if word != other:
            by_stem.setdefault(word, set()).add(other)
    return MappingProxyType({word: frozenset(others) for word, others in by_stem.items()})


_NUMBERED = re.compile(
    r"[ \t]*(?:\[\^?\d{1,4}(?:\s?[,;–-]\s?\^?\d{1,4}|,\s?\+more){0,40}\](?:\([^()\s]{1,2000}\))?"
    r"|【\d{1,4}[^【】\n]{0,80}】|\[LLM:\s?verify\])"
)
_LINK = re.compile(r'!?\[([^\[\]\n]{1,300})\]\([^()\s]{1,2000}(?:\s"[^"\n]{0,200}")?\)')
_MARK = re.compile(r"(?:(?:[-+*•‣◦▪●–—>]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+)+")
_HASHES = re.compile(r"#{1,6}(?:\s+|\Z)")
# A line entirely in bold is a heading, whether or not a blank line follows.
_BOLD_LINE = re.compile(
    r"^[ \t]*(?:[-+*•>]\s+|\d{1,3}[.)]\s+){0,3}(?P<bold>\*\*|__)(?P<words>[^*_\n]{1,200}?)(?P=bold):?[ \t]*$",
    re.MULTILINE,
)
_UNDERLINED = re.compile(r"[ \t]*\n[ \t]*(?:={3,}|-{3,})[ \t]*(?:\n|\Z)")
_EMPHASIS = re.compile(r"(?<!\s)\*+|\*+(?!\s)|__+|(?<!\w)_(?=\S)|(?<=\S)_(?!\w)|`+|~~")
_ENDED = re.compile(r"[.!?…。！？][\"'”’)\]*_]*\Z")


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of an answer on one line, without citations, list marks and Markdown."""

    text: str
    heading: bool = False


def answer_sentences(text: str) -> tuple[AnswerSentence, ...]:
    """Return the sentences and headings of an answer in order; list items and table rows are sentences.

    Citations (``[1]``, ``[2, 3]``, ``[Data: Reports (1, 2)]`` and variants) are removed before the text is
    split. Parts without a letter or digit, such as rules, are dropped.

    >>> [sentence.text for sentence in answer_sentences("# Ships [1]\\n- *Vega* sank [Data: Reports (2)].")]
    ['Ships', 'Vega sank.']
    """
    plain = _BOLD_LINE.sub(r"\n\g<0>\n", without_citations(text))
    sentences = []
    for span in sentence_spans(plain):
        raw = plain[span.start : span.end]
        words = _words_without_markup(raw)
        if any(map(str.isalnum, words)):
            below = _UNDERLINED.match(plain, span.end)
            underlined = below is not None and "\n" not in raw and not _ENDED.search(words)
            sentences.append(AnswerSentence(words, underlined or _is_heading(raw)))
    return tuple(sentences)


def without_citations(text: str) -> str:
    """Return a text without citations and the blanks before them; links keep their text."""
    return _LINK.sub(r"\1", _NUMBERED.sub("", rewrite_citations(text, {})))


def _is_heading(raw: str) -> bool:
    if _HASHES.match(raw):
        return True
    bold = _BOLD_LINE.fullmatch(raw)
    return bold is not None and not _ENDED.search(bold["words"].strip())


def _words_without_markup(raw: str) -> str:
    line = _HASHES.sub("", raw, count=1) if _HASHES.match(raw) else raw
    mark = _MARK.match(line)
    line = line[mark.end() :] if mark else line
    if line.startswith("|"):
        line = "; ".join(cell.strip() for cell in line.strip("| \t").split("|"))
    return " ".join(_EMPHASIS.sub("", line).split())
