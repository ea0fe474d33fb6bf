import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.systems.graphrag.resolution.candidate_pairs import NEXT, WHOLE_BLOCK, candidates
from graphrag_dagster.systems.graphrag.resolution.entity_resolution import Resolution, resolve
from graphrag_dagster.systems.graphrag.resolution.feature_weights import WEIGHTS
from graphrag_dagster.systems.graphrag.resolution.human_decisions import Decisions, NameRuling
from graphrag_dagster.systems.graphrag.resolution.match_probability import REASONS, ScoredPair
from graphrag_dagster.systems.graphrag.resolution.name_features import NameScope
from graphrag_dagster.systems.graphrag.resolution.name_pairs import Comparing
from graphrag_dagster.systems.graphrag.resolution.name_scopes import NameMention


def said(same: list[list[str]] = (), different: list[list[str]] = ()) -> Decisions:
    return Decisions(
        [NameRuling("same", tuple(names)) for names in same]
        + [NameRuling("different", tuple(names)) for names in different]
    )


def pairs(found: Resolution) -> list[ScoredPair]:
    return [pair for scope in found.scopes for pair in scope.pairs]


def resolved(kind: str, *names: str, people: Decisions | None = None, text: str = "") -> Resolution:
    """The names stand in one document, each in a sentence of its own; ``text`` is sentence 0 with all of them."""
    mentions = [NameMention("a", place, name, kind) for place, name in enumerate(names, start=1)]
    defining = [NameMention("a", 0, name, kind) for name in names] if text else []
    return resolve(mentions + defining, {("a", 0): text}, people)


def titles(found: Resolution) -> dict[str, str]:
    return {name: title for (_, name, _), (title, _) in found.entities.items()}


@pytest.mark.parametrize(
    ("kind", "full", "short"),
    [
        ("PERSON", "Bethia Mouat", "Mouat"),
        ("PERSON", "Bethia Mouat", "Dr Mouat"),
        ("PERSON", "Bethia Mouat", "B. Mouat"),
        ("PERSON", "Elizabeth Mouat", "Liz Mouat"),
        ("PERSON", "Mr. Fezziwig", "Fezziwig"),
        ("PERSON", "Dr. Bethia Mouat", "Bethia Mouat"),
        ("PERSON", "Bethia Mouat", "Mouat Bethia"),
        ("PERSON", "Boy from the Mill", "The Boy from the Mill"),
        ("PERSON", "Edward Burne-Jones", "Burne-Jones"),
        ("PERSON", "Gerald Ford", "Ford"),
        ("ORGANIZATION", "National Turkey Federation", "NTF"),
        ("ORGANIZATION", "Escuela Latinoamericana de Salud", "ELS"),
        ("GEO", "United States", "U.S."),
        ("GEO", "Мурманск", "Murmansk"),
        ("PERSON", "Karel Čapek", "Karel Capek"),
        ("EVENT", "Cambodian-Vietnamese War", "Cambodian–Vietnamese War"),
    ],
)
def test_one_entity(kind: str, full: str, short: str) -> None:
    found = titles(resolved(kind, full, short, "Something Else"))
    assert found[full] == found[short] != found["Something Else"]


def test_the_title_is_the_full_name_however_rare() -> None:
    assert set(titles(resolved("PERSON", "Bethia Mouat", "Mouat", "Mouat", "Mouat")).values()) == {
        "Bethia Mouat"
    }


def between(*names: str) -> set[str]:
    """The entities of people of whom each document names one."""
    found = resolve([NameMention(str(at), 0, name, "PERSON") for at, name in enumerate(names)], {})
    return {title for title, _ in found.entities.values()}


def test_a_middle_initial_makes_no_other_person() -> None:
    assert between("James M Mouat", "James Mouat") == {"James M Mouat"}
    assert between("Ann M. Ely", "Ann Ely") == {"Ann M. Ely"}
    assert between("Li Q Wu", "Agnes Wu") == {"Li Q Wu", "Agnes Wu"}


def test_a_name_that_two_middle_initials_fit_stays_alone() -> None:
    assert len(between("James M Mouat", "James P Mouat", "James Mouat")) == 3


@pytest.mark.parametrize(
    ("kind", "one", "other", "veto"),
    [
        ("PERSON", "Bethia Mouat", "Agnes Mouat", "given names differ: agnes and bethia"),
        ("PERSON", "John A. Mouat", "John B. Mouat", "middle names differ"),
        ("PERSON", "Paul Mouat Jr.", "Paul Mouat Sr.", "generations differ: junior and senior"),
        ("PERSON", "Boy (Ignorance)", "The Boy", None),
        (
            "PERSON",
            "Peter Mouat",
            "Mrs Mouat",
            "form of address and given name are of a man and of a woman: peter",
        ),
        ("PERSON", "Mr Mouat", "Mrs Mouat", "forms of address are of a man and of a woman"),
        ("PRODUCT", "Boeing 747", "Boeing 737", "numbers differ: 737 and 747"),
        ("PRODUCT", "Boeing", "Boeing 737", "only one has a number: 737"),
        ("REPORT", "SR-2023-052", "SR-2023-053", "numbers differ: 2023 052 and 2023 053"),
        ("PRODUCT", "Galaxy S9", "Galaxy S9+", "signs differ: none and +"),
        ("PRODUCT", "C", "C++", "a name of a single letter, or of none, is one only with itself"),
        ("CONCEPT", "1984", "1985", None),
        ("GEO", "North Korea", "South Korea", "one is north, the other south"),
        (
            "DATE",
            "18th century",
            "late 18th century",
            "times and numbers are one only where they are spelled alike",
        ),
        (
            "ORGANIZATION",
            "Board of Dunmarrow",
            "the Board",
            "'the Board' is a kind of thing, and no text defines it",
        ),
        ("ORGANIZATION", "Morvane Ltd", "Morvane plc", "legal forms differ: ltd and plc"),
        ("PERSON", "Bethia Mouat", "B", None),
        ("GEO", "Iran", "Iraq", None),
    ],
)
def test_never_one_entity(kind: str, one: str, other: str, veto: str | None) -> None:
    compared = Comparing()
    mentions = [NameMention("a", at, name, kind) for at, name in enumerate((one, other))]
    assert len(set(resolve(mentions, {}, comparing=compared).entities.values())) == 2
    if veto:
        assert veto in compared.frame()["veto"]


@pytest.mark.parametrize(
    ("full", "short", "introduced"), [(2, 3, True), (3, 2, False), (-1, 3, False), (2, -4, False)]
)
def test_only_what_stands_in_the_text_introduces_a_short_form(
    full: int, short: int, introduced: bool
) -> None:
    """A mention whose words were not found has a number below 0, and comes before none."""
    mentions = [
        NameMention("a", full, "Oskar Reyle", "PERSON"),
        NameMention("a", short, "Oskar", "PERSON"),
    ]
    assert (len(set(resolve(mentions, {}).entities.values())) == 1) is introduced


def test_types_that_exclude_each_other() -> None:
    found = resolve([NameMention("a", 0, "Valdora", "PERSON"), NameMention("a", 1, "Valdora", "GEO")], {})
    assert len(set(found.entities.values())) == 2
    assert {title for title, _ in found.entities.values()} == {"Valdora (person)", "Valdora (place)"}
    assert all(pair.veto.startswith("types cannot be those of one entity") for pair in pairs(found))


def test_a_short_name_stays_where_two_full_ones_fit() -> None:
    found = resolved("PERSON", "Bethia Mouat", "Agnes Mouat", "Mouat")
    assert len(set(found.entities.values())) == 3
    asked = [one for one in found.decisions if one.verdict == "ask"]
    assert {one.one[0] for one in asked} | {one.other[0] for one in asked} == {
        "Bethia Mouat",
        "Agnes Mouat",
        "Mouat",
    }


def test_a_name_without_a_title_stays_where_two_titled_ones_fit() -> None:
    assert len(set(resolved("PERSON", "Mr. Fezziwig", "Mrs. Fezziwig", "Fezziwig").entities.values())) == 3


def test_spellings_of_a_short_name_go_together() -> None:
    found = titles(resolved("PERSON", "Marley's Clerk", "Scrooge's Clerk", "Clerk", "the Clerk"))
    assert found["Clerk"] == found["the Clerk"]
    assert len(set(found.values())) == 3


def test_a_text_defines_what_no_rule_would_join() -> None:
    names = ("Dunmarrow Harbour Board", "the Board")
    text = "The Dunmarrow Harbour Board, hereafter the Board, met on Monday."
    assert len(set(resolved("ORGANIZATION", *names).entities.values())) == 2
    mentions = [
        NameMention("a", 0, "Dunmarrow Harbour Board", "ORGANIZATION"),
        NameMention("a", 0, "Board", "ORGANIZATION"),
    ]
    assert set(resolve(mentions, {("a", 0): text}).entities.values()) == {
        ("Dunmarrow Harbour Board", "ORGANIZATION")
    }


def test_a_short_name_stands_for_the_full_one_of_its_own_document_only() -> None:
    mentions = [
        NameMention("a", 0, "Bethia Mouat", "PERSON"),
        NameMention("a", 1, "Mouat", "PERSON"),
        NameMention("b", 0, "Agnes Mouat", "PERSON"),
        NameMention("b", 1, "Mouat", "PERSON"),
        NameMention("c", 0, "Mouat", "PERSON"),
    ]
    found = resolve(mentions, {}).entities
    assert [found[document, "Mouat", "PERSON"][0] for document in "abc"] == [
        "Bethia Mouat",
        "Agnes Mouat",
        "Mouat",
    ]


def test_letters_that_one_document_explains_are_known_in_all() -> None:
    text = "The World Health Organization (WHO) met."
    explained = [NameMention("a", 0, "World Health Organization", "ORG"), NameMention("a", 0, "WHO", "ORG")]
    elsewhere = [NameMention("b", 0, "WHO", "ORG"), NameMention("c", 0, "World Health Organization", "ORG")]
    known = resolve(explained + elsewhere, {("a", 0): text}).entities
    assert set(known.values()) == {("World Health Organization", "ORG")}
    assert len(set(resolve(elsewhere, {}).entities.values())) == 2


def test_people_decide() -> None:
    same = said(same=[["Linkville", "Klamath Falls"], ["klamath falls", "The Falls"]])
    assert (
        len(set(resolved("GEO", "Linkville", "Klamath Falls", "The Falls", people=same).entities.values()))
        == 1
    )
    different = said(different=[["Bethia Mouat", "Mouat"]])
    found = resolved("PERSON", "Bethia Mouat", "Mouat", people=different)
    assert len(set(found.entities.values())) == 2
    assert [(one.verdict, one.by) for one in found.decisions if one.document] == [("apart", "person")]


@pytest.mark.parametrize(
    ("people", "message"),
    [
        (
            said(same=[["A", "B"], ["B", "C"]], different=[["c", "a"]]),
            "'C' and 'A' are declared different, and also the same by way of 'B': undo one of the two",
        ),
        (said(same=[["A", "B"]], different=[["A", "B"]]), "also the same: undo one of the two"),
        (said(same=[["A", "a"]]), r"same: \['A', 'a'\] must contain at least two different names"),
        (said(different=[["A", ""]]), r"different: \['A', ''\] must contain at least two different names"),
    ],
)
def test_decisions_that_contradict_each_other_are_refused(people: Decisions, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        resolved("PERSON", "A", people=people)


def test_decisions_may_go_round_in_a_circle() -> None:
    people = said(same=[["Aa", "Bb"], ["Bb", "Cc"], ["Cc", "Aa"]])
    assert len(set(resolved("GEO", "Aa", "Bb", "Cc", people=people).entities.values())) == 1


def test_a_large_block_is_bounded_and_counted() -> None:
    names = [(f"Mouat {chr(97 + at // 26)}{chr(97 + at % 26)}xxx", "PERSON") for at in range(600)]
    found = candidates(NameScope(names, [()] * 600, {}, "a"))
    rules = 3
    assert len(found.pairs) <= rules * len(names) * max(NEXT, WHOLE_BLOCK // 2)
    assert found.left_out >= 600 * 599 // 2 - NEXT * 600


def test_each_feature_has_a_weight_and_a_reason() -> None:
    assert WEIGHTS.keys() == REASONS.keys()


_WORDS = st.sampled_from(
    ["Bethia", "Agnes", "B.", "Mouat", "Ltd", "Harbour", "Board", "the", "WHO", "2", "李", "(", "é"]
)
_NAMES = st.lists(_WORDS, min_size=1, max_size=3).map(" ".join) | st.text(max_size=6)
_MENTIONS = st.lists(
    st.builds(
        NameMention,
        st.sampled_from("ab"),
        st.integers(0, 2),
        _NAMES,
        st.sampled_from(["PERSON", "ORG", "GEO", "X"]),
    ),
    max_size=12,
)


@given(_MENTIONS, st.randoms())
def test_every_spelling_has_one_entity_whatever_the_order(mentions: list[NameMention], random) -> None:
    found = resolve(mentions, {})
    assert found.entities.keys() == {(one.document, one.name, one.type) for one in mentions}
    known = {one.name for one in mentions}
    telling = ("", " (person)", " (organisation)", " (place)", " (other)")
    assert {title for title, _ in found.entities.values()} <= {
        name + tell for name in known for tell in telling
    }
    shuffled = mentions.copy()
    random.shuffle(shuffled)
    again = resolve(shuffled, {})
    assert again.entities == found.entities
    assert list(again.decisions) == list(found.decisions)
    assert pairs(again) == pairs(found)


@given(_MENTIONS)
def test_no_veto_is_broken_in_a_document(mentions: list[NameMention]) -> None:
    found = resolve(mentions, {})
    assert not any(pair.band == "merge" and pair.veto for pair in pairs(found))
    for one in found.decisions:
        if one.verdict == "merge" and one.document is not None:
            assert found.entities[one.document, *one.one] == found.entities[one.document, *one.other]


@given(_MENTIONS, st.data())
def test_what_people_say_holds(mentions: list[NameMention], data: st.DataObject) -> None:
    names = sorted({one.name for one in mentions if one.name.strip("\"'“”‘’«»`„‚").strip()})
    pairs = st.lists(st.lists(st.sampled_from(names), min_size=2, max_size=2), max_size=1)
    same, different = (data.draw(pairs) if names else [] for _ in range(2))
    try:
        found = resolve(mentions, {}, said(same=same, different=different))
    except SettingsError:
        return
    entities = {
        name: {title for (_, other, _), title in found.entities.items() if other == name} for name in names
    }
    for one, other in different:
        assert not entities[one] & entities[other]
    if not different:
        for one, other in same:
            assert entities[one] == entities[other]
            assert len(entities[one]) == 1


@given(_MENTIONS)
def test_another_document_changes_no_score_of_the_others(mentions: list[NameMention]) -> None:
    one_more = [
        NameMention("new", 0, "Bethia Mouat", "PERSON"),
        NameMention("new", 0, "Agnes Mouat", "PERSON"),
    ]
    before, after = (
        {
            scope.names.document: (scope.names.names, scope.pairs, scope.vetoed.tolist())
            for scope in resolve(known, {}).scopes[:-1]
        }
        for known in (mentions, mentions + one_more)
    )
    assert {document: after[document] for document in before} == before
