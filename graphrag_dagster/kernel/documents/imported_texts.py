"""Documents and text units of imported graphs, as those of a corpus."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.tables.core_tables import DOCUMENTS, TEXT_CHUNKS
from graphrag_dagster.kernel.text.tokenization import get_tokenizer

#: How text units of a graph were cut: elsewhere.
STRATEGY = "imported"
_DATES = ("creation_date", "date")
_BETWEEN = "\n\n"

SERVER = "neo4j server"


@dataclass(frozen=True, slots=True)
class ImportedTexts:
    """``documents``: rows of ``corpus.documents``; ``text_units``: rows of ``corpus.text_chunks``."""

    documents: pl.DataFrame
    text_units: pl.DataFrame


def imported_texts(documents: pl.DataFrame, text_units: pl.DataFrame, encoding: str) -> ImportedTexts:
    """Return the documents of graphs with their text units where these stand in them.

    A text unit is of the first document that it names. A document without text, or in whose text its units
    do not stand, is made of them, one after the other; so is, for each graph, one document of the units
    that name none.

    Args:
        documents: rows of ``imports.documents``.
        text_units: rows of ``imports.text_units``; of several with the same id the first counts.
        encoding: tokenizer that the units' tokens are counted with.
    """
    given = {(row["graph"], row["key"]): row for row in _rows(documents)}
    units = _by_document(_rows(text_units.unique("text_unit_id", keep="first", maintain_order=True)), given)
    made = [
        _ImportedDocument(given.get(of) or _placeholder_document(units[of]), units.get(of, ()))
        for of in dict.fromkeys([*given, *units])
    ]
    numbered = list(enumerate(made))
    placed = [row for one in made for row in one.unit_rows()]
    tokens = get_tokenizer(encoding).counts([str(row["text"]) for row in placed])
    same = {"encoding": encoding, "strategy": STRATEGY}
    return ImportedTexts(
        DOCUMENTS.rows({**one.row(), "human_readable_id": number} for number, one in numbered),
        TEXT_CHUNKS.rows(
            {**row, **same, "human_readable_id": number, "tokens": count}
            for number, (row, count) in enumerate(zip(placed, tokens, strict=True))
        ),
    )


def _rows(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    return frame.sort("path", "row").iter_rows(named=True)


def _by_document(
    units: Iterator[dict[str, Any]], given: Mapping[tuple[str, str], object]
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for unit in units:
        named = [(unit["graph"], key) for key in unit["document_keys"]]
        found[next((one for one in named if one in given), (unit["graph"], ""))].append(unit)
    return found


def _placeholder_document(units: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = units[0]
    title = f"text units of {first['graph']}"
    return {"path": first["path"], "row": None, "key": "", "title": title, "text": "", "attributes": "{}"}


class _ImportedDocument:
    """A document of a graph, with the text units that are of it."""

    def __init__(self, given: Mapping[str, Any], units: Sequence[Mapping[str, Any]]) -> None:
        self._given = given
        self._units = units
        places = _find_units(given["text"], units) if given["text"] else None
        self.text: str = given["text"] if places is not None else _BETWEEN.join(one["text"] for one in units)
        self._places = places if places is not None else _consecutive_starts(units)
        self.document_id = stable_id(self.text, given["key"], given["title"])

    def row(self) -> dict[str, object]:
        """The row of ``corpus.documents``, without its number."""
        given, said = self._given, json.loads(self._given["attributes"])
        return {
            "document_id": self.document_id,
            "path": given["path"],
            "row": None if given["row"] is None else given["row"] - 1,
            "source_id": given["key"] or None,
            "title": given["title"] or given["key"],
            "text": self.text,
            "characters": len(self.text),
            "date": next((str(said[name]) for name in _DATES if said.get(name)), None),
            "metadata": given["attributes"],
        }

    def unit_rows(self) -> Iterator[dict[str, object]]:
        """The rows of ``corpus.text_chunks``, without numbers and tokens, in the order of the text."""
        placed = sorted(zip(self._places, range(len(self._units)), strict=True))
        for position, (start, number) in enumerate(placed):
            unit = self._units[number]
            yield {
                "text_unit_id": unit["text_unit_id"],
                "document_id": self.document_id,
                "position": position,
                "start_char": start,
                "end_char": start + len(unit["text"]),
                "text": unit["text"],
            }


def _find_units(text: str, units: Sequence[Mapping[str, Any]]) -> list[int] | None:
    """Start of each unit in a text, each searched from the previous one on; None if not found."""
    places: list[int] = []
    for unit in units:
        after = places[-1] if places else 0
        place = text.find(unit["text"], after)
        if place < 0 and (place := text.find(unit["text"])) < 0:
            return None
        places.append(place)
    return places


def _consecutive_starts(units: Sequence[Mapping[str, Any]]) -> list[int]:
    places, place = [], 0
    for unit in units:
        places.append(place)
        place += len(unit["text"]) + len(_BETWEEN)
    return places
