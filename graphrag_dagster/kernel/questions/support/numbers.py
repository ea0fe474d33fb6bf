"""Numbers and dates of a text, however they are written."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

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
