import pytest

from graphrag_dagster.systems.graphrag.resolution.entity_resolution import resolve
from graphrag_dagster.systems.graphrag.resolution.human_decisions import Decisions, NameRuling
from graphrag_dagster.systems.graphrag.resolution.name_scopes import NameMention


def mentioned(document: str, *names: str, kind: str = "PERSON", times: int = 2) -> list[NameMention]:
    return [NameMention(document, at, name, kind) for name in names for at in range(times)]


def bearers(
    mentions: list[NameMention], name: str, people: Decisions | None = None, **titles: str
) -> dict[str, str]:
    """The title of the entity that a name is a name of, by document."""
    found = resolve(mentions, {}, people, titles=titles).entities
    return {document: title for (document, spelled, _), (title, _) in found.items() if spelled == name}


def test_titles_of_documents_tell_namesakes_apart() -> None:
    mentions = [
        *mentioned("a", "The Hunt", kind="WORK"),
        *mentioned("b", "The Hunt", kind="WORK"),
        *mentioned("c", "The Hunt", "Ada Rusk", kind="WORK"),
        *mentioned("d", "The Hunt", kind="WORK"),
    ]
    mentions += mentioned("a", "Ada Rusk", kind="WORK")
    found = bearers(
        mentions, "The Hunt", a="The Hunt (2012 film)", b="The Hunt (novel)", c="Ada Rusk", d="Herring"
    )
    assert found == {
        "a": "The Hunt (2012 film)",
        "b": "The Hunt (novel)",
        "c": "The Hunt (2012 film)",
        "d": "The Hunt",
    }


def test_one_title_with_an_addition_tells_nothing_apart() -> None:
    mentions = [*mentioned("a", "The Hunt", kind="WORK"), *mentioned("b", "The Hunt", kind="WORK")]
    assert set(bearers(mentions, "The Hunt", a="The Hunt (2012 film)", b="Herring").values()) == {"The Hunt"}


def test_a_person_and_a_place_in_different_company_are_two() -> None:
    mentions = [
        *mentioned("a", "Charlotte", "Bethia Mouat"),
        *mentioned("b", "Charlotte", "Coal Quay", kind="GEO"),
    ]
    assert bearers(mentions, "Charlotte") == {"a": "Charlotte (person)", "b": "Charlotte (place)"}


@pytest.mark.parametrize(
    "mentions",
    [
        [*mentioned("a", "Charlotte"), *mentioned("b", "Charlotte", kind="GEO", times=1)],
        [*mentioned("a", "Charlotte", "Ada Rusk"), *mentioned("b", "Charlotte", "Ada Rusk", kind="GEO")],
        [*mentioned("a", "Loopt"), *mentioned("b", "Loopt", kind="ORG")],
        [*mentioned("a", "Charlotte", kind="ORG"), *mentioned("b", "Charlotte", kind="GEO")],
    ],
    ids=["a slip of the type", "one company", "no given name", "an organisation and its place"],
)
def test_what_may_be_one_stays_one(mentions: list[NameMention]) -> None:
    assert len(set(bearers(mentions, mentions[0].name).values())) == 1


def test_a_person_says_that_namesakes_are_one() -> None:
    mentions = [*mentioned("a", "Charlotte", "Bethia Mouat"), *mentioned("b", "Charlotte", kind="GEO")]
    assert len(set(bearers(mentions, "Charlotte").values())) == 2
    people = Decisions([NameRuling("same", ("Charlotte", "City of Charlotte"))])
    assert len(set(bearers(mentions, "Charlotte", people).values())) == 2
    mentions += mentioned("c", "City of Charlotte", kind="GEO")
    assert set(bearers(mentions, "Charlotte", people).values()) == {"Charlotte"}


def test_namesakes_are_never_joined_by_rule() -> None:
    mentions = [
        *mentioned("a", "Ada Rusk"),
        *mentioned("b", "Ada Rusk"),
    ]
    found = bearers(mentions, "Ada Rusk", a="Ada Rusk (painter)", b="Ada Rusk (judge)")
    assert found == {"a": "Ada Rusk (painter)", "b": "Ada Rusk (judge)"}
