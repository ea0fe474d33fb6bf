"""Parts of a name: words, legal forms, titles, numbers and initials, with their word lists."""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from graphrag_dagster.engines.extractive.names.name_wordlists import GENERIC, POSSIBLE_TITLES, TITLES
from graphrag_dagster.engines.extractive.parsing.type_lexicon import NOBLES
from graphrag_dagster.kernel.text import markup_spans as marks
from graphrag_dagster.kernel.text.english_words import FORMS_OF_ADDRESS, LEGAL_FORMS, word_set
from graphrag_dagster.kernel.text.text_similarity import clean

_ROMAN = ("ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_NUMERALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

ARTICLES: Final = word_set("the a an")
#: Before the name of a person, not a part of it.
ADDRESS: Final = FORMS_OF_ADDRESS | TITLES | POSSIBLE_TITLES | NOBLES | marks.TITLES
#: At the end of the name of a person: which of several generations it is.
GENERATIONS: Final = MappingProxyType(
    dict.fromkeys(("jr", "junior"), "junior")
    | dict.fromkeys(("sr", "senior"), "senior")
    | {numeral: str(number) for number, numeral in enumerate(_ROMAN, start=2)}
)
#: At the end of the name of an organisation: its legal form.
FORMS: Final = (LEGAL_FORMS - GENERATIONS.keys()) | word_set(
    "incorporated aktiebolag ab oy kg llp spa srl bv nv"
)
#: Inside names, too small to count.
PARTICLES: Final = word_set("of the and for in on at de la le du des del di da von van der den e y und et")
#: Of a kind of thing: alone they name none.
KINDS_OF_THINGS: Final = GENERIC | FORMS
NUMERALS: Final = MappingProxyType({word: str(number) for number, word in enumerate(_NUMERALS, start=1)})
#: What differs in one of these differs.
OPPOSITES: Final = tuple(
    map(
        word_set,
        (
            "north south east west northern southern eastern western central",
            "northeast northwest southeast southwest",
            "upper lower middle",
            "old new",
            "greater lesser little",
            "major minor",
            "first second third fourth fifth sixth seventh eighth ninth tenth",
            "summer winter spring autumn",
            "men women boys girls",
            "senior junior",
            "male female",
        ),
    )
)


def _groups(text: str) -> Mapping[str, frozenset[str]]:
    """Return for each word of lines of equals the lines that hold it, by the first word."""
    found: dict[str, set[str]] = {}
    for line in text.strip().splitlines():
        forms = [form.strip().replace("_", " ") for form in line.split()]
        for form in forms:
            found.setdefault(form, set()).add(forms[0])
    return MappingProxyType({form: frozenset(lines) for form, lines in found.items()})


#: Given names → the groups of which one stands for another.
NICKNAMES: Final = _groups(
    """
    abigail abby
    albert al bert
    alexander alex al sandy sasha
    alexandra alex sandra sasha
    alfred al fred
    andrew andy drew
    anthony tony
    archibald archie
    arthur art
    barbara barb
    benjamin ben benny
    bernard bernie
    catherine cathy kate katie kathy katherine kathryn
    charles charlie chuck chas
    christina chris tina christine
    christopher chris kit
    daniel dan danny
    david dave davy
    deborah debbie deb
    donald don donnie
    dorothy dot dolly
    edward ed eddie ted teddy ned
    eleanor nell ellie
    elizabeth liz lizzie beth betty eliza elisabeth
    eugene gene
    francis frank
    franklin frank
    frederick fred freddie frederic
    geoffrey geoff jeffrey jeff
    george georgie
    gerald gerry jerry
    gregory greg
    harold harry hal
    henry harry hank
    isaac ike
    jacob jake
    james jim jimmy jamie
    jennifer jen jenny
    jeremiah jeremy jerry
    jessica jess jessie
    john jack johnny jon
    jonathan jon
    joseph joe joey
    joshua josh
    judith judy
    kenneth ken kenny
    lawrence larry laurence
    leonard len lenny leo
    lewis lew lou louis
    margaret maggie meg peggy greta
    martin marty
    mary molly polly
    matthew matt
    michael mike mick mickey
    nathaniel nathan nat nate
    nicholas nick
    oliver ollie
    pamela pam
    patricia pat patty tricia
    patrick pat paddy
    peter pete
    philip phil phillip
    raymond ray
    rebecca becky
    richard dick rick rich richie
    robert bob bobby rob robbie bert
    ronald ron ronnie
    rudolph rudy rudolf
    samuel sam sammy
    samantha sam
    sarah sally sara
    sidney sid
    stanley stan
    stephen steve steven
    susan sue susie suzanne
    theodore ted teddy theo
    thomas tom tommy
    timothy tim
    tobias toby
    victoria vicky
    vincent vince
    walter walt wally
    wilfried willi
    wilhelm willi willy
    william bill billy will willie liam
    zachary zach
    """
)
#: Countries, and the names of their people that no ending makes → the country; blanks are written ``_``.
COUNTRIES: Final = _groups(
    """
    united_states united_states_of_america us usa america american
    united_kingdom uk united_kingdom_of_great_britain_and_northern_ireland great_britain britain british
    soviet_union ussr soviet union_of_soviet_socialist_republics
    germany german
    france french
    spain spanish
    netherlands dutch holland
    greece greek
    turkey turkish
    poland polish
    denmark danish
    sweden swedish
    finland finnish
    england english
    scotland scottish
    wales welsh
    ireland irish
    switzerland swiss
    czech_republic czech czechia
    slovakia slovak
    portugal portuguese
    norway norwegian
    belgium belgian
    china chinese peoples_republic_of_china prc
    japan japanese
    thailand thai
    philippines filipino philippine
    iceland icelandic
    israel israeli
    iraq iraqi
    pakistan pakistani
    afghanistan afghan
    kazakhstan kazakh
    uzbekistan uzbek
    turkmenistan turkmen
    kyrgyzstan kyrgyz
    tajikistan tajik
    argentina argentine argentinian
    peru peruvian
    cyprus cypriot
    lebanon lebanese
    myanmar burma burmese
    new_zealand nz
    united_arab_emirates uae emirati
    european_union eu
    serbia serbian serb
    croatia croatian croat
    canada canadian
    vietnam vietnamese
    taiwan taiwanese
    hungary hungarian
    ukraine ukrainian
    egypt egyptian
    brazil brazilian
    mexico mexican
    italy italian
    """
)


Kind = Literal["person", "organisation", "place", "time", "number", "other"]

_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("PER", "PERSON", "PEOPLE", "CHARACTER"), "person"),
    **dict.fromkeys(("ORG", "ORGANIZATION", "ORGANISATION", "COMPANY", "INSTITUTION"), "organisation"),
    **dict.fromkeys(("LOC", "GEO", "GPE", "LOCATION", "PLACE", "FAC", "COUNTRY", "CITY"), "place"),
    **dict.fromkeys(("TIME", "DATE"), "time"),
    **dict.fromkeys(("NUM", "NUMBER", "MONEY", "PERCENT", "QUANTITY", "CARDINAL", "ORDINAL"), "number"),
}
_DOTTED = re.compile(r"\b[^\W\d_](?:\.\s?[^\W\d_]\b)+\.?")
_DOTS, _NO_WORD = re.compile(r"[.\s]"), re.compile(r"[^a-z0-9.,]")
_NICKNAME = re.compile(r"[\"“”«»(]\s*([^\W\d_]+)\s*[\"“”«»)]")
_POSSESSIVE = re.compile(r"\s?['’`]\s?s\b")
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’`][^\W\d_]+)*")
_PEOPLE = ("ians", "ian", "eans", "ean", "ans", "an", "ese", "ish", "i", "ic", "ns", "n", "s")
_APOSTROPHES = frozenset("'`")
_SIGNS = frozenset("+#%°$€£¥")
_ACRONYM = re.compile(r"[^\W\d_]{2,8}")


class ParsedName(NamedTuple):
    """A name taken apart; every word in lower case and Latin letters.

    ``words`` lack articles, forms of address and legal forms, which stand in ``address`` and ``form``;
    ``whole`` has all but the articles. ``acronym`` holds the letters of a name that is one, else nothing.

    Attributes:
        key: the words with blanks between.
        joined: the words with nothing between.
        meaningful: the words without particles; all of them where there are no others.
        family: the family name of a person: the last word, unless the name says of where the person is.
        given: the given names of a person; all words before the last.
        generic: whether every word is of a kind of thing ("the company"), of a person a form of address.
        bare: whether there is a single letter, or no letter at all.
        signs: those that make another thing of a name ("S9+", "C#", "10 %").
        sounds: how the words sound.
        stems: the words without the endings that tell a place from its people.
    """

    name: str
    kind: Kind
    words: tuple[str, ...]
    whole: tuple[str, ...]
    address: frozenset[str]
    form: str
    generation: str
    nicknames: frozenset[str]
    numbers: tuple[str, ...]
    acronym: str
    key: str
    joined: str
    meaningful: tuple[str, ...]
    family: tuple[str, ...]
    given: tuple[str, ...]
    generic: bool
    bare: bool
    signs: str
    sounds: tuple[str, ...]
    stems: tuple[str, ...]


@lru_cache(maxsize=1_000)
def kind_of(type_name: str) -> Kind:
    """Return what kind of thing a type of entities is; ``other`` where that is not known."""
    return _KINDS.get(type_name.upper(), "other")


@lru_cache(maxsize=50_000)
def parse_name(name: str, kind: Kind) -> ParsedName:
    """Return a name taken apart.

    Args:
        name: as written; upper case throughout will do.
        kind: see :func:`kind_of`; forms of address are those of persons, legal forms those of others.
    """
    written = clean(name)
    nicknames: frozenset[str] = frozenset()
    if kind == "person":
        if quoted := _NICKNAME.findall(written):
            nicknames = frozenset(word for one in quoted for word in _folded_words(one))
            written = _NICKNAME.sub(" ", written) if _NICKNAME.sub("", written).strip() else written
        family, comma, given = written.partition(", ")
        if comma and given.lower().rstrip(".") not in GENERATIONS:
            written = f"{given} {family}"
    # Of persons "J. H." are two names, of others "U. S." is one word.
    dotted = kind != "person" and "." in written
    words = _folded_words(_DOTTED.sub(_without_dots, written) if dotted else written) or (
        written.casefold() or name,
    )
    while len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
    rest, address, generation, form = words, [], "", ""
    if kind == "person":
        while len(rest) > 1 and rest[0] in ADDRESS and rest[1] != "of":
            address.append(rest[0])
            rest = rest[1:]
        if len(rest) > 1 and rest[-1] in GENERATIONS:
            generation, rest = GENERATIONS[rest[-1]], rest[:-1]
    while kind in {"organisation", "other"} and len(rest) > 1 and rest[-1] in FORMS:
        form, rest = rest[-1], rest[:-1]
    last = (NUMERALS[rest[-1]],) if len(rest) > 1 and rest[-1] in NUMERALS else ()
    parts = rest[:-1] + last if last else rest
    person = kind == "person"
    meaningful = parts if PARTICLES.isdisjoint(parts) else _without_particles(parts)
    kinds = ADDRESS if person else KINDS_OF_THINGS
    return ParsedName(
        name=name,
        kind=kind,
        words=parts,
        whole=words,
        address=frozenset(address),
        form=form,
        generation=generation,
        nicknames=nicknames,
        numbers=tuple([word for word in rest if word[:1].isdigit()]) + last,
        acronym=_acronym(written),
        key=" ".join(parts),
        joined="".join(parts),
        meaningful=meaningful,
        family=meaningful[-1:] if person and "of" not in parts else (),
        given=meaningful[:-1] if person else (),
        generic=all(word in kinds or word in PARTICLES for word in parts),
        bare=sum(map(str.isalpha, name)) < 2,
        signs="".join(sorted(_SIGNS.intersection(name))),
        sounds=tuple(map(sound, parts)),
        stems=tuple(map(people_stem, parts)),
    )


@lru_cache(maxsize=100_000)
def sound(word: str) -> str:
    """Return how a word sounds in English (Metaphone)."""
    from jellyfish import metaphone

    return str(metaphone(word))


@lru_cache(maxsize=100_000)
def people_stem(word: str) -> str:
    """Return a name of a place or of its people without the ending that tells which."""
    for ending in _PEOPLE:
        if word.endswith(ending) and len(word) - len(ending) > 3:
            return word[: -len(ending)].rstrip("aeio")
    return word.rstrip("aeioy")


def initials(words: tuple[str, ...]) -> tuple[str, str]:
    """Return the first letters of all words, and those of the words that are no particles.

    Numbers have none ("Apple II" is not AI).
    """
    lettered = [word for word in words if not word[0].isdigit() and word not in GENERATIONS]
    return "".join([word[0] for word in lettered]), "".join(
        [word[0] for word in lettered if word not in PARTICLES]
    )


def _folded_words(text: str) -> tuple[str, ...]:
    if text.isascii() and _APOSTROPHES.isdisjoint(text):
        return tuple(_WORD.findall(text.lower()))
    from anyascii import anyascii

    latin = (anyascii(word).lower() for word in _WORD.findall(_POSSESSIVE.sub("s", text)))
    return tuple(word for word in (_NO_WORD.sub("", one) for one in latin) if word)


def _without_particles(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in PARTICLES) or words


def _without_dots(found: re.Match[str]) -> str:
    return _DOTS.sub("", found[0]) + " "


def _acronym(written: str) -> str:
    """Return the letters of a name of one word in capitals, dots and articles aside."""
    words = [word for word in written.split() if word.lower() not in ARTICLES]
    if len(words) != 1 and any(len(word.rstrip(".")) != 1 for word in words):
        return ""
    letters = "".join(words).replace(".", "")
    if not _ACRONYM.fullmatch(letters) or sum(map(str.isupper, letters)) * 2 <= len(letters):
        return ""
    return "".join(_folded_words(letters))
