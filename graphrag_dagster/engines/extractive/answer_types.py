"""The expected type of an answer, and the expressions in a sentence that are of it (English)."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from graphrag_dagster.engines.extractive.names import name_wordlists as wordlists
from graphrag_dagster.engines.extractive.parsing.type_lexicon import EVENT, GEO, KINDS, LAW, PERSON
from graphrag_dagster.kernel.retrieval.sentence_relevance import asked_words, asks_for_overview
from graphrag_dagster.kernel.text.english_words import STOP_WORDS, word_set
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.text_similarity import stem, words

#: ``other``: no kind of thing that a rule could look for.
Kind = Literal["person", "time", "number", "money", "place", "definition", "reason", "steps", "other"]
Shape = Literal["sentence", "list", "sides", "overview"]

_SIZES = "many much old long far tall high big large deep fast often wide heavy"
#: The first of these decides: what stands after it in another clause asks for nothing.
_ASKING = re.compile(
    rf"\b(?:how (?P<size>{'|'.join(_SIZES.split())})|how come|how|when|where|why|whom?|whose"
    r"|which|what)\b(?:(?:['’]s)?\s+(?P<next>[\w-]+))?",
    re.IGNORECASE,
)
_BY_WORD: dict[str, Kind] = {
    "when": "time",
    "where": "place",
    "why": "reason",
    "who": "person",
    "whom": "person",
    "whose": "person",
}
#: "How do I …", "how can one …" and "how to …" want what to do, often as code or as steps.
_HOW_TO = re.compile(
    r"\bhow (?:to|(?:do|can|could|should|must|would) (?:i|we|you|one|users?))\b", re.IGNORECASE
)
_TIMES = word_set("year date day month time decade century hour")
_NUMBERS = word_set("number share proportion percentage percent age size distance length height population")
_MONEY = re.compile(
    r"\b(?:cost|costs|price|pay|paid|spen[dt]|raised?|earn(?:ed)?|len[dt]|owe[ds]?|sold|sell|worth|money|salary|"
    r"fees?|fined?|funding|budget|revenue|profit|loan)\b",
    re.IGNORECASE,
)
#: "How much did it cost?", but no money: "How much of their time did they spend?", "How much oil was sold?"
_OF_MONEY = re.compile(
    r"much(?: (?:money|more|less|do|does|did|is|are|was|were|has|have|had|can|could|will|would|should"
    r"|must|may|might|in|per|for|the|an?)\b|\W*\Z)",
    re.IGNORECASE,
)
_PRICE = re.compile(r"\bwhat\b.*\b(?:cost|price|salary|fee|fine|budget)\b", re.IGNORECASE)
_CAUSES = word_set("cause caused causes led made prompted")
_DEFINITION = re.compile(
    r"\s*(?:what|who)(?:['’]s| is| are| was| were) (?!(?:(?:a|an|the) )?\S+ of\b)(?:(?:a|an|the) )?"
    r"(?:[\w'’.-]+ ){0,3}[\w'’.-]+\s*\?*\s*\Z"
    r"|.*\b(?:what does .+ mean|define|definition of|meaning of)\b",
    re.IGNORECASE,
)
#: "What was revenue?", "What is the gross margin?" want a figure; "What is profit?" asks what it is.
_MEASURED = re.compile(
    r"\s*what(?: was| were|(?:['’]s| is| are)(?= \S+ \S)) (?!an? )(?:\S+ ){0,5}?"
    r"(?:(?P<money>revenues?|income|profits?|earnings|sales|costs?|expenses?|expenditures?|spending|dividends?)"
    r"|(?:growth|margins?|rates?|share|headcount|turnover|volume))(?: (?:growth|rate))?\s*\?*\s*\Z",
    re.IGNORECASE,
)
_OF = re.compile(r"\s*what(?:['’]s| is| was| were| are) the (?P<noun>[\w-]+) of\b", re.IGNORECASE)
_LIST = re.compile(
    r"\s*(?:please |can you |could you )*(?:list|name|enumerate)\b"
    r"|\s*(?:what|who) (?:are|were) (?:all )?the\b",
    re.IGNORECASE,
)
_WHO_ALL = re.compile(
    r"\s*who (?:all )?(?:are|were|appear\w*|attended|took part|spoke|came)\b(?! you)", re.IGNORECASE
)
_BE_OR_DO = r"(?:do|does|did|is|are|was|were)"
#: The first that holds; ``topic``: in what the sides are compared, if the form says so.
_SIDES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?P<topic>.*)\b(?:differ\w*|distinction|comparison|choice) between (?P<a>.+?) and (?P<b>[^?]+)",
        r"\bcompar\w+ (?P<topic>\S+(?: \S+){0,5}) (?:of|in|for|at|by) (?P<a>[^?]+?) (?:and|with|to) "
        r"(?P<b>[^?]+)",
        r"\bcompar\w+ (?P<a>.+?) with (?P<b>[^?]+)",
        r"\bcompar\w+ (?P<a>.+?) (?:and|to) (?P<b>[^?]+)",
        rf"\bhow {_BE_OR_DO} (?P<a>.+?) (?:differ|different|compare) (?:from|with|to) (?P<b>[^?]+)",
        rf"\bhow {_BE_OR_DO} (?P<topic>.+?) (?:of|in|for|at|by) (?P<a>.+?) and (?P<b>.+?) "
        r"(?:compare|differ|different)\b",
        rf"\bhow {_BE_OR_DO} (?P<a>.+?) and (?P<b>.+?) (?:compare|differ|different)\b",
        r"(?:,|:|\b(?:more|better|rather|\w{2,}er)\b)[^,:?]{0,40}?[,:] ?(?P<a>[^,:?]+?),? or (?P<b>[^?]+)",
        r"(?P<a>(?:\S+ ){0,4}\S+) (?:versus|vs\.?) (?P<b>[^?]+)",
    )
)
#: What is said of both behind the second: "Boston and Dallas in terms of lending", "in April 2009".
_BEHIND = re.compile(
    r" (?:in terms of|when it comes to|regarding|concerning|with (?:regard|respect) to|as to|on|in|during) "
    r"(?P<topic>.+)",
    re.IGNORECASE,
)
_COMPARING = word_set(
    "differ differs difference differences differing distinction comparison choice compare between"
)
#: Nouns that say no more than the type of what is listed.
OF_ANY = word_set(
    """
    people persons individuals men women names companies organisations organizations firms institutions places
    countries cities towns villages locations ships vessels boats events
    """
)
_PLURALS = {"people": "person", "men": "man", "women": "woman", "children": "child"}


@dataclass(frozen=True, slots=True)
class AnswerType:
    """What an answer has to hold, and how it is laid out.

    ``kind``: of what a sentence must name to answer; ``noun``: what is counted or listed, lower case, blank
    where nothing is; ``type``: of the entities that are listed, blank for any; ``sides``: what is compared,
    ``topic``: in what, blank where the question does not say.
    """

    shape: Shape = "sentence"
    kind: Kind = "other"
    noun: str = ""
    type: str = ""
    sides: tuple[str, ...] = ()
    topic: str = ""


def answer_type_of(question: str) -> AnswerType:
    """Return what a question wants to hear, by its words alone.

    >>> answer_type_of("When did the strike end?").kind
    'time'
    >>> answer_type_of("Which companies are mentioned?").type
    'ORGANIZATION'
    """
    listed = _list_type(question)
    if listed and listed.type:
        return listed
    if asks_for_overview(question):
        return AnswerType("overview")
    return _sides(question) or _factual_type(question)


def _factual_type(question: str) -> AnswerType:
    asking = _ASKING.search(question)
    if measured := _MEASURED.match(question):
        return AnswerType(kind="money" if measured["money"] and "growth" not in words(question) else "number")
    if _DEFINITION.match(question):
        person = question.lstrip()[:3].lower() == "who"
        return AnswerType(kind="definition", type=PERSON if person else "")
    if not asking:
        return AnswerType()
    noun = (asking["next"] or "").lower()
    if asking["size"]:
        counted = noun if asking["size"].lower() == "many" else ""
        of_money = asking["size"].lower() == "much" and _OF_MONEY.match(question[asking.start("size") :])
        return AnswerType(kind="money" if of_money and _MONEY.search(question) else "number", noun=counted)
    first = words(asking[0])[0]
    of = _OF.match(question)
    return AnswerType(
        kind=_BY_WORD.get(first) or _kind_of(first, of["noun"].lower() if of else noun, question)
    )


def _kind_of(first: str, noun: str, question: str) -> Kind:
    """The kind of what a question with "what", "which" or "how" wants."""
    if first == "how":
        return "reason" if noun == "come" else "steps" if _HOW_TO.search(question) else "other"
    if noun in _TIMES:
        return "time"
    if noun in _NUMBERS:
        return "number"
    if noun in _CAUSES:
        return "reason"
    if KINDS.get(noun) == GEO or noun == "capital":
        return "place"
    if KINDS.get(noun) == PERSON:
        return "person"
    return "money" if _PRICE.search(question) else "other"


def _sides(question: str) -> AnswerType | None:
    for form in _SIDES:
        found = form.search(question)
        if not found or not words(found["a"]) or not words(found["b"]):
            continue
        first, second = found["a"].strip(), found["b"].strip(" .?")
        topic = [found.groupdict().get("topic") or ""]
        if behind := _BEHIND.search(second):
            second = second[: behind.start()]
            topic.append(behind["topic"])
        topic.append(_shared_noun(first, second))
        told = " ".join(word for word in " ".join(topic).split() if word.lower() not in _COMPARING)
        return AnswerType("sides", sides=(first, second), topic=" ".join(asked_words(told)))
    return None


def _shared_noun(first: str, second: str) -> str:
    """Return the noun of both sides that stands with the second: "basic and digest authentication"."""
    one, other = (
        [word for word in side.split() if word.lower() not in STOP_WORDS] for side in (first, second)
    )
    return other[-1] if len(one) == 1 and len(other) > 1 and other[-1].islower() else ""


def _list_type(question: str) -> AnswerType | None:
    """What is listed, where several of a kind are asked for: "Which companies …", "List the ships"."""
    if re.match(r"\s*(?:in |of |on )?(?:which|what)\b", question, re.IGNORECASE):
        asking = _ASKING.search(question)
        noun = (asking["next"] or "").lower() if asking else ""
        noun = noun if _plural(noun) else ""
    elif _LIST.match(question) or _WHO_ALL.match(question):
        noun = next((word for word in words(question) if _plural(word)), "")
    else:
        return None
    if not noun and _WHO_ALL.match(question):
        return AnswerType("list", noun="people", type=PERSON)
    return AnswerType("list", noun=noun, type=KINDS.get(_singular(noun), "")) if noun else None


def _plural(noun: str) -> bool:
    singular = _singular(noun)
    return singular != noun and (singular in KINDS or noun in _PLURALS)


def _singular(noun: str) -> str:
    if noun in _PLURALS:
        return _PLURALS[noun]
    for ending, instead in (("ies", "y"), ("ches", "ch"), ("sses", "ss"), ("xes", "x"), ("s", "")):
        if noun.endswith(ending) and len(noun) > len(ending) + 1:
            return noun.removesuffix(ending) + instead
    return noun


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
_AMOUNT = re.compile(
    r"(?:[$£€¥]|\b(?:USD|EUR|GBP|CHF|JPY)\b)\s?"
    r"\d[\d,.]*(?: ?(?:thousand|million|billion|trillion|[kmb]n?\b))?"
    rf"|\b{_MANY} (?:crowns?|dollars?|pounds?|euros?|cents?|yen|yuan|francs?|bucks|rupees?|shillings?|pence"
    r"|penn(?:y|ies)|guineas?|farthings?|r[ou]+bles?|kron(?:e|er|or)|pesos?|lire|dinars?)\b"
    r"|\b[\w-]*(?:two|three|six)pence\b|\b\d[\d,.]* ?(?:USD|EUR|GBP|CHF|JPY)\b"
)
_NUMBER = re.compile(rf"(?<![\w.,:/-])[$£€]?(?i:{_MANY})(?:%| ?percent\b)?(?![\w:/-])")
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
_BEFORE_NAME = r"(?: (?:the|a|an|his|her|their|its))?(?: [a-z]+){0,2} \Z"
_PLACE_BEFORE = re.compile(
    rf"\b(?:in|at|on|near|off|into|outside|inside|around|beside|above|below|across){_BEFORE_NAME}"
)
#: Before places, and before persons no less.
_EITHER_BEFORE = re.compile(rf"\b(?:from|to|of|by|through){_BEFORE_NAME}")
_FIRST_NAMES = wordlists.MALE_NAMES | wordlists.FEMALE_NAMES
_IS_A = re.compile(
    r"(?:\s*\([^)]*\))?(?:\s+(?:is|are|was|were)(?: (?:also|still|now|basically|really|essentially|just))?"
    r"\s+(?:an?|the|one|our|my|your|when|where|how|what|called|known|defined)\b"
    r"|\s+(?:means?|refers? to|stands for|consists? of)\b|, (?:an?|the|our|my|who is|which is)\b)"
)
#: Types of the index that no person has; it takes some persons for organisations.
_NO_PERSONS = frozenset({GEO, EVENT, LAW})
#: Words of a sentence among which the name of what it defines ends.
_SUBJECT = 8


def things_of_type(
    kind: Kind, sentence: str, noun: str = "", types: Mapping[str, str] = MappingProxyType({})
) -> list[Span]:
    """Return where a sentence names things of a kind, the likeliest first; nothing for kinds without names.

    Args:
        kind: what is wanted.
        sentence: with tidy white space, without the label of its speaker.
        noun: what is counted; numbers of it come first.
        types: of names that the index knows.
    """
    if kind == "time":
        every = [Span(*found.span()) for found in _TIME.finditer(sentence)]
        return sorted(every, key=lambda one: (one.start - one.end, one.start))
    if kind == "money":
        return [Span(*found.span()) for found in _AMOUNT.finditer(sentence)]
    if kind == "number":
        return _numbers(sentence, noun)
    if kind == "reason":
        return [Span(*found.span()) for found in _REASON.finditer(sentence)]
    if kind in {"person", "place"}:
        return list(_names(kind, sentence, types))
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


def numbers_of(sentence: str, noun: str) -> list[Span]:
    """Return where a sentence gives a number of something: "sixty-three people"."""
    wanted = stem(noun)
    return [
        span
        for span in _every_number(sentence)
        if wanted in {stem(word) for word in words(sentence[span.end :])[:3]}
    ]


def _numbers(sentence: str, noun: str) -> list[Span]:
    counted = numbers_of(sentence, noun) if noun else []
    return [*counted, *(one for one in _every_number(sentence) if one not in counted)]


def _every_number(sentence: str) -> list[Span]:
    found = (one for one in _NUMBER.finditer(sentence) if not _YEAR.match(one[0]) and one[0] != "One")
    return [Span(*one.span()) for one in found]


def _names(kind: Kind, sentence: str, types: Mapping[str, str]) -> Iterator[Span]:
    for found in _NAME.finditer(sentence):
        parts = found[0].split()
        lower = parts[0].lower().strip(".'’")
        first = not sentence[: found.start()].strip("\"'“‘([ ")
        if lower in _NOT_NAMES or (
            first and len(parts) == 1 and (kind == "place" or lower not in _FIRST_NAMES)
        ):
            continue
        span = Span(found.start(), found.end() - len(_POSSESSIVE.findall(found[0])) * 2)
        type_ = types.get(sentence[span.start : span.end], "")
        person = len(parts) > 1 and lower in _FIRST_NAMES
        if kind == "place" and (person or not _is_place(sentence[: found.start()], type_)):
            continue
        if kind == "person" and not person and (type_ in _NO_PERSONS or _names_a_kind(parts)):
            continue
        if any(part[0].isdigit() for part in parts) or _CONTRACTED.match(parts[0]):
            continue
        yield span


def _is_place(before: str, type_: str) -> bool:
    """Whether a name is of a place, by the words before it and its type in the index; blank: not known."""
    if type_ == GEO and _EITHER_BEFORE.search(before):
        return True
    return type_ != PERSON and _PLACE_BEFORE.search(before) is not None


def _names_a_kind(parts: Collection[str]) -> bool:
    return any(KINDS.get(part.lower(), PERSON) != PERSON for part in parts)
