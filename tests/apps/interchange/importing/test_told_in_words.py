"""A graph without texts is searched as sentences, each of which leads to its row."""

from dataclasses import replace

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.questions.context.context_units import without_record_words
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.finding import PassageVectors
from graphrag_dagster.kernel.tables import (
    COMMUNITIES,
    COMMUNITY_LEVELS,
    COMMUNITY_REPORTS,
    DOCUMENT_METADATA,
    DOCUMENT_PERIODS,
    DOCUMENTS,
    ENTITIES,
    IMPORTED_ENTITIES,
    IMPORTED_RELATIONS,
    RELATIONSHIPS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
    TEXT_CHUNKS,
)
from graphrag_dagster.kernel.tasks.task_ports import Quote
from graphrag_dagster.kernel.text.evidence import Row
from graphrag_dagster.kernel.text.markup_spans import Span
from support.axis_vectors import FirstAxis

NAMES = st.sampled_from(["Ada Kvist", "Mr. & Mrs. Vask", "Bo\nTarn", "Port Ellery.", "Ä. 潮"])
TRIPLES = st.lists(
    st.tuples(NAMES, st.sampled_from(["knows", "$", "lives in"]), NAMES), min_size=1, max_size=40
)


def snapshot(triples: list[tuple[str, str, str]]) -> IndexSnapshot:
    place = {"path": "t.csv", "graph": "t.csv", "text_unit_keys": [], "attributes": "{}"}
    statements = IMPORTED_RELATIONS.rows(
        {
            "row": row,
            "head_key": head,
            "tail_key": tail,
            "head": head,
            "tail": tail,
            "label": label,
            "relation": label,
            "weight": 1.0,
            "description": "",
            "said": f"{head} {label} {tail}",
            "outcome": "loop" if head == tail else "read",
            **place,
        }
        for row, (head, label, tail) in enumerate(triples, 1)
    )
    named = sorted({name for head, _, tail in triples for name in (head, tail)})
    entities = ENTITIES.rows(
        {
            "entity_id": f"e{number}",
            "human_readable_id": number,
            "name": name,
            "title": name,
            "names": [name],
            "type": "T",
            "description": "",
            "description_engine": "as_is",
            "text_unit_ids": [],
            "frequency": 0,
            "instances": 1,
            "degree": 1,
        }
        for number, name in enumerate(named)
    )
    declared = IMPORTED_ENTITIES.rows(
        {
            "row": 1,
            "key": name,
            "name": name,
            "title": name,
            "type": "T",
            "description": "the  first.",
            **place,
            "path": "n.csv",
        }
        for name in named[:1]
    )
    empty = {
        "documents": DOCUMENTS,
        "text_chunks": TEXT_CHUNKS,
        "relationships": RELATIONSHIPS,
        "communities": COMMUNITIES,
        "community_levels": COMMUNITY_LEVELS,
        "reports": COMMUNITY_REPORTS,
        "findings": REPORT_FINDINGS,
        "references": REPORT_REFERENCES,
        "metadata": DOCUMENT_METADATA,
        "periods": DOCUMENT_PERIODS,
    }
    frames = {name: table.empty() for name, table in empty.items()}
    return IndexSnapshot(**frames, entities=entities, statements=statements, declared=declared)


class CountedEmbedder(FirstAxis):
    """Counts the texts that it embeds."""

    texts = 0

    def embed(self, texts):
        self.texts += len(texts)
        return super().embed(texts)


@given(triples=TRIPLES)
def test_every_sentence_leads_to_its_row_and_every_row_has_one(triples: list[tuple[str, str, str]]) -> None:
    whole = snapshot(triples)
    index = without_record_words(whole)
    told: dict[str, str] = {}
    for unit in index.text_chunks.iter_rows(named=True):
        start = 0
        for line in unit["text"].split("\n"):
            for at in (start, start + len(line) // 2):
                row = index.evidence_of(Quote(unit["text_unit_id"], Span(at, start + len(line))))
                assert isinstance(row, Row)
            told[row.key] = line
            start += len(line) + 1
    stated = whole.statements.filter(pl.col("outcome") == "read")
    wanted = {f"t.csv:{row}": said for row, said in stated.select("row", "said").iter_rows()}
    for key, said in wanted.items():
        assert told[key] == " ".join(said.split()).strip(" .") + "."
    assert set(told) == {*wanted, "n.csv:1"}
    naming = dict(index.entities.select("name", "text_unit_ids").iter_rows())
    units = dict(index.text_chunks.select("text_unit_id", "text").iter_rows())
    for head, label, tail in triples:
        if head != tail:
            said = " ".join(f"{head} {label} {tail}".split()).strip(" .")
            assert any(said in units[one] for one in naming[head])
            assert any(said in units[one] for one in naming[tail])


def test_a_snapshot_with_texts_or_of_documents_stays_as_it_is() -> None:
    whole = snapshot([("Ada Kvist", "knows", "Bo\nTarn")])
    unit = {**dict.fromkeys(TEXT_CHUNKS.column_names), "text_unit_id": "u", "text": "Ada knows Bo."}
    with_texts = replace(whole, text_chunks=pl.DataFrame([unit], schema=TEXT_CHUNKS.types()))
    of_documents = replace(whole, statements=None, declared=None)
    assert without_record_words(of_documents) is of_documents
    assert without_record_words(with_texts) is with_texts


def test_passages_are_embedded_once_for_each_embedder() -> None:
    told = without_record_words(
        snapshot([("Ada Kvist", "knows", "Bo\nTarn"), ("Bo\nTarn", "$", "Ada Kvist")])
    )
    embedders = [CountedEmbedder("one"), CountedEmbedder("one"), CountedEmbedder("two")]
    first, again, another = [told.once(PassageVectors).by(one) for one in embedders]
    assert first is again is not another
    assert [one.texts for one in embedders] == [2, 0, 2]
    assert another.unit_vectors["embedder"].to_list() == ["two"] * 2
    assert sorted(first.unit_vectors["text_unit_id"]) == sorted(told.text_chunks["text_unit_id"])
    assert told.unit_vectors is None
