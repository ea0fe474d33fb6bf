"""Names that quotation marks show: titles of works, and nicknames inside full names."""

from graphrag_dagster.engines.extractive.names import wordlists
from graphrag_dagster.engines.extractive.names.wordlists import is_capital
from graphrag_dagster.engines.extractive.parsing.pipeline import Tokens

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


def nicknamed(tokens: Tokens) -> list[tuple[int, int]]:
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
