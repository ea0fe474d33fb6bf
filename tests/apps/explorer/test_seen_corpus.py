"""A real corpus, seen: what is shown agrees with its tables, and words with its documents."""

import csv
import io
from collections.abc import Iterable

import polars as pl
import pytest

from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.apps.explorer.table_pages import Order
from graphrag_dagster.apps.explorer.text_search import Place
from graphrag_dagster.errors import MissingError, QuestionError
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.kernel.tasks.report_citations import without_citations
from graphrag_dagster.kernel.text.evidence import Words
from support.lineage import impact


def rows(table: Table) -> pl.DataFrame:
    return Warehouse().read(table, "coast")


def texts() -> dict[str, str]:
    return dict(rows(tables.DOCUMENTS).select("document_id", "text").iter_rows())


def check_words(places: Iterable[Place]) -> None:
    documents = texts()
    for place in places:
        text = documents[place.document_id]
        start, end = place.start_char - len(place.before), place.end_char + len(place.after)
        assert text[place.start_char : place.end_char] == place.words
        assert text[start:end] == place.before + place.words + place.after


def entity(title: str) -> str:
    found: str = rows(tables.ENTITIES).filter(title=title)["entity_id"][0]
    return found


def test_an_overview_counts_what_there_is(seen: Explorer) -> None:
    found = seen.overview()
    assert (found.corpus, found.engine, found.default_method) == ("coast", "extractive", "auto")
    assert found.counts.entities == rows(tables.ENTITIES).height
    assert found.counts.tokens == rows(tables.TEXT_CHUNKS)["tokens"].sum()
    levels = rows(tables.COMMUNITY_LEVELS)
    assert [one.level for one in found.levels] == sorted(levels["level"].unique())
    assert found.counts.entities == found.unclustered + found.levels[0].entities
    names = [one.name for one in found.methods]
    assert "own-context" not in names, "no model is there to be asked"
    assert names[0] == "auto"
    assert names[-len(found.levels) - 2 :] == [*(f"C{one.level}" for one in found.levels), "TS", "SS"]
    assert not [name for name in names if name.startswith("coterag")]
    assert found.default_level in [one.level for one in found.levels]


def test_communities_partition_what_they_lie_in(seen: Explorer) -> None:
    roots = seen.communities()
    assert (roots.within, roots.path, roots.rest) == (None, [], None)
    assert [cell.size for cell in roots.cells] == sorted((c.size for c in roots.cells), reverse=True)
    assert sum(cell.size for cell in roots.cells) == seen.overview().levels[0].entities
    for level in (0, 3):
        of_level = seen.communities(level=level)
        wanted = rows(tables.COMMUNITY_LEVELS).filter(level=level)["community_id"].unique()
        assert {cell.community_id for cell in of_level.cells} == set(wanted)
    split = next((cell for cell in roots.cells if cell.children), None)
    if split is not None:
        below = seen.communities(split.community_id)
        assert below.within == split
        assert {cell.parent_id for cell in below.cells} == {split.community_id}
        inside = seen.communities(split.community_id, 3)
        assert sum(cell.size for cell in inside.cells) == split.size
        path = seen.communities(below.cells[0].community_id).path
        assert [cell.community_id for cell in path] == [split.community_id]


def test_tokens_of_a_community_are_those_of_its_units(seen: Explorer) -> None:
    units = dict(rows(tables.TEXT_CHUNKS).select("text_unit_id", "tokens").iter_rows())
    named = dict(rows(tables.ENTITIES).select("entity_id", "text_unit_ids").iter_rows())
    members = rows(tables.COMMUNITY_MEMBERS)
    cells = seen.communities(measure="tokens").cells
    for cell in cells:
        of_cell = members.filter(community_id=cell.community_id)["entity_id"]
        mentioned = {unit for one in of_cell for unit in named[one]}
        assert cell.value == sum(units[unit] for unit in mentioned)
        assert seen.community(cell.community_id).tokens == cell.value
    assert [cell.value for cell in cells] == sorted((c.value for c in cells), reverse=True)


def test_a_report_is_cut_where_it_cites(seen: Explorer) -> None:
    reports = rows(tables.COMMUNITY_REPORTS)
    findings = rows(tables.REPORT_FINDINGS)
    references = rows(tables.REPORT_REFERENCES)
    for report_id, summary in reports.select("report_id", "summary").iter_rows():
        page = seen.community(report_id)
        written = findings.filter(report_id=report_id).sort("position")
        said = [summary, *written["explanation"]]
        assert [one.heading for one in page.statements] == ["", *written["summary"]]
        for statement, text in zip(page.statements, said, strict=True):
            joined = "".join(segment.text for segment in statement.segments)
            assert " ".join(joined.split()) == " ".join(without_citations(text).split())
        cited = {n for one in page.statements for part in one.segments for n in part.citations}
        assert cited == {one.number for one in page.citations} == set(range(1, len(page.citations) + 1))
        assert {one.record_id for one in page.citations} == set(
            references.filter(report_id=report_id)["record_id"]
        )
        assert all(one.valid and one.title for one in page.citations)
        quoted = [one.place for one in page.citations if one.kind == "text_unit"]
        assert quoted
        check_words(place for place in quoted if place)
        check_words(one.place for one in page.citations if one.place)


def test_quoted_words_are_cited_where_they_stand(seen: Explorer) -> None:
    page = seen.community(seen.communities().cells[0].community_id)
    places = {one.number: one.place for one in page.citations if one.kind == "text_unit"}
    ends = [
        (part.text.rstrip(), place.words)
        for one in page.statements
        for part in one.segments
        for number in part.citations
        if (place := places.get(number))
    ]
    assert sum(text.endswith(" ".join(words.split())) for text, words in ends) > len(ends) / 2


def test_an_entity_is_shown_with_all_places_that_name_it(seen: Explorer) -> None:
    quill = entity("Hanna Quill")
    page = seen.entity(quill)
    assert (page.title, page.documents, page.neighbours_total) == ("Hanna Quill", 1, page.degree)
    assert [one.weight for one in page.neighbours] == sorted(
        (n.weight for n in page.neighbours), reverse=True
    )
    assert [one.level for one in page.communities] == sorted(one.level for one in page.communities)
    words = [place.words for place in page.mentions.mentions]
    assert words == ["Hanna Quill"] * sum(text.count("Hanna Quill") for text in texts().values())
    check_words(page.mentions.mentions)
    second = seen.mentions(quill, 1, 1)
    assert (second.total, second.mentions) == (page.mentions.total, page.mentions.mentions[1:2])
    assert seen.mentions(quill, 99, 1).total == page.mentions.total
    assert seen.neighbours(quill, 1, 1).neighbours == page.neighbours[1:2]


def test_why_a_row_is_there_ends_in_words(seen: Explorer) -> None:
    quill = entity("Hanna Quill")
    step = seen.why("entity", quill)
    assert step == seen.why("entity", "hanna quill")
    assert any(isinstance(one, Words) and one.quotation == "Hanna Quill" for one in step.all_evidence())
    with pytest.raises(MissingError, match="no entity 'Nobody'"):
        seen.why("entity", "Nobody")


def test_a_document_is_shown_with_what_it_names(seen: Explorer) -> None:
    documents = rows(tables.DOCUMENTS)
    (strike,) = documents.filter(path="news/strike.md")["document_id"]
    page = seen.document(strike)
    assert (page.path, page.characters, page.file and page.file.status) == (
        "news/strike.md",
        len(texts()[strike]),
        "read",
    )
    assert [unit.start_char for unit in page.units] == sorted(unit.start_char for unit in page.units)
    assert seen.units(strike, 0, 1).units == page.units[:1]
    named = {one.title: one.mentions for one in page.entities}
    assert named["Hanna Quill"] == texts()[strike].count("Hanna Quill")
    text = seen.text(strike)
    assert "".join(part.text for part in text.parts) == texts()[strike]
    marked = [
        (part.text, text.entities[place].title) for part in text.parts for place in part.entities if part.text
    ]
    assert ("Hanna Quill", "Hanna Quill") in marked
    assert {title for _, title in marked} == set(named)
    whole = impact(Warehouse(), "coast", strike)
    found = seen.impact(strike)
    assert (found.counts, found.found["entities"]) == (whole.counts(), whole.entities.height)


def test_cited_characters_are_marked_in_the_text(seen: Explorer) -> None:
    (document,) = rows(tables.DOCUMENTS).filter(path="news/strike.md")["document_id"]
    text = texts()[document]
    found = seen.text(document, cited="20-60,90-95")
    said = "".join(part.text for part in found.parts if part.cited)
    assert said == text[20:60] + text[90:95]
    part = seen.text(document, 30, 50, "20-40")
    assert next(one.start for one in part.parts if one.cited) == 30
    assert "".join(one.text for one in part.parts) == text[30:50]
    assert (part.start, part.end, part.characters) == (30, 50, len(text))
    beyond = seen.text(document, 10**6)
    assert (beyond.start, beyond.end, beyond.parts) == (len(text), len(text), [])


@pytest.mark.parametrize("cited", ["60-20", "a-b", "1-2-3", "-5", "5", "1-2,", "٣-٤٤٤٤٤٤٤٤٤٤"])
def test_ranges_that_cannot_be_read_are_refused(seen: Explorer, cited: str) -> None:
    (document,) = rows(tables.DOCUMENTS).filter(path="news/strike.md")["document_id"]
    with pytest.raises(QuestionError, match="ranges of characters"):
        seen.text(document, cited=cited)


def test_names_and_texts_are_found_whatever_their_case(seen: Explorer) -> None:
    found = seen.find("HANNA quíll")
    assert [one.title for one in found.entities] == ["Hanna Quill"]
    assert found.passages_total == sum("Hanna Quill" in text for text in texts().values())
    assert {place.words for place in found.passages} == {"Hanna"}
    check_words(found.passages)
    assert found.reports
    assert found.reports[0].snippet.words == "Hanna"
    assert [one.path for one in seen.find("strike news").documents] == ["news/strike.md"]
    assert seen.find("no such words anywhere") == seen.find("no such words anywhere")
    assert seen.find("%").passages_total == 0
    for query in ("", "   ", "word " + "other" * 1_000, " ".join(map(str, range(21)))):
        with pytest.raises(QuestionError):
            seen.find(query)


@pytest.mark.long
def test_every_table_can_be_looked_through(seen: Explorer) -> None:
    views = seen.tables()
    assert len({view.name for view in views}) == len(views)
    for view in views:
        page = seen.table(view.name)
        assert (page.total, page.matching) == (view.rows, view.rows)
        assert page.columns == view.columns
        assert len(page.rows) == min(view.rows, 100)
        names = [column.name for column in page.columns]
        assert {one.column for one in page.links.values()} | set(page.links) <= set(names)
        shown = [column for column in view.columns if not column.hidden]
        for column in shown:
            assert seen.table(view.name, Order(column.name, descending=True)).matching == view.rows
        lines = list(csv.reader(io.StringIO("".join(seen.csv(view.name)))))
        assert lines[0] == [column.name for column in shown]
        assert len(lines) == view.rows + 1


def test_a_table_is_sorted_filtered_and_cut(seen: Explorer) -> None:
    degrees = [row[3] for row in seen.table("entities", Order("degree")).rows]
    assert degrees == sorted(rows(tables.ENTITIES)["degree"])
    found = seen.table("entities", Order(words="HANNA quill"))
    assert [row[1] for row in found.rows if row[1] == "Hanna Quill"] == ["Hanna Quill"]
    assert found.matching < found.total
    second = seen.table("entities", Order("title"), 1, 1)
    assert second.rows == seen.table("entities", Order("title")).rows[1:2]
    ((column, link),) = second.links.items()
    assert (column, link.kind, link.column) == ("title", "entity", "entity_id")
    assert seen.entity(str(second.rows[0][0])).title == second.rows[0][1]
    for name in ("entity_id", "title; drop table x", 'title"', "", "key entity_id"):
        with pytest.raises(QuestionError, match="to sort by"):
            seen.table("entities", Order(name))
    with pytest.raises(MissingError, match="there is no table"):
        seen.table("graph.entities")


def test_what_is_not_there_is_missing(seen: Explorer) -> None:
    for look in (
        seen.community,
        seen.members,
        seen.communities,
        seen.entity,
        seen.mentions,
        seen.neighbours,
        seen.document,
        seen.units,
        seen.text,
        seen.impact,
    ):
        with pytest.raises(MissingError, match="'nothing'"):
            look("nothing")
    for level in (7, 50):
        with pytest.raises(QuestionError, match=f"no level C{level}; there are C0"):
            seen.communities(level=level)
        with pytest.raises(QuestionError):
            seen.drawn(level)
