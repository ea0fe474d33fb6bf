"""Whether and how well a sentence can be quoted on its own (English)."""

import re
from functools import lru_cache

from graphrag_dagster.core.text.english_words import DANGLING, POINTING, VERBS
from graphrag_dagster.core.text.turns import speaker_before

_END = re.compile(r"[.!?…][\"'”’»)\]*_]*$")
_QUESTION = re.compile(r"\?[\"'”’»)\]*_]*$")
_MARK = re.compile(r"\s*(?:(?:[-*+•‣◦▪●–—>]|\(?(?:\d{1,3}|[a-z])[.)])\s+)+(?=[\"'“‘«(]?[^\W\d_])")
_HEADING = re.compile(r"#{1,6}\s|\||```|<!--")
_OPENING = "\"'“‘«([*_"
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|we|us|our|myself|ourselves)\b")
_SPEECH = re.compile(r"[“\"‘'].*[”\"’']", re.DOTALL)
_LINK = re.compile(r"https?://|www\.|\S@\S+\.\w|\w\.(?:txt|md|pdf|html?|docx|csv|json)\b")
_SPEAKER = re.compile(r"\b[A-Z][A-Z.'’-]+(?: [A-Z][A-Z.'’-]+){0,3}:\s+")
#: What is said to begin, to end and to lead a conversation, and tells nothing.
_COURTESY = re.compile(
    r"\b(?:welcome (?:to|back)|thank(?:s| you)\b|good (?:morning|afternoon|evening)"
    r"|(?:i['’]m|i am) your (?:co-?)?host|next time on|coming up|stay tuned|tune in|after the break"
    r"|nice to (?:meet|see|have)|glad to (?:be|have)|pleased to (?:introduce|have)|joining us"
    r"|let['’]s (?:get|dive|jump|switch|move|go|hear|chat|meet)\b|was \w+['’]s (?:conversation|interview)"
    r"|my time with|(?:we|i)(?:['’]ll| will| shall)? now (?:go|move|turn|call|invite|carry on)|point of order"
    r"|hon(?:ou?rable|\.)? member for|see you next|send us|email us|subscribe)",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\b(?:you know|i mean|sort of|kind of)\b|, like,|-- |— ?(?:and|I|you|like)\b", re.IGNORECASE
)
_SHORT, _LONG = 8, 45


def tidy(text: str) -> str:
    """Return a text with single blanks for all white space."""
    return " ".join(text.split())


def mark_before(text: str) -> int:
    """Return how many characters of list mark stand before the sentence: bullets, ``3.``, ``(b)``.

    >>> mark_before("3. The board met.")
    3
    """
    found = _MARK.match(text)
    return found.end() if found else 0


@lru_cache(maxsize=50_000)
def readability(sentence: str) -> float:
    """Return from 0 (a fragment, not to be quoted) to 1 (a whole sentence that names its subject).

    Args:
        sentence: with tidy white space and without a list mark.
    """
    tokens = sentence.split()
    bare = sentence[speaker_before(sentence)[1] :].lstrip(_OPENING)
    if len(tokens) < 4 or not _END.search(sentence) or _HEADING.match(sentence):
        return 0.0
    if not (bare[:1].isupper() or bare[:1].isdigit()) or sum(map(str.islower, sentence)) < len(sentence) / 3:
        return 0.0
    return _sound(tokens) * _standing(sentence, bare) * _length(len(tokens))


def dangles(said: str) -> bool:
    """Return whether a sentence, without its speaker's label, points at what was said before it."""
    first = (said.lstrip(_OPENING).split() or [""])[0].strip(",.;:!?—–-").lower()
    return first in POINTING


def label_before(text: str) -> int:
    """Return how many characters of a speaker's label stand before a sentence that needs none.

    One that speaks of "I" or "we" does: without it nobody knows who that is.
    """
    start = speaker_before(text)[1]
    return 0 if _FIRST_PERSON.search(_SPEECH.sub("", text[start:])) else start


def _sound(tokens: list[str]) -> float:
    """A sentence needs a verb; lists of names have none."""
    small = [token.strip(_OPENING + ".,;:!?”’)]").replace("’", "'") for token in tokens]
    if any(word in VERBS or (word.endswith("ed") and word.islower()) for word in small):
        return 1.0
    return 0.7 if any(word.endswith("s") and word.islower() for word in small[1:]) else 0.3


def _standing(sentence: str, bare: str) -> float:
    """What is said must be clear without the sentences around it."""
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
