"""Names, numbers and dates in a text, and whether they occur in another text."""

import calendar
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from graphrag_dagster.kernel.text.english_words import SMALL_NUMBERS, STOP_WORDS, word_set
from graphrag_dagster.kernel.text.folding import fold
from graphrag_dagster.kernel.text.periods import MONTHS

_WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W_]+(?:['’][^\W\d_]+)?\.?")
_POSSESSIVE = re.compile(r"['’]s?\Z")
#: Capitalised for another reason than being a name.
_NO_NAMES = word_set(
    """
    however although additionally moreover furthermore overall according january february march april
    may june july august september october november december two three four five six seven eight nine
    ten eleven twelve twenty thirty forty fifty hundred thousand dozen mr mrs ms dr prof sir lady lord
    saint st president justice judge professor king queen prince princess senator governor minister
    chancellor captain general colonel secretary pope emperor provost councillor mayor chairman director
    """
)
_PEOPLE = re.compile(r"(?<=\w{4})(?:ians?|ans?|ese|ish|ia|ns?|y|a|i|s)\Z")
#: Letters from which a name may have other forms or a misspelling, and the similarity that needs.
_SHORTEST, _LONG, _MISSPELT = 5, 6, 88
#: Maximum length of a name that may be an acronym.
_ACRONYM = 5


@dataclass(frozen=True, slots=True)
class Name:
    """A sequence of capitalised words, folded; ``text`` is the original spelling."""

    words: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class KnownWords:
    """What names are matched against: the folded words of a text and the initials of capitalised words."""

    words: frozenset[str]
    initials: str

    @classmethod
    def of(cls, text: str) -> "KnownWords":
        """Return the known words of a text."""
        words = [_strip_possessive(word) for word in _WORD.findall(text)]
        capitals = (word[0] for word in words if word[:1].isupper())
        return cls(frozenset(map(fold, words)), "".join(map(fold, capitals)))

    def with_those_of(self, text: str) -> "KnownWords":
        """Return the union with those of another text."""
        other = KnownWords.of(text)
        return KnownWords(self.words | other.words, f"{self.initials} {other.initials}")


def names_of(text: str, common: Callable[[str], bool]) -> list[Name]:
    """Return the names of a text in order.

    Args:
        text: one or more sentences.
        common: whether a word that begins a sentence is not a name.
    """
    names: list[Name] = []
    run: list[tuple[str, int, int]] = []
    end = 0
    for match in _WORD.finditer(text):
        word = _strip_possessive(match[0])
        begins = not text[:end].strip() or (text[end - 1] == "." and _ends_sentence(text, end))
        parted = any(mark in text[end : match.start()] for mark in ",;:()!?\n") or begins
        if run and parted:
            names.append(_name(text, run))
            run = []
        if _is_name(word, begins=begins, common=common):
            run.append((word, match.start(), match.start() + len(word)))
        elif run:
            names.append(_name(text, run))
            run = []
        end = match.end()
    return [*names, _name(text, run)] if run else names


def wholly_missing_from(name: Name, known: KnownWords) -> bool:
    """Return whether none of a name's words occur in a text."""
    return not any(_occurs(word, known) for word in name.words)


def missing_from(name: Name, known: KnownWords, others: Sequence[Name] = ()) -> bool:
    """Return whether a name is missing from a text.

    A name is present if its last word is (Douglas for William Douglas), unless every name in the text with
    that last word begins differently (Coal Quay for Fish Quay). It is also present by its initials.

    Args:
        name: from a statement.
        known: the words of the text.
        others: the names in the text.
    """
    if _occurs(name.words[-1], known):
        before = {word for word in name.words[:-1] if len(word) > 1}
        prefixes = [set(other.words[:-1]) for other in others if other.words[-1] == name.words[-1]]
        return bool(before and prefixes) and all(prefix and not prefix & before for prefix in prefixes)
    if len(name.words) > 1 and "".join(word[0] for word in name.words) in known.words:
        return False
    # The last word may be the kind of thing: Coal Quay Harbour.
    return len(name.words) < 3 or not all(_occurs(word, known) for word in name.words[:-1])


def share_found(names: Sequence[Name], known: KnownWords) -> float:
    """Return the share of the names' words that occur in a text; 1 without names."""
    words = [word for name in names for word in name.words]
    return sum(_occurs(word, known) for word in words) / len(words) if words else 1.0


def _occurs(word: str, known: KnownWords) -> bool:
    if word in known.words or (
        len(word) > 1 and word.isalpha() and len(word) <= 5 and word in known.initials
    ):
        return True
    if len(word) == 1:
        return any(other.startswith(word) for other in known.words)
    if len(word) < _SHORTEST:
        return word + "s" in known.words or word.removesuffix("s") in known.words
    return any(_is_alike(word, other) for other in known.words if other[:1] == word[0] and len(other) > 3)


def _is_alike(word: str, other: str) -> bool:
    from rapidfuzz.fuzz import ratio

    shorter = min(len(word), len(other))
    if shorter >= _LONG and ratio(word, other) >= _MISSPELT:
        return True
    return shorter >= _SHORTEST and _place_stem(word) == _place_stem(other)


def _place_stem(word: str) -> str:
    """Strip the endings that turn a place into its people: Italy, Italian, Italians."""
    return _PEOPLE.sub("", _PEOPLE.sub("", word))


def _strip_possessive(word: str) -> str:
    return _POSSESSIVE.sub("", word.replace(".", ""))


def _ends_sentence(text: str, end: int) -> bool:
    """Return whether the full stop before ``end`` ends a sentence, not an initial or an abbreviation."""
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


_TO_TWELFTH = "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
#: "first" and "second" are excluded: they state an order or a time as often as a number.
_ORDINALS = MappingProxyType(
    {
        **{word: number for number, word in enumerate(_TO_TWELFTH.split(), start=3)},
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
#: Words that are seldom the month, even capitalised.
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
#: Relative tolerance of "about", and the largest ratio to a bound at which the bound still holds.
_ABOUT, _BEYOND = 0.06, 1.6


@dataclass(frozen=True, slots=True)
class Number:
    """A number: value, kind, original text, significant digits and bound."""

    value: float
    kind: Kind
    text: str
    digits: int
    bound: Bound | None = None


def numbers_of(text: str) -> list[Number]:
    """Return the numbers of a text in order: cardinals, ordinals, per cent, decades, centuries, months.

    A bare "one", "first" or "second" is ignored. A date yields its parts; months count from 1 and have their
    own kind.
    """
    return list(_numbers(list(_TOKEN.finditer(text))))


def is_among(number: Number, known: Sequence[Number]) -> bool:
    """Return whether one of the known numbers equals ``number`` within its stated precision."""
    return any(_is_same_number(number, other) for other in known)


def rival_numbers(number: Number, known: Sequence[Number]) -> list[Number]:
    """Return the known numbers that could replace ``number``: the same kind, and years only for years."""
    return [other for other in known if other.kind == number.kind and is_year(other) == is_year(number)]


def is_year(number: Number) -> bool:
    """Return whether a number may be a year, 1000–2100."""
    return number.kind == "count" and number.text.isdigit() and 1000 <= number.value <= 2100


def _is_same_number(stated: Number, known: Number) -> bool:
    if stated.kind == "decade":
        return known.kind in ("decade", "count") and stated.value <= known.value < stated.value + 10
    if stated.kind == "century":
        return known.value == stated.value if known.kind == "century" else _century(known) == stated.value
    if stated.kind != known.kind:
        return False
    if math.isclose(stated.value, known.value, rel_tol=1e-9):
        return True
    if is_year(stated) or stated.kind == "month" or not stated.value:
        return False
    ratio = known.value / stated.value
    if stated.bound == "about" or known.bound == "about":
        return abs(ratio - 1) <= _ABOUT
    if stated.bound:
        return 1 <= (ratio if stated.bound == "over" else 1 / ratio if ratio else 0) <= _BEYOND
    return (
        stated.digits > 1
        and known.digits > stated.digits
        and _rounded(known.value, stated.digits) == stated.value
    )


def _century(known: Number) -> int | None:
    return math.ceil(known.value / 100) if is_year(known) else None


def _rounded(value: float, digits: int) -> float:
    return round(value, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0.0


def _numbers(tokens: Sequence[re.Match[str]]) -> Iterator[Number]:
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token["iso"]:
            year, month, day = token["iso"].split("-")
            yield Number(float(year), "count", year, len(year))
            yield Number(float(month), "month", calendar.month_name[min(max(int(month), 1), 12)], 2)
            yield Number(float(day), "count", str(int(day)), 2)
            position += 1
        elif token["digits"]:
            number, position = _from_digits(tokens, position)
            yield number
        elif token["word"]:
            number_word, position = _from_words(tokens, position)
            if number_word:
                yield number_word
        else:
            position += 1


def _from_digits(tokens: Sequence[re.Match[str]], position: int) -> tuple[Number, int]:
    token = tokens[position]
    digits_text = re.sub(r"[,\u00a0\u2009\u202f]", "", token["digits"])
    value, after = float(digits_text), (token["after"] or "").strip().lower()
    digits = len(digits_text.replace(".", "").strip("0")) or 1
    end = position + 1
    if after == "s" and value % 10 == 0:
        return Number(value, "decade", token[0], digits), end
    value *= _SCALES.get(after, 1)
    while (
        end < len(tokens) and (tokens[end]["word"] or "").lower() in _SCALES and _is_spelled_out(tokens[end])
    ):
        value *= _SCALES[tokens[end]["word"].lower()]
        end += 1
    following = (tokens[end]["word"] or "").lower() if end < len(tokens) else ""
    kind: Kind = "percent" if after == "%" else "count"
    if following in ("percent", "pct") or _per_cent(tokens, end):
        kind = "percent"
    elif following in ("century", "centuries") and after in ("st", "nd", "rd", "th"):
        kind = "century"
    return Number(
        value, kind, _source_text(tokens, position, end), digits, _bound_before(tokens, position)
    ), end


def _is_spelled_out(token: re.Match[str]) -> bool:
    return len(token["word"]) > 2


def _per_cent(tokens: Sequence[re.Match[str]], position: int) -> bool:
    return [(token["word"] or "").lower() for token in tokens[position : position + 2]] == ["per", "cent"]


def _from_words(tokens: Sequence[re.Match[str]], position: int) -> tuple[Number | None, int]:
    """Parse the number that begins at ``position``, if any; also return the position after it."""
    word = tokens[position]["word"]
    lower = word.lower()
    if lower in MONTHS and word[0].isupper():
        if lower not in _NO_MONTH or _by_a_number(tokens, position):
            return Number(float(MONTHS[lower]), "month", word, 2), position + 1
        return None, position + 1
    if lower in _ORDINALS:
        following = (tokens[position + 1]["word"] or "").lower() if position + 1 < len(tokens) else ""
        kind: Kind = "century" if following == "century" else "count"
        return Number(float(_ORDINALS[lower]), kind, word, 2), position + 1
    if lower not in SMALL_NUMBERS:
        return None, position + 1
    value, end = _parse_spelled_out(tokens, position)
    if value == 1:
        return None, end
    following = (tokens[end]["word"] or "").lower() if end < len(tokens) else ""
    kind = "percent" if following == "percent" or _per_cent(tokens, end) else "count"
    digits = len(f"{value:.0f}".strip("0")) or 1
    return Number(
        value, kind, _source_text(tokens, position, end), digits, _bound_before(tokens, position)
    ), end


def _parse_spelled_out(tokens: Sequence[re.Match[str]], position: int) -> tuple[float, int]:
    """Return the value of the number words from ``position`` on, and the position after the last."""
    whole, part, end, last = 0.0, 0.0, position, position
    while end < len(tokens):
        word = tokens[end][0].lower()
        if word in SMALL_NUMBERS and (last == position or _continues_number(part, SMALL_NUMBERS[word])):
            part += SMALL_NUMBERS[word]
        elif word == "hundred" and 0 < part < 100:
            part *= 100
        elif word in _SCALES and word != "hundred" and _is_spelled_out(tokens[end]) and part:
            whole, part = whole + part * _SCALES[word], 0.0
        elif word in ("-", "and") and last == end:
            end += 1
            continue
        else:
            break
        end += 1
        last = end
    return whole + part, last


def _continues_number(part: float, small: int) -> bool:
    """Return whether a number word continues the number before it: twenty-one, a hundred and five."""
    return (small < 10 and part % 100 >= 20 and part % 10 == 0) or (small < 100 and part % 100 == 0)


def _source_text(tokens: Sequence[re.Match[str]], start: int, end: int) -> str:
    return tokens[start].string[tokens[start].start() : tokens[end - 1].end()].strip()


def _by_a_number(tokens: Sequence[re.Match[str]], position: int) -> bool:
    neighbours = [*tokens[max(position - 1, 0) : position], *tokens[position + 1 : position + 2]]
    return any(token["digits"] for token in neighbours)


def _bound_before(tokens: Sequence[re.Match[str]], position: int) -> Bound | None:
    for token in reversed(tokens[max(position - 3, 0) : position]):
        word = (token["word"] or "").lower()
        if word in _BOUNDS:
            return _BOUNDS[word]
        if word not in _LINKS and token[0] not in "$€£":
            return None
    return None
