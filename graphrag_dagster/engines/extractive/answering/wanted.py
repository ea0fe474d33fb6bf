"""What a question wants to hear: a person, a time, a number, a list, two sides, the whole (English)."""

import re
from dataclasses import dataclass
from typing import Literal

from graphrag_dagster.engines.extractive.parsing.lexicon import GEO, KINDS, PERSON, words_of
from graphrag_dagster.kernel.retrieval.reranking.answer_features import asks_for_overview
from graphrag_dagster.kernel.text.similarity import words

#: ``other``: no kind of thing that a rule could look for.
Kind = Literal["person", "time", "number", "money", "place", "definition", "reason", "other"]
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
_TIMES = words_of("year date day month time decade century hour")
_NUMBERS = words_of("number share proportion percentage percent age size distance length height population")
_MONEY = re.compile(
    r"\b(?:cost|costs|price|pay|paid|spen[dt]|raised?|earn(?:ed)?|len[dt]|owe[ds]?|sold|sell|worth|money|salary|"
    r"fees?|fined?|funding|budget|revenue|profit|loan)\b",
    re.IGNORECASE,
)
_PRICE = re.compile(r"\bwhat\b.*\b(?:cost|price|salary|fee|fine|budget)\b", re.IGNORECASE)
_CAUSES = words_of("cause caused causes led made prompted")
_DEFINITION = re.compile(
    r"\s*(?:what|who)(?:['’]s| is| are| was| were) (?!(?:(?:a|an|the) )?\S+ of\b)(?:(?:a|an|the) )?"
    r"(?:[\w'’.-]+ ){0,3}[\w'’.-]+\s*\?*\s*\Z"
    r"|.*\b(?:what does .+ mean|define|definition of|meaning of)\b",
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
_SIDES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\b(?:differ\w*|distinction|comparison|choice) between (?P<a>.+?) and (?P<b>[^?]+)",
        r"\bcompar\w+ (?P<a>.+?) (?:and|with|to) (?P<b>[^?]+)",
        r"\bhow (?:do|does|did|is|are|was|were) (?P<a>.+?) (?:differ|different|compare) (?:from|with|to) "
        r"(?P<b>[^?]+)",
        r"(?:,|:|\b(?:more|better|rather|\w{2,}er)\b)[^,:?]{0,40}?[,:] ?(?P<a>[^,:?]+?),? or (?P<b>[^?]+)",
        r"(?P<a>(?:\S+ ){0,4}\S+) (?:versus|vs\.?) (?P<b>[^?]+)",
    )
)
#: Nouns that say no more than the type of what is listed.
OF_ANY = words_of(
    """
    people persons individuals men women names companies organisations organizations firms institutions places
    countries cities towns villages locations ships vessels boats events
    """
)
_PLURALS = {"people": "person", "men": "man", "women": "woman", "children": "child"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an answer has to hold, and how it is laid out.

    ``kind``: of what a sentence must name to answer; ``noun``: what is counted or listed, lower case, blank
    where nothing is; ``type``: of the entities that are listed, blank for any; ``sides``: what is compared.
    """

    shape: Shape = "sentence"
    kind: Kind = "other"
    noun: str = ""
    type: str = ""
    sides: tuple[str, ...] = ()


def wanted(question: str) -> Wanted:
    """Return what a question wants to hear, by its words alone.

    >>> wanted("When did the strike end?").kind
    'time'
    >>> wanted("Which companies are mentioned?").type
    'ORGANIZATION'
    """
    listed = _listed(question)
    if listed and listed.type:
        return listed
    if asks_for_overview(question):
        return Wanted("overview")
    if sides := _sides(question):
        return Wanted("sides", sides=sides)
    return _factual(question)


def _factual(question: str) -> Wanted:
    asking = _ASKING.search(question)
    if _DEFINITION.match(question):
        person = question.lstrip()[:3].lower() == "who"
        return Wanted(kind="definition", type=PERSON if person else "")
    if not asking:
        return Wanted()
    noun = (asking["next"] or "").lower()
    if asking["size"]:
        much = asking["size"].lower() == "much"
        counted = noun if asking["size"].lower() == "many" else ""
        return Wanted(kind="money" if much and _MONEY.search(question) else "number", noun=counted)
    first = words(asking[0])[0]
    of = _OF.match(question)
    return Wanted(kind=_BY_WORD.get(first) or _kind_of(first, of["noun"].lower() if of else noun, question))


def _kind_of(first: str, noun: str, question: str) -> Kind:
    """The kind of what a question with "what", "which" or "how" wants."""
    if first == "how":
        return "reason" if noun == "come" else "other"
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


def _sides(question: str) -> tuple[str, ...]:
    for form in _SIDES:
        found = form.search(question)
        if found and words(found["a"]) and words(found["b"]):
            return found["a"].strip(), found["b"].strip(" .?")
    return ()


def _listed(question: str) -> Wanted | None:
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
        return Wanted("list", noun="people", type=PERSON)
    return Wanted("list", noun=noun, type=KINDS.get(_singular(noun), "")) if noun else None


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
