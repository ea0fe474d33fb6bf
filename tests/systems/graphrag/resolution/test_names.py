import pytest

from graphrag_dagster.systems.graphrag.resolution.name_features import definitions
from graphrag_dagster.systems.graphrag.resolution.name_parsing import kind_of, parse_name


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("Dr. Bethia Mouat", "person", ("bethia", "mouat")),
        ("Mouat, Bethia", "person", ("bethia", "mouat")),
        ('Wilfried " Willi " Schneider', "person", ("wilfried", "schneider")),
        ("J. H. Dearle", "person", ("j", "h", "dearle")),
        ("Paul Desmarais, Jr.", "person", ("paul", "desmarais")),
        ("The Dunmarrow Shipping Company Ltd.", "organisation", ("dunmarrow", "shipping")),
        ("U. S. Navy", "organisation", ("us", "navy")),
        ("U.S", "place", ("us",)),
        ("Zürich", "place", ("zurich",)),
        ("Степенная книга", "other", ("stepennaya", "kniga")),
        ("BBC One", "organisation", ("bbc", "1")),
        ("the company", "organisation", ("company",)),
        ("?!", "other", ("?!",)),
        ("St John's", "place", ("st", "johns")),
        ("Duke of Wellington", "person", ("duke", "of", "wellington")),
    ],
)
def test_a_name_is_taken_apart(name: str, kind: str, words: tuple[str, ...]) -> None:
    assert parse_name(name, kind).words == words


def test_what_is_left_out_is_kept_beside() -> None:
    person = parse_name("Mr Paul Desmarais Sr.", "person")
    assert (person.address, person.generation, person.family, person.given) == (
        {"mr"},
        "senior",
        ("desmarais",),
        ("paul",),
    )
    assert parse_name("Morvane Holdings plc", "organisation").form == "plc"
    assert parse_name('Wilfried "Willi" Schneider', "person").nicknames == {"willi"}
    assert parse_name("Boeing 747-8", "other").numbers == ("747", "8")
    assert [parse_name(name, "organisation").acronym for name in ("W.H.O.", "the WHO", "Who", "Mouat")] == [
        "who",
        "who",
        "",
        "",
    ]


def test_a_type_is_of_a_kind_or_of_none() -> None:
    assert [kind_of(one) for one in ("ORG", "Person", "GEO", "DATE", "VESSEL", "")] == [
        "organisation",
        "person",
        "place",
        "time",
        "other",
        "other",
    ]


def test_a_kind_of_thing_is_generic_and_a_surname_is_not() -> None:
    assert parse_name("the Board", "organisation").generic
    assert parse_name("the captain", "person").generic
    assert not parse_name("Ford", "person").generic
    assert not parse_name("Dunmarrow Board", "organisation").generic


@pytest.mark.parametrize(
    ("text", "names", "found"),
    [
        ("The World Health Organization ( WHO ) met.", ("World Health Organization", "WHO"), "bracketed"),
        ("WHO (World Health Organization) met.", ("WHO", "World Health Organization"), "bracketed"),
        (
            "The Dunmarrow Harbour Board, hereafter the Board, met.",
            ("Dunmarrow Harbour Board", "Board"),
            "called",
        ),
        ("Peter Panter, also known as Kurt Tucholsky, wrote.", ("Peter Panter", "Kurt Tucholsky"), "called"),
        ("Linkville, later renamed Klamath Falls.", ("Linkville", "Klamath Falls"), "called"),
        ("Bethia Mouat and Agnes Mouat met.", ("Bethia Mouat", "Agnes Mouat"), None),
        ("Bethia Mouat (who was known for Dunmarrow)", ("Bethia Mouat", "Dunmarrow"), None),
        ("", ("Bethia Mouat", "Mouat"), None),
    ],
)
def test_a_sentence_defines_names(text: str, names: tuple[str, str], found: str | None) -> None:
    assert definitions([(text, names)]) == ({tuple(sorted(names)): found} if found else {})


def test_a_name_inside_a_longer_one_is_not_beside_it() -> None:
    assert not definitions([("Harbour Board (Board)", ("Harbour Board (Board)", "Board", "Harbour Board"))])
