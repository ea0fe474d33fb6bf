"""Runs of words that one name may be: capitalised words with their numbers, and quoted titles."""

import re
from collections.abc import Sequence

from graphrag_dagster.engines.extractive.names import name_wordlists as wordlists
from graphrag_dagster.engines.extractive.names.name_wordlists import is_capital
from graphrag_dagster.engines.extractive.parsing import type_lexicon as lexicon
from graphrag_dagster.engines.extractive.parsing.spacy_pipeline import Tokens
from graphrag_dagster.engines.extractive.parsing.type_lexicon import LABELS

_MARKS = {'"': '"', "“": "”", "``": "''", "«": "»"}
_NICKNAME_MARKS = _MARKS | {"(": ")"}
_ENDS = frozenset(".,!?;:…")
_LONGEST_TITLE = 9
_FEWEST_OF_QUESTION = 4
_LONGEST_SMALL = 3


def quoted_titles(tokens: Tokens) -> list[tuple[int, int]]:
    """Return the half-open ranges of words in quotation marks of which all that are long have a capital."""
    found = []
    place = 0
    while place < len(tokens):
        end = _closing(tokens, place, _MARKS, _LONGEST_TITLE)
        if end is None:
            place += 1
            continue
        first, last = place + 1, end
        while last > first and tokens.words[last - 1] in _ENDS:
            last -= 1
        if tokens.words[first].lower() in {"the", "a", "an"}:
            first += 1
        # "What's Google?" is asked; "Where Is the Love?" may be a song.
        asked = "?" in tokens.words[last:end] and last - first < _FEWEST_OF_QUESTION
        if _is_title(tokens.words[place + 1 : last]) and last - first > 1 and not asked:
            found.append((first, last))
        place = end + 1
    return found


def _is_title(words: list[str]) -> bool:
    """Whether words are written as titles of works are: "Leave It to Joan"."""
    if not words or any(word in _ENDS - {":"} for word in words):
        return False
    letters = [word for word in words if word[0].isalpha()]
    capital = [word for word in letters if word[0].isupper()]
    long = [word for word in letters if len(word) > _LONGEST_SMALL]
    small = len(letters) - len(capital)
    return words[0][0].isupper() and len(capital) > max(1, small) and all(word[0].isupper() for word in long)


def nickname_runs(tokens: Tokens) -> list[tuple[int, int]]:
    """Return the ranges of full names with a nickname in marks: James "Jimmy" Frise, Conrad (Gus) Shinn."""
    found: list[tuple[int, int]] = []
    for place in range(1, len(tokens) - 3):
        end = _closing(tokens, place, _NICKNAME_MARKS, 2)
        if end is None or not all(map(is_capital, tokens.words[place + 1 : end])):
            continue
        if not tokens.same_sentence(place - 1, end + 1) or not _is_personal(tokens, place - 1, end + 1):
            continue
        first, last = place - 1, end + 2
        while tokens.same_sentence(first - 1, place) and _is_personal(tokens, first - 1, first - 1):
            first -= 1
        while tokens.same_sentence(last, place) and _is_personal(tokens, last, last):
            last += 1
        if not found or found[-1][1] <= first:
            found.append((first, last))
    return found


def _is_personal(tokens: Tokens, left: int, right: int) -> bool:
    """Whether both words are capitalised, the one is called a person, and neither is a title."""
    words = tokens.words[left], tokens.words[right]
    return (
        all(map(is_capital, words))
        and "PERSON" in {tokens.labels[left], tokens.labels[right]}
        and all(word.lower().rstrip(".") not in wordlists.TITLES for word in words)
    )


def _closing(tokens: Tokens, place: int, marks: dict[str, str], most: int) -> int | None:
    """Return where the mark that is opened at ``place`` is closed, at most so many words later."""
    wanted = marks.get(tokens.words[place])
    if wanted is None:
        return None
    for end in range(place + 2, min(place + most + 3, len(tokens))):
        if not tokens.same_sentence(place, end):
            return None
        if tokens.words[end] == wanted:
            return end
    return None


_TITLES_OF_WORKS = frozenset({"WORK_OF_ART", "EVENT", "LAW", "FAC"})
_OF_WORKS = frozenset({"WORK_OF_ART", "EVENT", "LAW", "PRODUCT"})
_BODIES = frozenset({"ORG", "FAC"})
#: What may stand inside a name that the recogniser gives one of these labels.
_COVERED_OVER = {"the": _TITLES_OF_WORKS, "and": _TITLES_OF_WORKS, "–": _BODIES, "—": _BODIES}
_PARTICLES = frozenset(
    {
        *("de", "von", "van", "der", "den", "la", "le", "del", "della", "di", "da", "du", "bin", "ibn"),
        *("al", "am", "das", "des", "dos", "e", "el", "et", "les", "und", "y", "zu"),
    }
)
_PLACES = frozenset({"GPE", "LOC"})
_PREPOSITIONS = frozenset({"of", "for", "on", "in", "at"})
_POSSESSIVES = frozenset({"'s", "’s", "'", "’"})
_MOST_WORDS = 9
#: What stands after a comma and still belongs to the name.
_AFTER_COMMA = frozenset({"inc", "ltd", "llc", "corp", "plc", "jr", "sr", "d.c", "dc", "l.p"})

Run = tuple[int, int]


def join_runs(tokens: Tokens, runs: Sequence[Run]) -> list[Run]:
    """Join runs that one name holds together; from right to left, since the head of a name is its end."""
    found: list[Run] = []
    for first, last in reversed(runs):
        if found and _is_one_name(tokens, (first, last), found[-1]):
            found[-1] = (first, found[-1][1])
        else:
            found.append((first, last))
    return found[::-1]


def _is_one_name(tokens: Tokens, left: Run, right: Run) -> bool:
    """Whether the words between two runs belong to a name that holds both."""
    gap = [word.lower() for word in tokens.words[left[1] : right[0]]]
    if not 1 <= len(gap) <= 2 or not tokens.same_sentence(left[0], right[0]):
        return False
    if right[1] - left[0] > _MOST_WORDS:
        return False
    if gap == ["&"] or _PARTICLES.issuperset(gap):
        return True
    if gap == [","]:
        return right[1] - right[0] == 1 and tokens.words[right[0]].lower().rstrip(".") in _AFTER_COMMA
    label = tokens.labels[left[1] - 1]
    covered = label in LABELS and tokens.names[left[1] - 1] == tokens.names[right[0]]
    if covered and label in _COVERED_OVER.get(" ".join(gap), ()):
        return True
    if gap == ["the"]:
        return (
            (covered and right[1] - right[0] == 1)
            or tokens.words[right[0]].lower() in wordlists.EPITHETS_AFTER
            or (tokens.tags[left[1] - 1] == "IN" and left[1] - left[0] > 1)
        )
    if gap == ["and"] and _is_pair(tokens, left, right, covered):
        return True
    if gap[0] in _PREPOSITIONS and gap[1:] in ([], ["the"]):
        named_after = gap == ["of"] and left[1] - left[0] == 1
        return _continues_after_preposition(
            tokens, left, right, gap[0], covered and (label != "PERSON" or named_after)
        )
    if gap[-1] == "and" and gap[0] in {"and", "'", "’", ","}:
        joins = tokens.words[right[1] - 1].lower() in lexicon.JOINED_BY_AND
        return joins and _shares_head(tokens, left, right)
    return len(gap) == 1 and gap[0] in _POSSESSIVES and _possessive_name(tokens, left, right, covered)


def _is_pair(tokens: Tokens, left: Run, right: Run, covered: bool) -> bool:
    """Whether a pair is one name: fields of a body ("Academy of Sciences and Arts"), "Skull and Bones"."""
    if covered and right[1] - left[0] == 3 and tokens.tags[left[0]] in {"NNS", "NNPS"}:
        return True
    body = left[0] - 2
    if not tokens.same_sentence(body, left[0]) or left[1] - left[0] > 2:
        return False
    if tokens.words[body].lower() not in lexicon.BODIES_OF_FIELDS or tokens.words[body + 1] not in {
        "of",
        "for",
    }:
        return False
    single = right[1] - right[0] == 1
    return covered or (
        single and tokens.heads[right[0]] == left[1] - 1 and tokens.labels[right[0]] not in _PLACES
    )


def _continues_after_preposition(
    tokens: Tokens, left: Run, right: Run, preposition: str, covered: bool
) -> bool:
    """Whether a name goes on after a preposition ("University of Averness")."""
    takes = tokens.words[left[1] - 1].lower() in lexicon.TAKES_OF and preposition in {"of", "for"}
    whole = right[1] - right[0] > 1 and tokens.words[right[1] - 1].lower() in lexicon.HEADS
    # "Isle of Man", but not "Old Basin of Kelderwick".
    longest = 1 if lexicon.HEADS.get(tokens.words[left[1] - 1].lower()) == lexicon.GEO else 2
    if right[1] - right[0] == 1 and tokens.words[right[0]].lower() in lexicon.FIELDS:
        longest = _MOST_WORDS
    if covered and preposition not in {"of", "for"}:
        last = left[1] - 1
        covered = tokens.labels[last] in _TITLES_OF_WORKS or tokens.words[last].lower() in lexicon.HEADS
    return (covered and not whole) or (takes and left[1] - left[0] <= longest)


def _shares_head(tokens: Tokens, left: Run, right: Run) -> bool:
    """Whether "X and Y Board" is one board: X, or the article before it, hangs on the last word."""
    inside = range(*right)
    if tokens.heads[left[1] - 1] in inside and tokens.deps[left[1] - 1] != "conj":
        return True
    before = left[0] - 1
    article = tokens.same_sentence(before, left[0]) and tokens.words[before].lower() == "the"
    return article and (tokens.heads[before] in inside or tokens.labels[left[1] - 1] not in {"PERSON", "ORG"})


def _possessive_name(tokens: Tokens, left: Run, right: Run, covered: bool) -> bool:
    """Whether the possessor is part of the name ("St Ronan's Kirk"), not an owner."""
    first_word, last_word = tokens.words[left[0]].lower().rstrip("."), tokens.words[right[1] - 1].lower()
    if covered and tokens.labels[left[0]] in _OF_WORKS:
        return True
    if lexicon.HEADS.keys().isdisjoint({last_word, tokens.words[right[0]].lower()}):
        return False
    possessors = {first_word, tokens.words[left[1] - 1].lower()}
    known = not possessors.isdisjoint(lexicon.POSSESSIVE_NAMES) or tokens.tags[left[1] - 1] in {"NNS", "NNPS"}
    return known or (covered and right[1] - right[0] == 1)


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
    whole = [*titles, *nickname_runs(tokens)]
    inside = {place for first, last in whole for place in range(first, last)}
    runs = [_with_number(tokens, run) for run in join_runs(tokens, _capitalised_runs(tokens))]
    return sorted(whole + [run for run in runs if inside.isdisjoint(range(*run))])


def is_proper(tokens: Tokens, place: int) -> bool:
    """Whether the tagger takes the word for a proper noun."""
    return tokens.tags[place] in _PROPER


def opens_sentence(tokens: Tokens, place: int) -> bool:
    """Whether a capital is due here in any case."""
    if not tokens.same_sentence(place - 1, place):
        return True
    before = tokens.words[place - 1]
    return before in _OPENING or not any(map(str.isalnum, before))


def _belongs_to_name(tokens: Tokens, place: int, running: bool) -> bool:
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
    if tag in _NEVER_INSIDE and (label not in LABELS or begins or opens_sentence(tokens, place)):
        return running and not opens_sentence(tokens, place) and _capital_follows(tokens, place)
    if label in LABELS or tag in _PROPER or running or not opens_sentence(tokens, place):
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


def _with_number(tokens: Tokens, run: Run) -> Run:
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


def _capitalised_runs(tokens: Tokens) -> list[Run]:
    runs: list[Run] = []
    first = -1
    for place in range(len(tokens)):
        running = first >= 0 and tokens.same_sentence(place - 1, place)
        if first >= 0 and not running:
            runs.append((first, place))
            first = -1
        if _belongs_to_name(tokens, place, running):
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
