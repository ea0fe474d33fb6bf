"""Names in a text, and whether another text has them too."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphrag_dagster.kernel.text.english_words import STOP_WORDS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W_]+(?:['’][^\W\d_]+)?\.?")
_POSSESSIVE = re.compile(r"['’]s?\Z")
#: Written with a capital for another reason than being a name.
_NO_NAMES = _words(
    """
    however although additionally moreover furthermore overall according january february march april
    may june july august september october november december two three four five six seven eight nine
    ten eleven twelve twenty thirty forty fifty hundred thousand dozen mr mrs ms dr prof sir lady lord
    saint st president justice judge professor king queen prince princess senator governor minister
    chancellor captain general colonel secretary pope emperor provost councillor mayor chairman director
    """
)
_PEOPLE = re.compile(r"(?<=\w{4})(?:ians?|ans?|ese|ish|ia|ns?|y|a|i|s)\Z")
#: From how many letters on a name may have another form, or a slip in it, and how near that must be.
_SHORTEST, _LONG, _MISSPELT = 5, 6, 88
#: Most letters of a name that may be the initials of others.
_ACRONYM = 5


@dataclass(frozen=True, slots=True)
class Name:
    """Words with capitals one after another, folded; ``text`` as they are written."""

    words: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class KnownWords:
    """What a text has that a name may be found by: its folded words, and the initials of its capitals."""

    words: frozenset[str]
    initials: str

    @classmethod
    def of(cls, text: str) -> "KnownWords":
        """Return those of a text."""
        found = [_bare(one) for one in _WORD.findall(text)]
        capitals = (word[0] for word in found if word[:1].isupper())
        return cls(frozenset(map(fold, found)), "".join(map(fold, capitals)))

    def with_those_of(self, text: str) -> "KnownWords":
        """Return these and those of another text."""
        other = KnownWords.of(text)
        return KnownWords(self.words | other.words, f"{self.initials} {other.initials}")


def fold(word: str) -> str:
    """Return a word in lower case, without accents."""
    decomposed = unicodedata.normalize("NFKD", word.lower())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def names_of(text: str, common: Callable[[str], bool]) -> list[Name]:
    """Return the names of a text, in order.

    Args:
        text: a sentence or several.
        common: whether a word is no name although a sentence begins with it.
    """
    found: list[Name] = []
    run: list[tuple[str, int, int]] = []
    end = 0
    for match in _WORD.finditer(text):
        word = _bare(match[0])
        begins = not text[:end].strip() or (text[end - 1] == "." and _ends(text, end))
        parted = any(mark in text[end : match.start()] for mark in ",;:()!?\n") or begins
        if run and parted:
            found.append(_name(text, run))
            run = []
        if _is_name(word, begins=begins, common=common):
            run.append((word, match.start(), match.start() + len(word)))
        elif run:
            found.append(_name(text, run))
            run = []
        end = match.end()
    return [*found, _name(text, run)] if run else found


def wholly_missing_from(name: Name, known: KnownWords) -> bool:
    """Return whether a text has no word of a name."""
    return not any(_stands(word, known) for word in name.words)


def missing_from(name: Name, known: KnownWords, others: Sequence[Name] = ()) -> bool:
    """Return whether a name does not stand in a text.

    A name is there with the last of its words (Douglas for William Douglas), unless all that the text calls
    so is called otherwise before (Coal Quay for Fish Quay), or with its initials.

    Args:
        name: of a statement.
        known: the words of the text.
        others: the names of the text.
    """
    if _stands(name.words[-1], known):
        before = {word for word in name.words[:-1] if len(word) > 1}
        alike = [set(one.words[:-1]) for one in others if one.words[-1] == name.words[-1]]
        return bool(before and alike) and all(one and not one & before for one in alike)
    if len(name.words) > 1 and "".join(word[0] for word in name.words) in known.words:
        return False
    # What follows the name proper may be its kind: Coal Quay Harbour.
    return len(name.words) < 3 or not all(_stands(word, known) for word in name.words[:-1])


def share_found(names: Sequence[Name], known: KnownWords) -> float:
    """Return the share of the words of names that stand in a text; 1 without names."""
    words = [word for name in names for word in name.words]
    return sum(_stands(word, known) for word in words) / len(words) if words else 1.0


def _stands(word: str, known: KnownWords) -> bool:
    if word in known.words or (
        len(word) > 1 and word.isalpha() and len(word) <= 5 and word in known.initials
    ):
        return True
    if len(word) == 1:
        return any(one.startswith(word) for one in known.words)
    if len(word) < _SHORTEST:
        return word + "s" in known.words or word.removesuffix("s") in known.words
    return any(_alike(word, one) for one in known.words if one[:1] == word[0] and len(one) > 3)


def _alike(word: str, other: str) -> bool:
    from rapidfuzz.fuzz import ratio

    shorter = min(len(word), len(other))
    if shorter >= _LONG and ratio(word, other) >= _MISSPELT:
        return True
    return shorter >= _SHORTEST and _of_a_place(word) == _of_a_place(other)


def _of_a_place(word: str) -> str:
    """A word without what turns the name of a place into that of its people: Italy, Italian, Italians."""
    return _PEOPLE.sub("", _PEOPLE.sub("", word))


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word.replace(".", ""))


def _ends(text: str, end: int) -> bool:
    """Whether the full stop before a place ends a sentence, not an initial or an abbreviation."""
    before = text[: end - 1].rsplit(None, 1)[-1]
    return len(before) > 3 or before.islower()


def _is_name(word: str, *, begins: bool, common: Callable[[str], bool]) -> bool:
    if not word[:1].isupper() or word.lower() in STOP_WORDS or word.lower() in _NO_NAMES:
        return any(map(str.isupper, word[1:]))
    return not begins or (len(word) > 1 and not common(word))


def _name(text: str, run: Sequence[tuple[str, int, int]]) -> Name:
    return Name(tuple(fold(word) for word, _, _ in run), text[run[0][1] : run[-1][2]])
