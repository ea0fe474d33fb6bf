"""Word lists for comparing names: legal forms, particles, nicknames, countries and their people."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from graphrag_dagster.engines.extractive.names.wordlists import GENERIC, POSSIBLE_TITLES, TITLES
from graphrag_dagster.engines.extractive.parsing.lexicon import NOBLES, words_of
from graphrag_dagster.kernel.text import marks
from graphrag_dagster.kernel.text.english_words import FORMS_OF_ADDRESS, LEGAL_FORMS

_ROMAN = ("ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_NUMERALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

ARTICLES: Final = words_of("the a an")
#: Before the name of a person, not a part of it.
ADDRESS: Final = FORMS_OF_ADDRESS | TITLES | POSSIBLE_TITLES | NOBLES | marks.TITLES
#: At the end of the name of a person: which of several generations it is.
GENERATIONS: Final = MappingProxyType(
    dict.fromkeys(("jr", "junior"), "junior")
    | dict.fromkeys(("sr", "senior"), "senior")
    | {numeral: str(number) for number, numeral in enumerate(_ROMAN, start=2)}
)
#: At the end of the name of an organisation: its legal form.
FORMS: Final = (LEGAL_FORMS - GENERATIONS.keys()) | words_of(
    "incorporated aktiebolag ab oy kg llp spa srl bv nv"
)
#: Inside names, too small to count.
PARTICLES: Final = words_of("of the and for in on at de la le du des del di da von van der den e y und et")
#: Of a kind of thing: alone they name none.
KINDS_OF_THINGS: Final = GENERIC | FORMS
NUMERALS: Final = MappingProxyType({word: str(number) for number, word in enumerate(_NUMERALS, start=1)})
#: What differs in one of these differs.
OPPOSITES: Final = tuple(
    map(
        words_of,
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
