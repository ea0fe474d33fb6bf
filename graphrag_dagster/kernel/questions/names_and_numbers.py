"""Names, numbers and dates in a text, and whether another text has them too."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

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


Kind = Literal["count", "percent", "decade", "century", "month"]
Bound = Literal["about", "over", "under"]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_UNITS = _listed(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
    """
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = MappingProxyType(
    {
        **{word: number for number, word in enumerate(_UNITS)},
        **{word: 10 * number for number, word in enumerate(_TENS, start=2)},
        "dozen": 12,
    }
)
_TO_TWELFTH = "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
#: "second" and "first" say an order or a time as often as a number.
_ORDINALS = MappingProxyType(
    {
        **{word: number for number, word in enumerate(_listed(_TO_TWELFTH), start=3)},
        "twentieth": 20,
    }
)
_SCALES = MappingProxyType(
    {
        "hundred": 1e2,
        "thousand": 1e3,
        "million": 1e6,
        "billion": 1e9,
        "trillion": 1e12,
        "k": 1e3,
        "mn": 1e6,
        "bn": 1e9,
    }
)
_MONTHS = _listed("january february march april may june july august september october november december")
_MONTH_OF = MappingProxyType(
    {name: number for number, month in enumerate(_MONTHS, start=1) for name in (month, month[:3])}
    | {"sept": 9}
)
#: Words, in lower case as in capitals, that are seldom the month.
_NO_MONTH = frozenset({"may", "march", "mar", "dec", "jan", "sep", "oct", "nov"})

_TOKEN = re.compile(
    r"(?P<iso>\b\d{4}-\d{2}-\d{2}\b)"
    r"|(?P<digits>(?<![\w.])\d{1,3}(?:[,\u00a0\u2009\u202f]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<after>st\b|nd\b|rd\b|th\b|s\b|\s?%|[kK]\b|bn\b|mn\b)?"
    r"|(?P<word>[^\W\d_]+)|(?P<mark>[^\w\s])"
)
_BOUNDS: MappingProxyType[str, Bound] = MappingProxyType(
    {
        **dict.fromkeys(
            ("about", "around", "approximately", "roughly", "some", "nearly", "almost", "circa", "estimated"),
            "about",
        ),
        **dict.fromkeys(("over", "more", "above", "exceeding", "least"), "over"),
        **dict.fromkeys(("under", "less", "below", "fewer", "most"), "under"),
    }
)
_LINKS = frozenset({"than", "at", "of", "a"})
#: How far about may be off, and how much more (or less) than a bound may be for the bound to be worth saying.
_ABOUT, _BEYOND = 0.06, 1.6


@dataclass(frozen=True, slots=True)
class Number:
    """A number: its value, of what kind, as it is written, its significant digits, and how exact it is."""

    value: float
    kind: Kind
    text: str
    digits: int
    bound: Bound | None = None


def numbers_of(text: str) -> list[Number]:
    """Return the numbers of a text, in order: cardinals, ordinals, per cent, decades, centuries, months.

    A bare "one", "first" and "second" are none. A date is its parts; months are numbers from 1 of their own
    kind.
    """
    return list(_numbers(list(_TOKEN.finditer(text))))


def is_among(number: Number, known: Sequence[Number]) -> bool:
    """Return whether one of the numbers known says the same, as exactly as ``number`` is meant."""
    return any(_same(number, one) for one in known)


def rivals(number: Number, known: Sequence[Number]) -> list[Number]:
    """Return the numbers known that could stand in the place of ``number``: of its kind, years for years."""
    return [one for one in known if one.kind == number.kind and _is_year(one) == _is_year(number)]


def _is_year(number: Number) -> bool:
    return number.kind == "count" and number.text.isdigit() and 1000 <= number.value <= 2100


def _same(said: Number, known: Number) -> bool:
    if said.kind == "decade":
        return known.kind in ("decade", "count") and said.value <= known.value < said.value + 10
    if said.kind == "century":
        return known.value == said.value if known.kind == "century" else _century(known) == said.value
    if said.kind != known.kind:
        return False
    if math.isclose(said.value, known.value, rel_tol=1e-9):
        return True
    if _is_year(said) or said.kind == "month" or not said.value:
        return False
    ratio = known.value / said.value
    if said.bound == "about" or known.bound == "about":
        return abs(ratio - 1) <= _ABOUT
    if said.bound:
        return 1 <= (ratio if said.bound == "over" else 1 / ratio if ratio else 0) <= _BEYOND
    return said.digits > 1 and known.digits > said.digits and _rounded(known.value, said.digits) == said.value


def _century(known: Number) -> int | None:
    return math.ceil(known.value / 100) if _is_year(known) else None


def _rounded(value: float, digits: int) -> float:
    return round(value, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0.0


def _numbers(tokens: Sequence[re.Match[str]]) -> Iterator[Number]:
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token["iso"]:
            year, month, day = token["iso"].split("-")
            yield Number(float(year), "count", year, len(year))
            yield Number(float(month), "month", _MONTHS[min(max(int(month), 1), 12) - 1].title(), 2)
            yield Number(float(day), "count", str(int(day)), 2)
            place += 1
        elif token["digits"]:
            number, place = _from_digits(tokens, place)
            yield number
        elif token["word"]:
            found, place = _from_words(tokens, place)
            if found:
                yield found
        else:
            place += 1


def _from_digits(tokens: Sequence[re.Match[str]], place: int) -> tuple[Number, int]:
    token = tokens[place]
    written = re.sub(r"[,\u00a0\u2009\u202f]", "", token["digits"])
    value, after = float(written), (token["after"] or "").strip().lower()
    digits = len(written.replace(".", "").strip("0")) or 1
    end = place + 1
    if after == "s" and value % 10 == 0:
        return Number(value, "decade", token[0], digits), end
    value *= _SCALES.get(after, 1)
    while end < len(tokens) and (tokens[end]["word"] or "").lower() in _SCALES and _spelt(tokens[end]):
        value *= _SCALES[tokens[end]["word"].lower()]
        end += 1
    following = (tokens[end]["word"] or "").lower() if end < len(tokens) else ""
    kind: Kind = "percent" if after == "%" else "count"
    if following in ("percent", "pct") or _per_cent(tokens, end):
        kind = "percent"
    elif following in ("century", "centuries") and after in ("st", "nd", "rd", "th"):
        kind = "century"
    return Number(value, kind, _written(tokens, place, end), digits, _bound_before(tokens, place)), end


def _spelt(token: re.Match[str]) -> bool:
    return len(token["word"]) > 2


def _per_cent(tokens: Sequence[re.Match[str]], place: int) -> bool:
    return [(one["word"] or "").lower() for one in tokens[place : place + 2]] == ["per", "cent"]


def _from_words(tokens: Sequence[re.Match[str]], place: int) -> tuple[Number | None, int]:
    """The number whose words begin at a place, and the place after it; None where none begins there."""
    word = tokens[place]["word"]
    lower = word.lower()
    if lower in _MONTH_OF and word[0].isupper():
        if lower not in _NO_MONTH or _by_a_number(tokens, place):
            return Number(float(_MONTH_OF[lower]), "month", word, 2), place + 1
        return None, place + 1
    if lower in _ORDINALS:
        following = (tokens[place + 1]["word"] or "").lower() if place + 1 < len(tokens) else ""
        kind: Kind = "century" if following == "century" else "count"
        return Number(float(_ORDINALS[lower]), kind, word, 2), place + 1
    if lower not in _SMALL:
        return None, place + 1
    value, end = _spelt_out(tokens, place)
    if value == 1:
        return None, end
    following = (tokens[end]["word"] or "").lower() if end < len(tokens) else ""
    kind = "percent" if following == "percent" or _per_cent(tokens, end) else "count"
    digits = len(f"{value:.0f}".strip("0")) or 1
    return Number(value, kind, _written(tokens, place, end), digits, _bound_before(tokens, place)), end


def _spelt_out(tokens: Sequence[re.Match[str]], place: int) -> tuple[float, int]:
    """The value of the number words from a place on, and the place after the last of them."""
    whole, part, end, last = 0.0, 0.0, place, place
    while end < len(tokens):
        word = tokens[end][0].lower()
        if word in _SMALL and (last == place or _goes_on(part, _SMALL[word])):
            part += _SMALL[word]
        elif word == "hundred" and 0 < part < 100:
            part *= 100
        elif word in _SCALES and word != "hundred" and _spelt(tokens[end]) and part:
            whole, part = whole + part * _SCALES[word], 0.0
        elif word in ("-", "and") and last == end:
            end += 1
            continue
        else:
            break
        end += 1
        last = end
    return whole + part, last


def _goes_on(part: float, small: int) -> bool:
    """Whether a number word goes on with the number before it: twenty-one, a hundred and five."""
    return (small < 10 and part % 100 >= 20 and part % 10 == 0) or (small < 100 and part % 100 == 0)


def _written(tokens: Sequence[re.Match[str]], start: int, end: int) -> str:
    return tokens[start].string[tokens[start].start() : tokens[end - 1].end()].strip()


def _by_a_number(tokens: Sequence[re.Match[str]], place: int) -> bool:
    near = [*tokens[max(place - 1, 0) : place], *tokens[place + 1 : place + 2]]
    return any(one["digits"] for one in near)


def _bound_before(tokens: Sequence[re.Match[str]], place: int) -> Bound | None:
    for token in reversed(tokens[max(place - 3, 0) : place]):
        word = (token["word"] or "").lower()
        if word in _BOUNDS:
            return _BOUNDS[word]
        if word not in _LINKS and token[0] not in "$€£":
            return None
    return None
