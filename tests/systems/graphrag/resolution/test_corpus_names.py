import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution import name_pairs
from graphrag_dagster.systems.graphrag.resolution.human_decisions import Decisions, NameRuling
from graphrag_dagster.systems.graphrag.resolution.name_pairs import Earlier
from graphrag_dagster.systems.graphrag.resolution.resolution_tables import (
    ResolutionFrames,
    corpus_names,
    resolve_corpus,
    unresolved_frames,
)
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES, CANDIDATES, DECISIONS
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES

Corpus = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


def corpus(texts: dict[str, str], found: list[tuple[str, str, str]], *, overlap: int = 0) -> Corpus:
    """Instances, text units and documents: each document is two units that overlap, each name found wherever
    it stands.

    Args:
        texts: by document, whose title it is.
        found: document, name as written, type.
    """
    documents, units, mentions = [], [], []
    for number, (document, text) in enumerate(texts.items()):
        documents.append(
            {"document_id": document, "title": document, "path": f"{document}.txt", "text": text}
        )
        middle = len(text) // 2
        for part, (start, end) in enumerate(((0, middle + overlap), (middle, len(text)))):
            unit = f"{document}{part}"
            own = text[start:end]
            units.append(
                {
                    "text_unit_id": unit,
                    "document_id": document,
                    "human_readable_id": 2 * number + part,
                    "start_char": start,
                    "text": own,
                }
            )
            for place, (of, name, kind) in enumerate(found):
                if of == document and (name in own or (name not in text and part == 0)):
                    at = [at for at in range(len(own)) if own.startswith(name, at)]
                    mentions.append(
                        {
                            "instance_id": f"{unit}{place}",
                            "text_unit_id": unit,
                            "round": 0,
                            "position": place,
                            "name": normalise(name),
                            "surface": name,
                            "type": kind,
                            "spans": [{"start": start, "end": start + len(name)} for start in at],
                        }
                    )
    return (
        GLEANED_ENTITIES.frame(mentions),
        tables.TEXT_CHUNKS.frame(units),
        tables.DOCUMENTS.frame(documents),
    )


def entities(made: ResolutionFrames) -> dict[tuple[str, str], str]:
    return {(row[0], row[1]): row[2] for row in made.aliases.select("document_id", "name", "entity").rows()}


def assert_same(one: ResolutionFrames, other: ResolutionFrames) -> None:
    for name, table in (
        ("candidates", CANDIDATES),
        ("decisions", DECISIONS),
        ("aliases", ALIASES),
    ):
        assert table.validated(getattr(one, name)).equals(table.validated(getattr(other, name)))


TEXT = "Bethia Mouat came. Then MOUAT spoke. mouat left. Mouat was seen, and Mouat was gone."


def test_a_name_has_its_commonest_spelling_and_type_and_stands_where_it_stands() -> None:
    found = [("d", "Bethia Mouat", "PERSON"), ("d", "Mouat", "PERSON"), ("d", "MOUAT", "GEO")]
    names = corpus_names(*corpus({"d": TEXT}, found, overlap=20)).names
    assert names.select("name", "surface", "type", "mentions", "since").rows() == [
        ("BETHIA MOUAT", "Bethia Mouat", "PERSON", 1, 0),
        ("MOUAT", "Mouat", "PERSON", 4, 7),
    ]


TOLD = "Satya Ostrel leads. Then Satya spoke at length, and later Satya left for home."


@pytest.mark.parametrize(
    ("texts", "found", "kind"),
    [
        ({"d": TOLD}, [], "PERSON"),
        ({"d": TOLD, "e": "Nobody says who Satya is."}, [("e", "Satya", "GEO")], "PERSON"),
        (
            {"d": TOLD, "e": "In Satya.", "f": "To Satya."},
            [("e", "Satya", "GEO"), ("f", "Satya", "GEO")],
            "GEO",
        ),
        ({"d": f"{TOLD} Satya Mouat came."}, [("d", "Satya Mouat", "PERSON")], "GEO"),
        ({"d": f"Satya is old. {TOLD}"}, [], "GEO"),
    ],
)
def test_a_given_name_is_the_person_that_alone_explains_it(
    texts: dict[str, str], found: list[tuple[str, str, str]], kind: str
) -> None:
    made = corpus(texts, [("d", "Satya Ostrel", "PERSON"), ("d", "Satya", "GEO"), *found], overlap=20)
    resolved = resolve_corpus(*made, Decisions())
    types = dict(resolved.aliases.filter(document_id="d").select("name", "type").iter_rows())
    assert types["SATYA"] == kind
    assert entities(resolved)["d", "SATYA"] == ("SATYA OSTREL" if kind == "PERSON" else "SATYA")


def test_a_place_that_people_are_called_after_stays_a_place() -> None:
    text = "Virginia Mouat leads. Then she went to Virginia, and back."
    made = corpus({"d": text}, [("d", "Virginia Mouat", "PERSON"), ("d", "Virginia", "GEO")], overlap=20)
    assert entities(resolve_corpus(*made, Decisions()))["d", "VIRGINIA"] == "VIRGINIA"


def test_a_name_that_stands_nowhere_is_a_name_all_the_same() -> None:
    made = corpus_names(*corpus({"d": TEXT}, [("d", "The Lady", "PERSON")]))
    assert made.names.select("name", "mentions", "since").rows() == [("THE LADY", 1, None)]
    assert [one.sentence for one in made.mentions] == [-1]


def test_tables_say_who_a_name_is_and_why() -> None:
    given_rows = corpus(
        {"a": TEXT, "b": "Mouat was named again, and Dunmarrow."},
        [
            *(("a", name, "PERSON") for name in ("Bethia Mouat", "Mouat")),
            ("b", "Mouat", "PERSON"),
            ("b", "Dunmarrow", "GEO"),
        ],
    )
    word = NameRuling("same", ("Dunmarrow", "Dun"), identity="k1", who="Ada", when="2024-01-01T00:00:00Z")
    made = resolve_corpus(*given_rows, Decisions([word]))
    for table, frame in (
        (CANDIDATES, made.candidates),
        (DECISIONS, made.decisions),
        (ALIASES, made.aliases),
    ):
        table.validated(frame)
    assert entities(made) == {
        ("a", "BETHIA MOUAT"): "BETHIA MOUAT",
        ("a", "MOUAT"): "BETHIA MOUAT",
        ("b", "DUNMARROW"): "DUNMARROW",
        ("b", "MOUAT"): "MOUAT",
    }
    said = made.decisions.select("document_id", "verdict", "decided_by", "decision_id", "who").rows()
    assert ("a", "merge", "rule", None, None) in said
    assert (None, "unused", "person", "k1", "Ada") in said


def test_a_word_about_one_document_holds_there_alone() -> None:
    texts = {"a": TEXT, "b": TEXT.replace("gone", "here")}
    given_rows = corpus(texts, [(d, name, "PERSON") for d in texts for name in ("Bethia Mouat", "Mouat")])
    made = resolve_corpus(
        *given_rows, Decisions([NameRuling("different", ("Bethia Mouat", "Mouat"), "b.txt")])
    )
    found = entities(made)
    assert found["a", "MOUAT"] == "BETHIA MOUAT"
    assert found["b", "MOUAT"] == "MOUAT"


def test_without_resolution_every_name_is_an_entity() -> None:
    given_rows = corpus({"a": TEXT}, [("a", name, "PERSON") for name in ("Bethia Mouat", "Mouat")])
    made = unresolved_frames(*given_rows)
    ALIASES.validated(made.aliases)
    assert entities(made) == {("a", name): name for name in ("BETHIA MOUAT", "MOUAT")}
    assert made.candidates.is_empty()
    assert made.decisions.is_empty()


@pytest.mark.parametrize("how", [lambda *frames: resolve_corpus(*frames, Decisions()), unresolved_frames])
def test_no_names_no_rows(how) -> None:
    made = how(*corpus({"a": TEXT}, []))
    assert made.candidates.is_empty()
    assert made.decisions.is_empty()
    assert made.aliases.is_empty()


_NAMES = [
    "Bethia Mouat",
    "Mouat",
    "Bethia",
    "Agnes Mouat",
    "WHO",
    "World Health Organization",
    "7",
    "B",
    "李",
]
_FOUND = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(_NAMES), st.sampled_from(["PERSON", "ORG", "GEO"])),
    max_size=15,
)


@given(_FOUND)
def test_a_document_that_came_and_went_leaves_nothing(found: list[tuple[str, str, str]]) -> None:
    texts = {document: f"{document}: " + " and ".join(_NAMES) + "." for document in "abc"}
    with_all = resolve_corpus(*corpus(texts, found), Decisions())
    assert with_all.aliases.height == len({(d, normalise(n)) for d, n, _ in found})
    left = corpus({document: texts[document] for document in "ab"}, [one for one in found if one[0] != "c"])
    earlier = Earlier(with_all.candidates, with_all.aliases)
    assert_same(resolve_corpus(*left, Decisions(), earlier=earlier), resolve_corpus(*left, Decisions()))


@given(_FOUND, _FOUND)
def test_what_was_compared_before_is_not_compared_again_and_nothing_differs(
    before: list[tuple[str, str, str]], more: list[tuple[str, str, str]]
) -> None:
    texts = {document: f"{document}: " + " and ".join(_NAMES) + "." for document in "abcd"}
    texts["c"] += " The World Health Organization (WHO) met."
    first = resolve_corpus(*corpus(texts, before), Decisions())
    found = before + [("d", name, kind) for _, name, kind in more]
    earlier = Earlier(first.candidates, first.aliases)
    again = resolve_corpus(*corpus(texts, found), Decisions(), earlier=earlier)
    anew = resolve_corpus(*corpus(texts, found), Decisions())
    assert_same(again, anew)
    assert again.left_out == anew.left_out
    assert anew.reused == 0
    if not more:
        defined = first.candidates.filter(pl.col("features").cast(pl.String).str.contains("defined"))
        assert (
            again.reused + defined.filter(pl.col("document_id").is_null()).height == first.candidates.height
        )


def test_processes_make_what_one_makes(monkeypatch) -> None:
    texts = {
        document: f"Harbour Board {document * 3}: World Health Organization (WHO). {' and '.join(_NAMES)}."
        for document in "abcd"
    }
    found = [
        (document, name, "ORG")
        for document in texts
        for name in ("WHO", f"Harbour Board {document * 3}", *_NAMES)
    ]
    alone = resolve_corpus(*corpus(texts, found), Decisions())
    numbers = []

    def two(items: int, worth: int) -> int:
        numbers.append((items, worth))
        return 2

    monkeypatch.setattr(name_pairs, "_AT_ONCE", 3)
    monkeypatch.setattr(name_pairs, "suitable_process_count", two)
    made = resolve_corpus(*corpus(texts, found), Decisions())
    assert_same(made, alone)
    assert made.left_out == alone.left_out
    names, pairs = (items for items, _ in numbers)
    assert names == alone.aliases.height
    assert pairs == alone.candidates["document_id"].null_count() > 3
