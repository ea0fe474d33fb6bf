"""Things in a sentence that can answer: times, numbers, sums of money, people, places, reasons (English)."""

import re
from collections.abc import Collection, Iterator

from graphrag_dagster.engines.extractive.answering.wanted import Kind
from graphrag_dagster.engines.extractive.names import wordlists
from graphrag_dagster.engines.extractive.parsing.lexicon import KINDS, PERSON
from graphrag_dagster.kernel.text.similarity import stem, words
from graphrag_dagster.kernel.text.spans import Span

_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_COUNT = (
    r"(?:\d[\d,.]*\d|\d|half|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen"
    r"|fifteen|sixteen|seventeen|eighteen|nineteen|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
    r"(?:-\w+)?|dozens?|hundreds?|thousands?|millions?|billions?)"
)
_MANY = (
    rf"{_COUNT}(?:[ -](?:and a half|{_COUNT}|hundred|thousand|million|billion|trillion|percent|per cent))*"
)
_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_DATED = rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?"
_SPELL = r"(?:years?|months?|weeks?|days?|decades?|hours?|minutes?)"
_TIME = re.compile(
    rf"\b(?:(?:{_WEEKDAY},? (?:the )?)?(?:{_DATED})(?:,? \d{{4}})?|{_MONTH}(?: of)?,? \d{{4}}"
    rf"|in {_MONTH}(?!,? \d)"
    r"|(?:early |late |mid-?)?(?:the )?(?:1[0-9]|20)\d0s|(?:1[0-9]|20)\d\d(?:-\d\d){0,2}"
    r"|(?:[01]?\d|2[0-3]):[0-5]\d(?: ?[ap]\.?m\.?)?|yesterday|today|tomorrow"
    r"|(?:last|next|this) (?:week|month|year|night|summer|winter|spring|autumn|fall)"
    rf"|{_WEEKDAY}(?: (?:morning|evening|night))?|{_MANY} {_SPELL} (?:ago|later|earlier|before|after))\b"
    r"|['’‘]\d0s\b"
)
_MONEY = re.compile(
    rf"[$£€¥]\s?\d[\d,.]*(?: ?(?:thousand|million|billion|trillion|[kmb]n?\b))?|\b{_MANY} (?:crowns?|dollars?"
    r"|pounds?|euros?|cents?|yen|francs?|bucks|rupees?)\b|\b\d[\d,.]* ?(?:%|percent\b|per cent\b)"
)
_NUMBER = re.compile(rf"(?<![\w.,:/-])[$£€]?{_MANY}(?:%| ?percent\b)?(?![\w:/-])")
_WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d\Z")
_REASON = re.compile(
    r"\b(?:because|since|due to|owing to|thanks to|as a result|in order to|so that|so as to|the reason"
    r"|reasons? (?:is|was|why)|caused? by|led to|driven by|that['’]s why|therefore|wanted to|for fear"
    r"|on account of|arose from|started (?:in|by|when)|would have)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?:(?:[A-Z]\.)+ ?)?[A-Z][\w'’.-]*\w"
    r"(?:(?: (?:of|the|and|de|van|von|del|la|&|for)){0,2} (?:[A-Z]\. ?)?[A-Z0-9][\w'’-]*)*"
)
_CONTRACTED = re.compile(r"[A-Z]\w*['’](?:ve|m|ll|d|re)\b|(?:It|That|There|He|She|What)['’]s\b")
_POSSESSIVE = re.compile(r"['’]s\Z")
_NOT_NAMES = wordlists.NOT_NAMES | wordlists.CALENDAR | wordlists.NEVER_FIRST
_PLACE_BEFORE = re.compile(
    r"\b(?:in|at|on|near|from|to|of|off|into|outside|inside|around|beside|above|below|across|by|through)"
    r"(?: (?:the|a|an|his|her|their|its))?(?: [a-z]+){0,2} \Z"
)
_IS_A = re.compile(
    r"(?:\s*\([^)]*\))?(?:\s+(?:is|are|was|were)(?: (?:also|still|now|basically|really|essentially|just))?"
    r"\s+(?:an?|the|one|our|my|your|when|where|how|what|called|known|defined)\b"
    r"|\s+(?:means?|refers? to|stands for|consists? of)\b|, (?:an?|the|our|my|who is|which is)\b)"
)
#: Words of a sentence among which the name of what it defines ends.
_SUBJECT = 8


def things(kind: Kind, sentence: str, noun: str = "") -> list[Span]:
    """Return where a sentence names things of a kind, the likeliest first; nothing for kinds without names.

    Args:
        kind: what is wanted.
        sentence: with tidy white space, without the label of its speaker.
        noun: what is counted; numbers of it come first.
    """
    if kind == "time":
        every = [Span(*found.span()) for found in _TIME.finditer(sentence)]
        return sorted(every, key=lambda one: (one.start - one.end, one.start))
    if kind == "money":
        return [Span(*found.span()) for found in _MONEY.finditer(sentence)]
    if kind == "number":
        return _numbers(sentence, noun)
    if kind == "reason":
        return [Span(*found.span()) for found in _REASON.finditer(sentence)]
    if kind in {"person", "place"}:
        return list(_names(kind, sentence))
    return []


def defines(sentence: str, what: Collection[str]) -> bool:
    """Return whether a sentence says what something is: "Lyra Bank is a shallow …", "Rusk, the engineer, …".

    Args:
        sentence: without the label of its speaker.
        what: stems of the words of its name.
    """
    found = [(one.end(), stem(one[0].lower())) for one in list(_WORD.finditer(sentence))[:_SUBJECT]]
    last = max((place for place, (_, word) in enumerate(found) if word in what), default=None)
    if last is None or not set(what) <= {word for _, word in found}:
        return False
    return _IS_A.match(sentence, found[last][0]) is not None


def _numbers(sentence: str, noun: str) -> list[Span]:
    every = _NUMBER.finditer(sentence)
    found = [one for one in every if not _YEAR.match(one[0]) and not one[0][0].isupper()]
    wanted = stem(noun) if noun else ""
    counted = [
        one for one in found if wanted and wanted in {stem(word) for word in words(sentence[one.end() :])[:3]}
    ]
    return [Span(*one.span()) for one in [*counted, *(one for one in found if one not in counted)]]


def _names(kind: Kind, sentence: str) -> Iterator[Span]:
    for found in _NAME.finditer(sentence):
        parts = found[0].split()
        lower = parts[0].lower().strip(".'’")
        first = not sentence[: found.start()].strip("\"'“‘([ ")
        if lower in _NOT_NAMES or (first and len(parts) == 1 and kind == "place"):
            continue
        if first and len(parts) == 1 and lower not in wordlists.MALE_NAMES | wordlists.FEMALE_NAMES:
            continue
        if kind == "place" and not _PLACE_BEFORE.search(sentence[: found.start()]):
            continue
        if kind == "person" and any(KINDS.get(part.lower(), PERSON) != PERSON for part in parts):
            continue
        if any(part[0].isdigit() for part in parts) or _CONTRACTED.match(parts[0]):
            continue
        yield Span(found.start(), found.end() - len(_POSSESSIVE.findall(found[0])) * 2)
