"""Sentences in their context, and whether they can be quoted on their own (English)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.text.english_words import DANGLING, POINTING, STOP_WORDS, VERBS
from graphrag_dagster.kernel.text.markup_spans import mark_before, mark_behind, plain_text, time_before
from graphrag_dagster.kernel.text.text_similarity import stem, words

_NAME = r"(?:[A-Z][\w.'’-]*|\([^()]{1,40}\)|\[[^\[\]]{1,40}\]|of|de|van|von)"
_SPEAKER_LABEL = re.compile(rf"(?P<speaker>[A-Z][\w.'’-]*(?: {_NAME}){{0,6}}): +(?=\S)")
#: Speaker labels of chats: <anna>, anna:, @anna:, Анна:, and any name before a time: "~ anna (19:05):"
_CHAT = re.compile(
    r"(?:<@?(?P<framed>[\w.' -]{1,40})>:?|@?(?P<plain>[^\W\d_A-Z][\w.'’-]{1,30}):"
    r"|(?P<timed>\S[^\n:()]{0,80}) \(\d\d:\d\d\):) +(?=\S)"
)
_REMARK = re.compile(r"\s*[(\[].*?[)\]]")
_ASKS = re.compile(r"\?[\"'”’»)\]*_]*$")
_NO_SPEAKER = re.compile(
    r"(?:Note|Source|Figure|Table|Date|Time|Place|Present|Re|Subject|Question|Answer|Q|A|Example|Warning|Tip|Hint"
    r"|Important|Caution|Todo|Result|Summary|Usage|Default|Optional|Required|Returns?|Type|Name|Title|Author|Status"
    r"|Minutes|Agenda|Motion|Action|Decision|Link|Url|Tags?|Version|Options?|Examples)\Z",
    re.IGNORECASE,
)


def speaker_before(sentence: str) -> tuple[str, int]:
    """Return the speaker named by a label before a sentence, blank without one, and where the words begin.

    A time stamp may precede the label; lower-case names count if they are a single word.

    >>> speaker_before("ANNA RUIZ (VOICEOVER): The quay was built in 1908.")
    ('ANNA RUIZ', 23)
    """
    start = time_before(sentence)
    label = _SPEAKER_LABEL.match(sentence, start)
    if label:
        speaker = _REMARK.sub("", label["speaker"]).strip()
        return ("", label.end()) if _NO_SPEAKER.match(speaker) else (speaker, label.end())
    chat = _CHAT.match(sentence, start)
    if not chat:
        return "", 0
    speaker = chat["framed"] or chat["plain"] or chat["timed"]
    is_word = chat["plain"] is not None and (speaker.lower() in STOP_WORDS or _NO_SPEAKER.match(speaker))
    return ("", 0) if is_word else (speaker, chat.end())


def is_question(sentence: str) -> bool:
    """Return whether a sentence is a question."""
    return _ASKS.search(sentence) is not None


@dataclass(frozen=True, slots=True)
class SentenceLine:
    """A sentence in its context: its position in its row 0…, the size, number and title of the row.

    Lines of one row are consecutive. ``selected``: whether the question names the document.
    """

    text: str
    place: int
    size: int
    row: int
    title: str = ""
    selected: bool = False


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """The speaker of a line, blank if unknown, its words, their stems, and whether it is a question."""

    speaker: str
    said: str
    stems: tuple[str, ...]
    asks: bool


def turns(lines: Sequence[SentenceLine]) -> list[SpokenTurn]:
    """Return the turn of each line, with the speaker of the last label in its row."""
    spoken_turns: list[SpokenTurn] = []
    speaker, row = "", None
    for line in lines:
        label, start = speaker_before(line.text)
        if start or line.row != row:
            speaker, row = label, line.row
        said = line.text[start:]
        spoken_turns.append(SpokenTurn(speaker, said, tuple(map(stem, words(said))), is_question(said)))
    return spoken_turns


class ContextLines:
    """The rows that lines belong to.

    Args:
        lines: at least one.
    """

    def __init__(self, lines: Sequence[SentenceLine]) -> None:
        self._rows = np.array([line.row for line in lines])
        self._starts = np.flatnonzero(np.concatenate([[True], self._rows[1:] != self._rows[:-1]]))
        self._sizes = np.diff(np.append(self._starts, len(lines)))

    def shifted(self, held: Scores, distance: int) -> Scores:
        """Return the values of the line ``distance`` before (after, if negative) in the same row, else 0."""
        neighbours = np.zeros_like(held)
        ahead = slice(abs(distance), len(held))
        behind = slice(0, max(len(held) - abs(distance), 0))
        target, source = (ahead, behind) if distance > 0 else (behind, ahead)
        neighbours[target] = held[source] * (self._rows[target] == self._rows[source])[:, None]
        return neighbours

    def best(self, held: Scores) -> Scores:
        """Return for each line the maximum over the lines of its row."""
        return self._of_all(np.maximum.reduceat(held, self._starts, axis=0))

    def sums(self, held: Scores) -> Scores:
        """Return for each line the sum over the lines of its row."""
        return self._of_all(np.add.reduceat(held, self._starts, axis=0))

    def _of_all(self, by_row: Scores) -> Scores:
        repeated: Scores = np.repeat(by_row, self._sizes, axis=0)
        return repeated


_END = re.compile(r"[.!?…؟۔।॥።。！？｡][\"'”’»)\]」』）】*_]*$")
_QUESTION = re.compile(r"[?？؟][\"'”’»)\]」』）*_]*$")
_LABEL = re.compile(r"(?P<name>[^\W_][\w.'’()/&-]{0,30}(?: [\w.'’()/&-]{1,30}){0,4}):\s+(?=\S)")
_HASHES = re.compile(r"\s*#{1,6}\s")
#: Lines that are not prose: rules, fences, directives, anchors, prompts, imports.
_NO_WORDS = re.compile(
    r"```|~~~|::|\.\. |>>>|\$ |\.\.\. |[\[:#]|\(:|-- \w|@\w+\b(?!:)|async def "
    r"|(?:import|export|from|def|class|return|async|const|let|var) [\w{*][^.!?]*$"
    r"|[\w.\[\]\"']+(?:\[[^\]]*\])? ?(?:[-+*:|]?=|=>|->) |\w+\([^)]*\)[.:]?$"
)
_WORD = re.compile(r"[^\W_]")
_SYMBOL = re.compile(r"[{}\[\]<>=_\\|$#@^~;/]")
_CASED = re.compile(r"[A-Za-zß-öø-ÿÀ-ÖØ-Þα-ωа-яА-Я]")
_EAST_ASIAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
#: A name with a lower-case first letter: iPhone, x-api-key, httpx.Client.
_SMALL_NAME = re.compile(r"[a-z][\w.-]*[A-Z0-9_./-]\w")
_OPENING = "\"'“‘«([*_"
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|we|us|our|myself|ourselves)\b")
_SPEECH = re.compile(r"[“\"‘'].*[”\"’']", re.DOTALL)
_LINK = re.compile(r"https?://|www\.|\S@\S+\.\w|\w\.(?:txt|md|pdf|html?|docx|csv|json)\b")
_SPEAKER = re.compile(r"\b[A-Z][A-Z.'’-]+(?: [A-Z][A-Z.'’-]+){0,3}:\s+")
#: Courtesies and phrases that open, close and lead a conversation.
_COURTESY = re.compile(
    r"\b(?:welcome (?:to|back)|thank(?:s| you)\b|good (?:morning|afternoon|evening)"
    r"|(?:i['’]m|i am) your (?:co-?)?host|next time on|coming up|stay tuned|tune in|after the break"
    r"|nice to (?:meet|see|have)|glad to (?:be|have)|pleased to (?:introduce|have)|joining (?:us|me)"
    r"|(?:great|good|happy|pleased|delighted|excited|thrilled|pleasure|honou?red)(?: for me)? to"
    r" (?:be (?:here|back|with you|on (?:the|this|your))|(?:meet|see|have|talk to|talk with) you|introduce)"
    r"|pleasure of (?:meeting|having|talking)|my pleasure|congrat\w*|message us"
    r"|(?:amazing|great|fascinating|wonderful|fantastic) conversation"
    r"|let['’]s (?:get|dive|jump|switch|move|go|hear|chat|meet)\b|was \w+['’]s (?:conversation|interview)"
    r"|my time with|(?:we|i)(?:['’]ll| will| shall)? now (?:go|move|turn|call|invite|carry on)|point of order"
    r"|hon(?:ou?rable|\.)? member for|see you next|send us|email us|subscribe)",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\b(?:you know|i mean|sort of|kind of)\b|, like,|-- |— ?(?:and|I|you|like)\b", re.IGNORECASE
)
_SHORT, _LONG = 8, 45
#: Factors: lower-case first letter, item or entry without closing mark, sentence that introduces what
#: follows, all capitals, and a line that is neither item nor entry.
_SMALL, _ITEM, _LEADING, _CAPITALS, _LINE = 0.7, 0.6, 0.5, 0.3, 0.3
_NO_VERB = 0.3
#: Endings of a line that continues.
_CUT = (",", ";", "-", "(", "[", "{", "/", "&")
_GOES_ON = re.compile(
    r"(?:\b(?:a|an|the|of|and|or|but|to|with|by|from|as|that|which|who)|[–—])\Z", re.IGNORECASE
)
_FEWEST, _FEWEST_OF_ITEM, _FEWEST_OF_ENTRY, _FEWEST_WITH_VERB = 4, 3, 2, 2
#: Share of symbols among the characters from which a text counts as code.
_CODE, _CODE_ENDED = 0.08, 0.2
#: Characters per word in a script without blanks.
_TO_A_WORD = 2


def tidy(text: str) -> str:
    """Return a text with all white space collapsed to single blanks."""
    return " ".join(text.split())


@lru_cache(maxsize=50_000)
def readability(sentence: str) -> float:
    """Return the readability from 0 (markup, code, a fragment) to 1 (a sentence that names its subject).

    Markup of Markdown, reStructuredText, HTML and templates is removed first. List items, entries such as
    ``Treasurer: Jane Doe``, table rows and lines without a closing mark score lower than sentences.

    Args:
        sentence: with collapsed white space.
    """
    mark = mark_before(sentence)
    text = plain_text(sentence[mark : len(sentence) - mark_behind(sentence)])
    text = text[time_before(text) :]
    ended = _END.search(text) is not None
    if not text or _is_code(text, ended=ended):
        return 0.0
    tokens = text.split()
    label = _LABEL.match(text)
    words_said = text[max(speaker_before(text)[1], label.end() if label else 0) :]
    count, foreign = sum(1 for token in tokens if _WORD.search(token)), False
    if not text.isascii():
        count += len(_EAST_ASIAN.findall(text)) // _TO_A_WORD
        foreign = 2 * len(_CASED.findall(text)) < sum(map(str.isalpha, text))
    verb_factor = 1.0 if foreign else _verb_score(tokens)
    form = _form(
        sentence[:mark],
        text,
        words_said,
        ended=ended,
        entry=label is not None,
        count=count,
        sound=verb_factor,
    )
    return form and form * verb_factor * _standalone_score(text, words_said.lstrip(_OPENING)) * _length(count)


def _form(mark: str, text: str, said: str, *, ended: bool, entry: bool, count: int, sound: float) -> float:
    """Return the factor of a sentence by its markup and letters."""
    letters = sum(map(str.isalpha, said))
    if 3 * letters < len("".join(said.split())) or not letters:
        return 0.0
    item = bool(mark.strip()) and not _HASHES.match(mark)
    fewest = _FEWEST_OF_ENTRY if entry else _FEWEST_OF_ITEM if item else _FEWEST
    if count < (_FEWEST_WITH_VERB if ended and sound == 1 else fewest):
        return 0.0
    is_capitals = 2 * sum(map(str.isupper, said)) > letters
    if ended:
        return _CAPITALS if is_capitals else 1.0 if item or begins_sentence(text) else _SMALL
    if is_capitals and not item and not entry:
        return 0.0
    if text.endswith(":"):
        return _LEADING if count > _FEWEST else 0.0
    if not item and (text.endswith(_CUT) or (count < _SHORT and _GOES_ON.search(text))):
        return 0.0
    if item or entry:
        return _ITEM if begins_sentence(text) or item else _LINE
    return _LINE if sound > _NO_VERB else 0.0


def begins_sentence(text: str) -> bool:
    """Return whether a sentence without markup begins like one: not with an ordinary lower-case word."""
    stripped = text[speaker_before(text)[1] :].lstrip(_OPENING + "¿¡«‹")
    return not stripped[:1].islower() or _SMALL_NAME.match(stripped) is not None


def is_whole(sentence: str) -> bool:
    """Return whether the first letter and the closing mark show that a sentence is complete."""
    text = plain_text(sentence[mark_before(sentence) :])
    return begins_sentence(text) and _END.search(text) is not None


def _is_code(text: str, *, ended: bool) -> bool:
    symbols = len(_SYMBOL.findall(text)) / len(text)
    return symbols > (_CODE_ENDED if ended else _CODE) or _NO_WORDS.match(text) is not None


def refers_back(said: str) -> bool:
    """Return whether a sentence, without its speaker label, refers to what was said before it."""
    first = (said.lstrip(_OPENING).split() or [""])[0].strip(",.;:!?—–-").lower()
    return first in POINTING


def label_before(text: str) -> int:
    """Return the length of a speaker label that a sentence does not need.

    It is needed if the sentence says "I" or "we", since nobody else would know who that is, and in entries
    such as ``Treasurer: Jane Doe``, which are no sentences without it.
    """
    start = speaker_before(text)[1]
    needed = not _END.search(text) or _FIRST_PERSON.search(_SPEECH.sub("", text[start:]))
    return 0 if needed else start


def _verb_score(tokens: list[str]) -> float:
    """Return the verb score: a sentence needs a verb, and lists of names have none."""
    stripped = [token.strip(_OPENING + ".,;:!?”’)]").replace("’", "'") for token in tokens]
    if any(word in VERBS or (word.endswith("ed") and word.islower()) for word in stripped):
        return 1.0
    return 0.7 if any(word.endswith("s") and word.islower() for word in stripped[1:]) else _NO_VERB


def _standalone_score(sentence: str, bare: str) -> float:
    """Return how well a sentence is understood without its context."""
    score = 1.0
    first = (bare.split() or [""])[0].strip(",.;:!?—–-").lower().replace("’", "'").split("'")[0]
    if first in DANGLING:
        score *= 0.3
    elif _FIRST_PERSON.search(_SPEECH.sub("", sentence)):
        score *= 0.6
    if _QUESTION.search(sentence):
        score *= 0.2
    if _COURTESY.search(bare):
        score *= 0.2
    score *= 0.75 ** len(_FILLER.findall(bare))
    if _LINK.search(sentence) or _SPEAKER.search(bare):
        score *= 0.3
    if sentence.count("“") != sentence.count("”") or sentence.count('"') % 2:
        score *= 0.3
    if sentence.count("(") != sentence.count(")") or " -- " in sentence or sentence.count("*") % 2:
        score *= 0.5
    return score


def _length(count: int) -> float:
    if count < _SHORT:
        return 0.7
    return 1.0 if count <= _LONG else max(0.15, (_LONG / count) ** 2)
