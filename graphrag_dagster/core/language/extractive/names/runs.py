"""Runs of words that one name may be: capitalised words, and what holds them together."""

from graphrag_dagster.core.language.extractive.names import wordlists
from graphrag_dagster.core.language.extractive.parsing import lexicon
from graphrag_dagster.core.language.extractive.parsing.lexicon import LABELS
from graphrag_dagster.core.language.extractive.parsing.pipeline import Tokens

_PROPER = frozenset({"NNP", "NNPS"})
_NEVER_INSIDE = frozenset(
    {"PRP", "PRP$", "DT", "IN", "CC", "TO", "MD", "WRB", "WP", "WP$", "WDT", "EX", "UH", "PDT"}
)
_TITLES_OF_WORKS = frozenset({"WORK_OF_ART", "EVENT", "LAW", "FAC"})
_OPENING = frozenset(
    {":", "“", '"', "'", "‘", "--", "—", "–", "-", "(", "[", ";", "…", "...", "?", "!", ".", "/"}
)
_PARTICLES = frozenset(
    {"de", "von", "van", "der", "den", "la", "le", "del", "della", "di", "da", "du", "bin", "ibn"}
)
_PREPOSITIONS = frozenset({"of", "for", "on", "in", "at"})
_POSSESSIVES = frozenset({"'s", "’s", "'", "’"})
_MOST_WORDS = 9

Run = tuple[int, int]


def find_runs(tokens: Tokens) -> list[Run]:
    """Return the half-open ranges of words that may hold a name, in the order of the text."""
    return _joined(tokens, _capitalised(tokens))


def is_capital(word: str) -> bool:
    """Whether a word begins with a capital, or with one soon after (iPhone)."""
    head = word[:3]
    return word[:1].isalpha() and head != head.lower() and word != "I"


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
        return same and label in LABELS and word[:1].isdigit()
    if tag in _NEVER_INSIDE and (label not in LABELS or opens(tokens, place)):
        return False
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
        elif first >= 0 and not _is_hyphen(tokens, place):
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
        and is_capital(tokens.words[place + 1])
    )


def _joined(tokens: Tokens, runs: list[Run]) -> list[Run]:
    """Join runs that one name holds together; from right to left, since the head of a name is its end."""
    joined: list[Run] = []
    for first, last in reversed(runs):
        if joined and _one_name(tokens, (first, last), joined[-1]):
            joined[-1] = (first, joined[-1][1])
        else:
            joined.append((first, last))
    return joined[::-1]


def _one_name(tokens: Tokens, left: Run, right: Run) -> bool:
    """Whether the words between two runs belong to a name that holds both."""
    gap = [word.lower() for word in tokens.words[left[1] : right[0]]]
    if not 1 <= len(gap) <= 2 or not tokens.same_sentence(left[0], right[0]):
        return False
    if right[1] - left[0] > _MOST_WORDS:
        return False
    if gap == ["&"] or _PARTICLES.issuperset(gap):
        return True
    label = tokens.labels[left[1] - 1]
    covered = label in LABELS and tokens.names[left[1] - 1] == tokens.names[right[0]]
    if gap in (["the"], ["and"]) and covered and label in _TITLES_OF_WORKS:
        return True
    if gap[0] in _PREPOSITIONS and gap[1:] in ([], ["the"]):
        return _goes_on(tokens, left, right, gap[0], covered and label != "PERSON")
    if gap[-1] == "and" and gap[0] in {"and", "'", "’", ","}:
        joins = tokens.words[right[1] - 1].lower() in lexicon.JOINED_BY_AND
        return joins and _one_head(tokens, left, right)
    return len(gap) == 1 and gap[0] in _POSSESSIVES and _possessive_name(tokens, left, right, covered)


def _goes_on(tokens: Tokens, left: Run, right: Run, preposition: str, covered: bool) -> bool:
    """Whether a name goes on after a preposition ("University of Averness")."""
    takes = tokens.words[left[1] - 1].lower() in lexicon.TAKES_OF and preposition in {"of", "for"}
    whole = right[1] - right[0] > 1 and tokens.words[right[1] - 1].lower() in lexicon.HEADS
    # "Isle of Man", but not "Old Basin of Kelderwick".
    longest = 1 if lexicon.HEADS.get(tokens.words[left[1] - 1].lower()) == lexicon.GEO else 2
    return (covered and not whole) or (takes and left[1] - left[0] <= longest)


def _one_head(tokens: Tokens, left: Run, right: Run) -> bool:
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
    if last_word not in lexicon.HEADS:
        return False
    known = first_word in lexicon.POSSESSIVE_NAMES or tokens.tags[left[1] - 1] in {"NNS", "NNPS"}
    return known or (covered and right[1] - right[0] == 1)
