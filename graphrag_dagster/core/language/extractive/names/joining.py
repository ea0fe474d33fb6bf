"""Which runs of capitalised words one name holds together, by what stands between them."""

from collections.abc import Sequence

from graphrag_dagster.core.language.extractive.names import wordlists
from graphrag_dagster.core.language.extractive.parsing import lexicon
from graphrag_dagster.core.language.extractive.parsing.lexicon import LABELS
from graphrag_dagster.core.language.extractive.parsing.pipeline import Tokens

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


def joined(tokens: Tokens, runs: Sequence[Run]) -> list[Run]:
    """Join runs that one name holds together; from right to left, since the head of a name is its end."""
    found: list[Run] = []
    for first, last in reversed(runs):
        if found and _one_name(tokens, (first, last), found[-1]):
            found[-1] = (first, found[-1][1])
        else:
            found.append((first, last))
    return found[::-1]


def _one_name(tokens: Tokens, left: Run, right: Run) -> bool:
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
        return _goes_on(tokens, left, right, gap[0], covered and (label != "PERSON" or named_after))
    if gap[-1] == "and" and gap[0] in {"and", "'", "’", ","}:
        joins = tokens.words[right[1] - 1].lower() in lexicon.JOINED_BY_AND
        return joins and _one_head(tokens, left, right)
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


def _goes_on(tokens: Tokens, left: Run, right: Run, preposition: str, covered: bool) -> bool:
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
    if covered and tokens.labels[left[0]] in _OF_WORKS:
        return True
    if lexicon.HEADS.keys().isdisjoint({last_word, tokens.words[right[0]].lower()}):
        return False
    possessors = {first_word, tokens.words[left[1] - 1].lower()}
    known = not possessors.isdisjoint(lexicon.POSSESSIVE_NAMES) or tokens.tags[left[1] - 1] in {"NNS", "NNPS"}
    return known or (covered and right[1] - right[0] == 1)
