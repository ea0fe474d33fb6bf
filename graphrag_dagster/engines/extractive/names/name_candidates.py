"""Candidate names of a unit: runs of capitalised words, confirmed and extended by the recogniser."""

import re
from collections import Counter
from dataclasses import dataclass

from graphrag_dagster.engines.extractive.names import name_wordlists as wordlists
from graphrag_dagster.engines.extractive.names.name_runs import (
    find_runs,
    is_proper,
    opens_sentence,
    quoted_titles,
)
from graphrag_dagster.engines.extractive.names.name_wordlists import is_capital
from graphrag_dagster.engines.extractive.names.unusual_names import find_unusual_names
from graphrag_dagster.engines.extractive.parsing import type_lexicon as lexicon
from graphrag_dagster.engines.extractive.parsing.sentence_reading import ReadableText
from graphrag_dagster.engines.extractive.parsing.spacy_pipeline import Tokens
from graphrag_dagster.engines.extractive.parsing.type_lexicon import LABELS

_NUMBERS = frozenset({"DATE", "TIME", "MONEY", "PERCENT", "QUANTITY", "CARDINAL", "ORDINAL"})
_PEOPLES = frozenset({"NORP", "LANGUAGE"})
_LOOSE_TAGS = frozenset({"IN", "DT", "CC"})
_MOST_WORDS = 9
_LONGEST_LOUD = 4
_ADMINISTRATIVE = frozenset({"city", "county", "district", "parish", "province", "region", "ward"})
#: Characters that no name has: remains of tables, code and quotations.
_UNFIT = re.compile(r"""[,;:!?"“”«»<>{}\[\]()|\\=*#@^~_]|\A[a-z]['’]|\.\.|\d{4}-\d|\s\d\d+\s|-\Z|\A-""")
#: Marks that belong to names: a suffix after a comma, a nickname inside.
_FIT = re.compile(r""",(?= \S{2,5}\Z)|(?<=[\w.] )(?:["“(«]|``) [^\W\d_][\w.' ]* (?:["”)»]|'')(?= \w)""")


@dataclass(slots=True)
class NameCandidate:
    """Words ``first`` … ``last - 1`` that may be a name.

    ``label`` is the type the recogniser gives, or None. ``weight`` says how sure it is that this is a name:
    2 makes the words an entity of the unit, 1 does so together with another, 0 counts only where they, or a
    longer name that they stand for, are an entity already. ``title`` is what was stripped.
    """

    first: int
    last: int
    label: str | None
    weight: int
    title: str | None = None

    def words(self, tokens: Tokens) -> list[str]:
        """The words in small letters."""
        return [word.lower() for word in tokens.words[self.first : self.last]]


def find_candidates(tokens: Tokens, reading: ReadableText) -> list[NameCandidate]:
    """Return what may be names, in the order of the text."""
    found = []
    common = {word for word in tokens.words if word.islower()}
    small = f" {' '.join(tokens.words)} "
    titles = quoted_titles(tokens)
    for run in find_runs(tokens, titles):
        if run in titles:
            found.append(_title_candidate(tokens, reading, *run))
            continue
        for title, start, end in _split(tokens, *run):
            first, last = _trim(tokens, start, end)
            if first < last and _is_fit(tokens, reading, first, last):
                found.append(_candidate(tokens, reading, title, first, last, common, small))
    kept = [candidate for candidate in found if candidate]
    taken = {place for one in kept for place in range(one.first, one.last)}
    unusual = [
        NameCandidate(first, last, None, weight)
        for first, last, weight in find_unusual_names(tokens, reading, taken)
    ]
    if not unusual:
        return kept
    inside = {place for one in unusual for place in range(one.first, one.last)}
    kept = [one for one in kept if inside.isdisjoint(range(one.first, one.last))]
    return sorted(kept + unusual, key=lambda one: one.first)


def _title_candidate(tokens: Tokens, reading: ReadableText, first: int, last: int) -> NameCandidate | None:
    """A title in marks: a work, where the recogniser does not take all of it for something else."""
    if reading.sentences[tokens.sentences[first]].shouted:
        return None
    labels = set(tokens.labels[first:last])
    alike = LABELS.get(labels.pop()) if len(labels) == 1 else None
    return NameCandidate(first, last, alike or lexicon.WORK, 2)


def _strip_marks(word: str) -> str:
    return word.lower().rstrip(".")


def _split(tokens: Tokens, first: int, last: int) -> list[tuple[str | None, int, int]]:
    """Cut a run at titles: ("Apple CEO Tim Cook") gives Apple and, after the role, Tim Cook."""
    parts: list[tuple[str | None, int, int]] = []
    title: str | None = None
    start = place = first
    while place < last:
        end = place
        while end < last and _is_title(tokens, end, last, inside=place > start):
            end += 1
        if end == place:
            place += 1
            continue
        parts.append((title, start, place))
        found = _strip_marks(tokens.words[end - 1])
        title = None if found in wordlists.ROLES else found
        start = place = end
    parts.append((title, start, last))
    return parts


def _is_title(tokens: Tokens, place: int, last: int, *, inside: bool) -> bool:
    word = _strip_marks(tokens.words[place])
    if word in wordlists.TITLES:
        return True
    if place + 1 >= last or tokens.words[place + 1].lower() == "of":
        return False
    if word in wordlists.ROLES:
        return True
    if word not in wordlists.POSSIBLE_TITLES:
        return False
    rest = range(place + 1, last)
    if sum(tokens.labels[at] == "PERSON" for at in rest) * 2 > len(rest):
        return True
    if inside:
        return False
    more = _strip_marks(tokens.words[place + 1]) in wordlists.POSSIBLE_TITLES
    if more and _is_title(tokens, place + 1, last, inside=False):
        return True
    return len(rest) == 2 and _strip_marks(tokens.words[last - 1]) not in lexicon.KINDS


def _trim(tokens: Tokens, first: int, last: int) -> tuple[int, int]:
    """Leave off words and marks at the edges that belong to the sentence, not to the name."""
    while first < last:
        word = tokens.words[first]
        titled = tokens.labels[first] == "WORK_OF_ART" and last - first > 2 and tokens.tags[first] != "DT"
        if word[0].isalnum() and (titled or word.lower() not in wordlists.NEVER_FIRST or word.isupper()):
            break
        first += 1
    while last > first and (
        tokens.tags[last - 1] in _LOOSE_TAGS or not any(map(str.isalnum, tokens.words[last - 1]))
    ):
        last -= 1
    told = last - first > 1 and tokens.words[first].lower() in wordlists.INSTRUCTIONS
    first += told and opens_sentence(tokens, first)
    if last - first > 1 and _is_shared_plural(tokens, first, last):
        last -= 1
    rest = range(first + 1, last)
    if rest and tokens.words[first].lower() in wordlists.EPITHETS:
        people = sum(tokens.labels[place] == "PERSON" for place in rest)
        if people * 2 > len(rest) or tokens.words[last - 1].lower() in lexicon.HOLIDAYS:
            first += 1
    # "Guitarist Jimmy Page", "Jamaican Roger Mais".
    said_of = rest and (tokens.words[first].lower() in lexicon.PEOPLE or tokens.labels[first] in _PEOPLES)
    if said_of and len(rest) > 1 and all(tokens.labels[place] == "PERSON" for place in rest):
        first += 1
    return first, last


def _is_shared_plural(tokens: Tokens, first: int, last: int) -> bool:
    """Whether the last word is of several names: "the Port Ellery and Kelderwick Districts"."""
    word, before = tokens.words[last - 1].lower(), first - 1
    plural = word not in lexicon.HEADS and _singular(word) in lexicon.HEADS
    joined = tokens.same_sentence(before, first) and tokens.words[before].lower() in {"and", "or", "&"}
    return plural and joined and is_capital(tokens.words[before - 1])


def _is_fit(tokens: Tokens, reading: ReadableText, first: int, last: int) -> bool:
    """Whether the words can be a name at all."""
    words = tokens.words[first:last]
    if len(words) > _MOST_WORDS or not any(map(is_capital, words)):
        return False
    # Headlines in capitals; names in capitals are short.
    if len(words) > _LONGEST_LOUD and all(map(str.isupper, words)):
        return False
    joined = " ".join(words)
    if sum(map(str.isalpha, joined)) < 2 or _UNFIT.search(_FIT.sub("", joined)):
        return False
    if len(words) > 1 and len({word.lower() for word in words}) == 1:
        return False
    if all(label in _PEOPLES for label in tokens.labels[first:last]):
        return False
    return not reading.sentences[tokens.sentences[first]].shouted


def _candidate(
    tokens: Tokens,
    reading: ReadableText,
    title: str | None,
    first: int,
    last: int,
    common: set[str],
    text: str,
) -> NameCandidate | None:
    words = [word.lower() for word in tokens.words[first:last]]
    labels = tokens.labels[first:last]
    label = _label(labels)
    if words[-1] in lexicon.HOLIDAYS or (words[0] in lexicon.HOLIDAYS and words[-1] in {"day", "eve"}):
        label = lexicon.EVENT
    numbers = sum(given in _NUMBERS for given in labels) * 2 > len(labels)
    if label is None and numbers and words[-1] not in lexicon.HEADS:
        return None
    if _may_be_cut(tokens, reading, first, last) or _is_office(words, label):
        weight = 0
    elif len(words) == 1:
        weight = _weight_of_one(tokens, reading, label, first)
        # A word that the unit also writes small is hardly a name.
        weight -= weight > 0 and words[0] in common
    else:
        loud = all(map(str.isupper, tokens.words[first:last]))
        running = reading.sentences[tokens.sentences[first]].running
        weight = 2 if running and (label or not loud) else int(label is not None)
        # "Real Estate" above what speaks of "real estate"; a heading before "Residential contractors".
        if f" {' '.join(words)} " in text:
            weight = 0
        elif common.issuperset(words) and opens_sentence(tokens, first):
            weight -= weight > 0
    if tokens.begins[first] in reading.code:
        weight = int(weight > 0 and _is_identifier(tokens.words[first:last]))
    if title and label == lexicon.PERSON:
        weight = 2
    return NameCandidate(first, last, label, weight, title)


def _is_identifier(words: list[str]) -> bool:
    """Whether a word is put together of several, as names in programs are: ``AsyncClient``."""
    return len(words) == 1 and re.search(r"[a-z][A-Z]", words[0]) is not None


def _label(labels: list[str]) -> str | None:
    votes = Counter(LABELS[label] for label in labels if label in LABELS)
    return min(votes, key=lambda kind: (-votes[kind], kind)) if votes else None


def _may_be_cut(tokens: Tokens, reading: ReadableText, first: int, last: int) -> bool:
    """Whether the unit may begin or end inside this name; the neighbouring unit then has it whole."""
    sentence = reading.sentences[tokens.sentences[first]]
    at_end = last == len(tokens) and not sentence.ended
    # "ath Energy": the first word is the end of one, the second may belong to it.
    at_start = reading.begins_inside and first <= reading.text[:1].islower()
    return at_start or (at_end and len(sentence.written.split()) > last - first)


def _is_office(words: list[str], label: str | None) -> bool:
    """Whether the words say what somebody is: "Chief Engineer", "Senior Cloud Advocate"."""
    if all(word in wordlists.ROLE_WORDS or len(word) == 1 or not word[0].isalpha() for word in words):
        return True
    if words[-1] in wordlists.OFFICES and not wordlists.RANKS.isdisjoint(words):
        return True
    return words[-1] in wordlists.OFFICES and label in {None, lexicon.ORGANIZATION, lexicon.PRODUCT}


def _is_generic(word: str) -> bool:
    """Whether a word, in the plural or not, says no more than what kind of thing there is."""
    if word in wordlists.GENERIC:
        return True
    return _singular(word) in wordlists.GENERIC and word not in lexicon.SURNAMES


def _singular(word: str) -> str:
    """The singular of a plural of people, bodies or districts; other words as they are (Twin Lakes)."""
    if not word.endswith("s"):
        return word
    singular = f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")
    place = lexicon.HEADS.get(singular) == lexicon.GEO
    return word if place and singular not in _ADMINISTRATIVE else singular


def _weight_of_one(tokens: Tokens, reading: ReadableText, label: str | None, place: int) -> int:
    word = tokens.words[place]
    small = word.lower().replace("ph.d.", "phd")
    if small in wordlists.NOT_NAMES | wordlists.NEVER_FIRST:
        return 2 if word in lexicon.PLACE_ACRONYMS else 0
    if word in wordlists.KEYWORDS or (not word.isupper() and _is_generic(small)):
        return 0
    proper, due = is_proper(tokens, place), opens_sentence(tokens, place)
    if label is None:
        named = tokens.same_sentence(place - 1, place) and tokens.words[place - 1] in lexicon.KINDS
        known = (small in lexicon.TERMS and word.isupper()) or (proper and (named or small in lexicon.MADE))
        running = reading.sentences[tokens.sentences[place]].running
        return 2 if known else int(proper and running and not due)
    # The recogniser takes much in a heading for a name; what is one stands elsewhere, too.
    return 1 + reading.sentences[tokens.sentences[place]].running if proper or not due else 0
