"""What people say of names, as resolution takes it: what has an effect, and what has none."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.lineage.resolved_names import decisions_on
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.human_decisions import Decisions, NameRuling
from graphrag_dagster.systems.graphrag.resolution.resolution_tables import (
    ResolutionFrames,
    resolve_corpus,
    unresolved_frames,
)
from graphrag_dagster.systems.graphrag.resolution.resolved_names import (
    check_entities,
    check_human_decisions,
    check_names,
    entities_of,
    open_questions,
)
from support.named import Texts, frames_of


def made(texts: Texts, *words: NameRuling) -> ResolutionFrames:
    return resolve_corpus(*frames_of(texts), Decisions(words))


def groups(found: ResolutionFrames) -> set[frozenset[tuple[str, str]]]:
    by_entity = found.aliases.group_by("entity").agg(pl.struct("document_id", "surface"))
    return {
        frozenset((one["document_id"][2:], one["surface"]) for one in group) for _, group in by_entity.rows()
    }


def unused(found: ResolutionFrames) -> list[str]:
    return found.decisions.filter(pl.col("verdict") == "unused")["reason"].to_list()


def stored_decisions(found: ResolutionFrames) -> pl.DataFrame:
    return found.decisions.cast(tables.DECISIONS.types())


def people(*names: str) -> list[tuple[str, str]]:
    return [(name, "PERSON") for name in names]


def same(*names: str, document: str | None = None) -> NameRuling:
    return NameRuling("same", names, document)


def different(*names: str, document: str | None = None) -> NameRuling:
    return NameRuling("different", names, document)


TWO: Texts = {"a": people("Bethia Mouat", "Mouat"), "b": people("Agnes Smith")}


def test_a_short_form_may_be_spoken_of_and_the_decision_is_told_of_its_full_name() -> None:
    found = made(TWO, same("mouat", "Agnes Smith"))
    assert len(groups(found)) == 1
    assert unused(found) == []
    (row,) = found.decisions.filter(pl.col("decided_by") == "person").to_dicts()
    assert ({row["one"], row["other"]}, row["verdict"], row["document_id"]) == (
        {"Bethia Mouat", "Agnes Smith"},
        "merge",
        None,
    )
    apart = made(TWO, different("Mouat", "Agnes Smith"))
    assert (len(groups(apart)), unused(apart)) == (2, [])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((same("Agnes Smith", "Gone One"),), ["same: Agnes Smith, Gone One; no two of these names are in the texts"]),
        ((different("Gone Two", "Gone One"),), ["different: Gone Two, Gone One; no two"]),
        ((same("Bethia Mouat", "Agnes Smith", "Gone One"),), []),
        # By way of a name that is gone two are one all the same.
        ((same("Bethia Mouat", "Gone One"), same("Gone One", "Agnes Smith")), []),
        ((same("Agnes Smith", "Gone One"), same("Gone One", "Gone Two")), ["same: Agnes", "same: Gone One"]),
        ((same("Bethia Mouat", "Gone One"), different("Gone One", "Agnes Smith")), []),
        ((same("Bethia Mouat", "Mouat", document="b"),), ["no two of these names are in b"]),
        ((same("Bethia Mouat", "Mouat", document="c"),), ["there is no document c"]),
        ((same("Bethia Mouat", "Mouat", document="a"),), []),
    ],
)  # fmt: skip
def test_what_concerns_no_two_names_is_told_as_unused(words: tuple[NameRuling, ...], told: list[str]) -> None:
    reasons = sorted(unused(made(TWO, *words)))
    assert len(reasons) == len(told)
    assert all(part in reason for part, reason in zip(sorted(told), reasons, strict=True))


def test_the_same_unused_decision_twice_is_told_once() -> None:
    found = made(TWO, same("Agnes Smith", "Gone One"), same("Agnes Smith", "Gone One"))
    assert len(unused(found)) == found.decisions["pair_id"].n_unique() - (len(found.decisions) - 1) == 1


def test_what_is_said_of_a_file_is_said_of_every_document_in_it() -> None:
    rows: Texts = {"t.csv#1": people("Ann Lee", "Bo Kay"), "t.csv#2": people("Ann Lee", "Bo Kay"), "u": people("Cy Orr")}  # fmt: skip
    found = made(rows, same("Ann Lee", "Bo Kay", document="t.csv"))
    assert sorted(map(len, groups(found))) == [1, 4]
    one = made(rows, same("Ann Lee", "Bo Kay", document="d-t.csv#2"))
    said = one.decisions.filter(pl.col("decided_by") == "person")
    assert said.filter(pl.col("verdict") == "merge")["document_id"].to_list() == ["d-t.csv#2"]
    assert unused(found) == unused(one) == []


def test_a_person_stands_above_what_tells_namesakes_apart() -> None:
    texts: Texts = {
        "a": [("Florence", "PERSON")] * 3,
        "b": [("Florence", "GEO")] * 3,
        "c": [("Firenze", "GEO")],
    }
    assert len(groups(made(texts))) == 3
    assert len(groups(made(texts, same("Florence", "Gone One")))) == 3
    assert len(groups(made(texts, same("Florence", "Firenze")))) == 1
    place = made(texts, same("Florence (place)", "Firenze"))
    assert (sorted(map(len, groups(place))), unused(place)) == ([1, 2], [])
    for one in ("Florence", "Florence (person)"):
        joined = made(texts, same(one, "Florence (place)"))
        assert (len(groups(joined)), unused(joined)) == (2, [])
    found = made(texts, same("Florence (person)", "Florence (place)"))
    (row,) = found.decisions.filter(pl.col("decided_by") == "person").to_dicts()
    (entity,) = entities_of(found.aliases, "florence")
    assert decisions_on(stored_decisions(found), found.aliases, entity)["pair_id"].to_list() == [
        row["pair_id"]
    ]


def test_whose_a_name_is_and_who_decided_so() -> None:
    found = made(TWO, same("Mouat", "Agnes Smith"))
    (entity,) = entities_of(found.aliases, "mouat")
    assert entities_of(found.aliases, "nobody") == []
    assert entities_of(found.aliases, "Mouat", pl.Series(["d-b"])) == []
    decided = decisions_on(stored_decisions(found), found.aliases, entity)
    assert decided.select("one", "other", "decided_by", "joins").rows() == [
        ("Agnes Smith", "Bethia Mouat", "person", True),
        ("Bethia Mouat", "Mouat", "rule", True),
    ]


def test_questions_come_once_a_pair_and_those_first_that_move_most() -> None:
    texts: Texts = {
        "a": people("Bethia Mouat", "Agnes Mouat", "Mouat", "Mouat"),
        "b": people("Bethia Mouat", "Agnes Mouat", "Mouat"),
        "c": people("Ann Lee", "Bo Lee", "Lee"),
    }
    found = made(texts)
    asked = open_questions(stored_decisions(found), found.aliases, frames_of(texts)[2])
    pairs = [(one.one, one.other) for one in asked]
    assert len(pairs) == len(set(pairs)) == found.decisions.filter(pl.col("verdict") == "ask").unique(["one", "other"]).height  # fmt: skip
    assert [one.mentions for one in asked] == sorted((one.mentions for one in asked), reverse=True)
    # A full name that stands once in each document moves at most that often.
    (mouat,) = [one for one in asked if (one.one, one.other) == ("Bethia Mouat", "Mouat")]
    assert (mouat.documents, mouat.mentions) == ((("a", "a"), ("b", "b")), 2)


def test_contradictions_name_the_way() -> None:
    with pytest.raises(
        SettingsError, match="'A' and 'C' are declared different, and also the same by way of 'B'"
    ):
        Decisions([same("a", "b"), same("B", "c"), different("A", "C")]).links()


NAMES = [
    "Ann Lee",
    "Lee",
    "Bo Lee",
    "A. Lee",
    "LEE",
    "Dr Lee",
    "Ann Bo Lee",
    "Cy Orr",
    "Orr",
    "Florence",
    "Florence (place)",
]
some_names = st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique_by=normalise)
texts_of = st.dictionaries(
    st.sampled_from("abc"),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(["PERSON", "GEO"])), min_size=1, max_size=6),
    min_size=1,
)
words_of = st.lists(
    st.builds(
        NameRuling,
        st.sampled_from(["same", "different"]),
        some_names.map(tuple),
        st.sampled_from([None, "a", "b"]),
    ),
    max_size=4,
)


@given(texts_of, words_of)
def test_what_must_hold_of_the_tables_holds(texts: Texts, words: list[NameRuling]) -> None:
    words = [replace(word, identity=str(place)) for place, word in enumerate(words)]
    said = Decisions(words)
    try:
        for document in (None, "a", "b"):
            said.links(document)
    except SettingsError:
        return
    gleaned, chunks, documents = frames_of(texts)
    found = resolve_corpus(gleaned, chunks, documents, said)
    assert check_names(gleaned, chunks, found.aliases) == []
    assert check_human_decisions(found.aliases, documents, said) == []
    # What is told as without effect has none.
    idle = set(found.decisions.filter(pl.col("verdict") == "unused")["decision_id"])
    used = [word for word in words if word.identity not in idle]
    assert groups(resolve_corpus(gleaned, chunks, documents, Decisions(used))) == groups(found)
    assert found.decisions["pair_id"].is_unique().all()


def test_what_does_not_hold_is_found() -> None:
    gleaned, chunks, documents = frames_of(TWO)
    aliases = unresolved_frames(gleaned, chunks, documents).aliases
    assert check_names(gleaned, chunks, aliases) == []
    lost = aliases.filter(pl.col("name") != "MOUAT")
    assert check_names(gleaned, chunks, lost) == ["'MOUAT' of document d-a has 0 rows"]
    assert check_names(gleaned, chunks, pl.concat([aliases, aliases.filter(pl.col("name") == "MOUAT")])) == [
        "'MOUAT' of document d-a has 2 rows"
    ]
    assert check_names(gleaned.head(2), chunks, aliases) == [
        "'AGNES SMITH' of document d-b has 1 rows, and does not occur there"
    ]
    graph = tables.ENTITIES.empty().select("name")
    assert check_entities(aliases.head(1), graph) == [
        "'BETHIA MOUAT' has names in resolution, but is not an entity"
    ]
    assert check_entities(aliases.clear(), pl.DataFrame({"name": ["X"]})) == [
        "the entity 'X' has no name in resolution"
    ]
    joined = aliases.with_columns(entity=pl.lit("ONE"))
    told = "'MOUAT' and 'AGNES SMITH' are names of 'ONE', but a person declared them different"
    assert check_human_decisions(joined, documents, Decisions([different("Mouat", "Agnes Smith")])) == [told]
    assert (
        check_human_decisions(joined, documents, Decisions([different("Mouat", "Agnes Smith", document="a")]))
        == []
    )
    assert (
        len(
            check_human_decisions(
                joined, documents, Decisions([different("Mouat", "Bethia Mouat", document="a")])
            )
        )
        == 1
    )


def test_who_said_of_a_document_that_names_differ_is_told_between_documents() -> None:
    texts: Texts = {
        "a": people("Bethia Mouat", "Ann Lee"),
        "b": people("Bethia Mouat"),
        "c": people("Ann Lee"),
    }
    word = NameRuling("different", ("Bethia Mouat", "Ann Lee"), "a", "one", "Anna")
    rows = made(texts, word).decisions.select("document_id", "verdict", "who").rows()
    assert sorted(rows, key=str) == [("d-a", "apart", "Anna"), (None, "apart", "Anna")]
