"""Runs of words that one name may be: capitalised words, with the numbers that belong to them."""

import re
from collections.abc import Sequence

from graphrag_dagster.core.language.extractive.names import wordlists
from graphrag_dagster.core.language.extractive.names.joining import Run, joined
from graphrag_dagster.core.language.extractive.names.quoted import nicknamed
from graphrag_dagster.core.language.extractive.names.spelling import is_capital
from graphrag_dagster.core.language.extractive.parsing import lexicon
from graphrag_dagster.core.language.extractive.parsing.lexicon import LABELS
from graphrag_dagster.core.language.extractive.parsing.pipeline import Tokens

_PROPER = frozenset({"NNP", "NNPS"})
_NEVER_INSIDE = frozenset(
    {"PRP", "PRP$", "DT", "IN", "CC", "TO", "MD", "WRB", "WP", "WP$", "WDT", "EX", "UH", "PDT"}
)
_OPENING = frozenset(
    {":", "“", '"', "'", "‘", "--", "—", "–", "-", "(", "[", ";", "…", "...", "?", "!", ".", "/"}
)
_YEAR = re.compile(r"1[0-9]{3}(?:[–-]\d\d)?|20\d\d(?:[–-]\d\d)?")
_ORDINAL_OR_YEAR = re.compile(rf"{_YEAR.pattern}|\d{{1,3}}(?:st|nd|rd|th)")
_NUMBERED_ROADS = frozenset({"highway", "route", "interstate", "road", "autobahn"})
_ARTICLES = frozenset({"the", "a", "an"})


def find_runs(tokens: Tokens, titles: Sequence[Run]) -> list[Run]:
    """Return the half-open ranges of words that may hold a name, titles in marks among them, in order."""
    whole = [*titles, *nicknamed(tokens)]
    inside = {place for first, last in whole for place in range(first, last)}
    runs = [_numbered(tokens, run) for run in joined(tokens, _capitalised(tokens))]
    return sorted(whole + [run for run in runs if inside.isdisjoint(range(*run))])


def is_proper(tokens: Tokens, place: int) -> bool:
    """Whether the tagger takes the word for a proper noun."""
    return tokens.tags[place] in _PROPER


def opens(tokens: Tokens, place: int) -> bool:
    """Whether a capital is due here in any case."""
    if not tokens.same_sentence(place - 1, place):
        return True
    before = tokens.words[place - 1]
    return before in _OPENING or not any(map(str.isalnum, before))


def _belongs(tokens: Tokens, place: int, running: bool) -> bool:
    """Whether the word at ``place`` can be part of a name; ``running``: the word before is."""
    word, tag, label = tokens.words[place], tokens.tags[place], tokens.labels[place]
    if word.lower() in wordlists.CALENDAR and is_capital(word):
        return label in LABELS or _is_given_name(tokens, place)
    if not is_capital(word):
        # The number of "Windows 10" belongs to the name where the recogniser says so.
        same = running and tokens.names[place] == tokens.names[place - 1]
        return running and ((same and label in LABELS and word[:1].isdigit()) or _is_first(tokens, place))
    if word.lower() in _ARTICLES and running and tokens.tags[place - 1] != "IN":
        return False
    begins = running and tokens.names[place] != tokens.names[place - 1]
    if tag in _NEVER_INSIDE and (label not in LABELS or begins or opens(tokens, place)):
        return running and not opens(tokens, place) and _capital_follows(tokens, place)
    if label in LABELS or tag in _PROPER or running or not opens(tokens, place):
        return True
    following = place + 1
    return (
        tokens.same_sentence(place, following)
        and is_capital(tokens.words[following])
        and tokens.tags[following] in _PROPER
        and tokens.heads[place] > place
        and tokens.deps[place] in {"compound", "amod", "nmod"}
    )


def _is_first(tokens: Tokens, place: int) -> bool:
    """Whether an "I" is a number ("World War I", "Leopold I"), not who speaks."""
    return tokens.words[place] == "I" and (
        tokens.tags[place] in {"NNP", "CD"}
        or tokens.words[place - 1].lower() in {"war", "type", "phase", "part"}
    )


def _capital_follows(tokens: Tokens, place: int) -> bool:
    """Whether a name goes on after a capitalised small word: "Leave It to Joan", "Against the Machine"."""
    article = tokens.tags[place] == "IN" and tokens.words[place + 1 : place + 2] == ["the"]
    after = place + 1 + article
    if not tokens.same_sentence(place, after) or not is_capital(tokens.words[after]):
        return False
    # "Kelderwick From Quentin Maddern" are a place and a person.
    sides = {tokens.labels[place - 1], tokens.labels[after]}
    return sides.isdisjoint({"PERSON", "GPE"}) or tokens.names[after] == tokens.names[place - 1]


def _numbered(tokens: Tokens, run: Run) -> Run:
    """Widen a name by the number that belongs to it ("1984 Winter Olympics", "Route 20")."""
    first, last = run
    before, after = first - 1, last
    kind = lexicon.HEADS.get(tokens.words[last - 1].lower())
    if tokens.same_sentence(before, first) and _ORDINAL_OR_YEAR.fullmatch(tokens.words[before]):
        covered = tokens.labels[first] in LABELS and tokens.names[before] == tokens.names[first]
        if covered and tokens.labels[first] != "PERSON" and last - first > 1:
            return before, last
    if tokens.same_sentence(last - 1, after):
        number = tokens.words[after]
        if kind in {lexicon.EVENT, lexicon.LAW} and last - first > 1 and _YEAR.fullmatch(number):
            return first, last + 1
        if tokens.words[last - 1].lower() in _NUMBERED_ROADS and number.isdigit():
            return first, last + 1
    return run


def _is_given_name(tokens: Tokens, place: int) -> bool:
    """Whether the word hangs on a capitalised one that follows, as in "Jan Holt" but not "on Monday Holt"."""
    following = place + 1
    return (
        tokens.same_sentence(place, following)
        and tokens.deps[place] == "compound"
        and tokens.heads[place] > place
        and tokens.labels[place] not in {"DATE", "TIME"}
        and is_capital(tokens.words[following])
    )


def _capitalised(tokens: Tokens) -> list[Run]:
    runs: list[Run] = []
    first = -1
    for place in range(len(tokens)):
        running = first >= 0 and tokens.same_sentence(place - 1, place)
        if first >= 0 and not running:
            runs.append((first, place))
            first = -1
        if _belongs(tokens, place, running):
            first = place if first < 0 else first
        elif first >= 0 and not _is_hyphen(tokens, place) and not _after_hyphen(tokens, place):
            runs.append((first, place))
            first = -1
    if first >= 0:
        runs.append((first, len(tokens)))
    return [(first, last - (not any(map(str.isalnum, tokens.words[last - 1])))) for first, last in runs]


def _is_hyphen(tokens: Tokens, place: int) -> bool:
    """Whether the mark at ``place`` joins two capitalised words without spaces."""
    return (
        tokens.words[place] in {"-", "–"}
        and tokens.same_sentence(place, place + 1)
        and tokens.ends[place - 1] == tokens.begins[place]
        and tokens.ends[place] == tokens.begins[place + 1]
        and (is_capital(tokens.words[place + 1]) or _after_hyphen(tokens, place + 1))
    )


def _after_hyphen(tokens: Tokens, place: int) -> bool:
    """Whether a small word after a hyphen is of the name ("Kim Jong-un"), not said of it ("Boston-based")."""
    if place < 2 or tokens.words[place - 1] not in {"-", "–"} or not tokens.words[place].isalpha():
        return False
    tight = (
        tokens.ends[place - 2] == tokens.begins[place - 1] and tokens.ends[place - 1] == tokens.begins[place]
    )
    same = tokens.names[place] == tokens.names[place - 2] and tokens.labels[place] in LABELS
    return tight and is_capital(tokens.words[place - 2]) and (same or tokens.tags[place] in _PROPER)
