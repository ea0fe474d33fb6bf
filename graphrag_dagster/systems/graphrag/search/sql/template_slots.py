"""Fills the slots of a query template from the words of a question: entity types, columns, measures.

Every piece of SQL is one of this module; what a question says is only ever a parameter.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.kernel.questions.context.index_retriever import retriever_of
from graphrag_dagster.kernel.questions.context.index_snapshot import LONGEST_PATH, MOST_ROWS, IndexSnapshot
from graphrag_dagster.kernel.retrieval.search_words import fold_name, words
from graphrag_dagster.systems.graphrag.search.sql.query_template import Template
from graphrag_dagster.systems.graphrag.search.sql.relation_labels import fill_relations
from graphrag_dagster.systems.graphrag.search.sql.slot_values import Filled, NoRelation, Unfit
from graphrag_dagster.systems.graphrag.search.sql.words_in_texts import fill_words

#: Words for the same type; a corpus calls it by one of them.
_SYNONYMS = tuple(
    frozenset(alternatives.split(", "))
    for alternatives in (
        "person, people, individual, human, man, woman, who",
        "organization, organisation, org, company, firm, business, institution, body, agency, enterprise",
        "geo, place, location, city, town, country, region, gpe, loc, site",
        "event, happening, occurrence",
        "vessel, ship, boat",
        "law, statute, regulation, legal act",
        "work, publication, title",
        "concept, idea, notion",
        "product, article, good",
    )
)
_ANY = frozenset({"entity", "thing", "name", "node", "what", "any"})
_NUMBERED = {"people": "person", "men": "man", "women": "woman", "persons": "person"}
_ES = re.compile(r"(?:s|x|z|ch|sh)es\Z")
_NOT_PLURAL = ("ss", "us", "is")
_BEFORE = re.compile(
    r"\A(?:(?:all|the|of|different|distinct|unique|named|other|which|what|how many|entities of type|type)"
    r"\s+)+",
    re.IGNORECASE,
)
_AFTER = re.compile(r"\s+(?:entities|entity)\Z", re.IGNORECASE)
_JOINED = re.compile(r"\s*(?:,|/|\band\b|\bor\b)\s*", re.IGNORECASE)


def types_named(phrase: str, index: IndexSnapshot) -> tuple[str, ...] | None:
    """Return the types of a corpus that a phrase names, in order; none for entities of whatever type.

    Returns:
        None where a part of the phrase names no type of the corpus.
    """
    known = index.once(_by_word)
    if not phrase.strip():
        return ()
    bare = _BEFORE.sub("", phrase.strip())
    found: dict[str, None] = {}
    for part in filter(None, _JOINED.split(bare)) if bare else (phrase,):
        inner = _AFTER.sub("", part)
        word = _singular(inner)
        if word in _ANY or inner.lower() in {"entity", "entities"}:
            return ()
        if word not in known:
            # Whoever it is, where a corpus has no people.
            return () if word == "who" else None
        found.update(dict.fromkeys(known[word]))
    return tuple(found)


def _by_word(index: IndexSnapshot) -> Mapping[str, tuple[str, ...]]:
    own: dict[str, tuple[str, ...]] = {}
    for one in sorted(index.entities["type"].unique()):
        own[_singular(one)] = (*own.get(_singular(one), ()), one)
    alike: dict[str, tuple[str, ...]] = {}
    for alternatives in _SYNONYMS:
        types = tuple(one for word in sorted(alternatives) for one in own.get(word, ()))
        if types:
            alike |= dict.fromkeys(alternatives, types)
    return alike | own


def _singular(alternatives: str) -> str:
    """The last of the words in the singular, all without case, accents and signs between them."""
    *before, last = fold_name(alternatives.replace("_", " ").replace("-", " ")).split() or [""]
    if last in _NUMBERED:
        last = _NUMBERED[last]
    elif last.endswith("ies") and len(last) > 4:
        last = last[:-3] + "y"
    elif _ES.search(last):
        last = last[:-2]
    elif last.endswith("s") and not last.endswith(_NOT_PLURAL):
        last = last[:-1]
    return " ".join([*before, last.replace("isation", "ization")])


_LONGEST_VALUE = 1000


@dataclass(frozen=True, slots=True)
class DocumentProperty:
    """Keys of the documents' metadata that are the same words; ``numeric``: some values are numbers."""

    keys: tuple[str, ...]
    numeric: bool

    @property
    def key(self) -> str:
        """As it is told: the first of the keys."""
        return self.keys[0]


def property_named(phrase: str, index: IndexSnapshot, *, numeric: bool = False) -> DocumentProperty | None:
    """Return the property that a phrase names, without case and signs; None for none."""
    known = index.once(_properties)
    wanted = tuple(words(phrase))
    shorter = (*wanted[:-1], wanted[-1].removesuffix("s")) if wanted else ()
    found = known.get(wanted) or known.get(shorter)
    return found if found and (found.numeric or not numeric) else None


def property_and_value(phrase: str, index: IndexSnapshot) -> tuple[DocumentProperty, str] | None:
    """Return the property that a phrase begins with, the longest, and the value that follows it."""
    parts = phrase.split()
    for count in range(len(parts) - 1, 0, -1):
        if found := property_named(" ".join(parts[:count]), index):
            rest = parts[count:]
            if rest[0].lower() in {"is", "=", "of", "equal"} and len(rest) > 1:
                rest = rest[1:]
            return found, " ".join(rest).strip("\"'“”")[:_LONGEST_VALUE]
    return None


def properties(index: IndexSnapshot) -> tuple[DocumentProperty, ...]:
    """Return the properties of all documents, in the order in which they come."""
    return tuple(index.once(_properties).values())


def _properties(index: IndexSnapshot) -> Mapping[tuple[str, ...], DocumentProperty]:
    values = index.metadata.group_by("key", maintain_order=True)
    found: dict[tuple[str, ...], DocumentProperty] = {}
    for key, numeric in values.agg(pl.col("number").is_not_null().any()).iter_rows():
        known = found.get(name := tuple(words(key)), DocumentProperty((), False))
        found[name] = DocumentProperty((*known.keys, key), known.numeric or numeric)
    return found


_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "twenty": 20, "fifty": 50, "hundred": 100,
}  # fmt: skip
_COMPARED = {
    "more than": ">", "over": ">", "above": ">", "at least": ">=", "fewer than": "<", "less than": "<",
    "under": "<", "below": "<", "at most": "<=", "exactly": "=", "": "=",
}  # fmt: skip
_COMPARE = re.compile(rf"(?P<how>{'|'.join(_COMPARED)})\s?(?P<number>\w+)", re.IGNORECASE)
_MEASURES = {
    "connect": "neighbours",
    "neighbo": "neighbours",
    "relation": "neighbours",
    "link": "neighbours",
} | {
    "document": "documents",
    "text unit": "text_units",
    "mention": "text_units",
    "named": "text_units",
}
_MEASURED = {
    "neighbours": "neighbours in the graph",
    "documents": "documents",
    "text_units": "text units",
}
#: What lasts longer than the group, as a whole year beside months, is a group of its own.
_TIMES = {
    name: f"strftime(first_day, '{form}') || "
    f"coalesce(' to ' || nullif(strftime(last_day, '{form}'), strftime(first_day, '{form}')), '')"
    for name, form in (("year", "%Y"), ("month", "%Y-%m"))
}
_GROUPS = _TIMES | {
    "day": "date",
    "date": "date",
    "folder": "regexp_replace(path, '/?[^/]*$', '')",
    "directory": "regexp_replace(path, '/?[^/]*$', '')",
    "file": "path",
    "type": "lower(regexp_extract(path, '[.]([^./]+)$', 1))",
    "file type": "lower(regexp_extract(path, '[.]([^./]+)$', 1))",
    "format": "lower(regexp_extract(path, '[.]([^./]+)$', 1))",
}
_AGGREGATES = {
    "average": "avg", "mean": "avg", "median": "median", "sum": "fsum", "total": "fsum",
    "minimum": "min", "min": "min", "lowest": "min", "smallest": "min",
    "maximum": "max", "max": "max", "highest": "max", "largest": "max",
}  # fmt: skip
_CONNECTED = re.compile(r"\b(?:directly )?(?:connected|linked|related|tied) (?:to|with)\b", re.IGNORECASE)
_FALLING = {"last", "latest", "newest", "most recent", "highest", "largest", "most"}
_MOST_NAMES_TOLD = 3
#: Words of what may have been meant as a type.
_LONGEST_TYPE = 3


def fill(template: Template, said: Mapping[str, str | None], index: IndexSnapshot) -> Filled:
    """Return what the words of a question become.

    Raises:
        Unfit: some of them are nothing of this corpus; says which.
    """
    filled = Filled()
    for slot in sorted(template.slots):
        _FILL[slot](filled, " ".join((said.get(slot) or "").split()), template, index)
    if filled.absent:
        raise NoRelation(f"the graph has no relation “{filled.absent}”")
    return filled


def _types(filled: Filled, said: str, _: Template, index: IndexSnapshot) -> None:
    if said.lower().startswith(("which ", "what ")) and (numbered := _COUNTED.match(said)):
        _n(filled, numbered["n"], _, index)
        said = numbered["rest"]
    types = types_named(said, index)
    if types is None and len(said.split()) > _LONGEST_TYPE:
        raise Unfit("the question has the form of no template", 0)
    if types is None:
        known = ", ".join(sorted(index.entities["type"].unique())[:20])
        raise Unfit(f"{said!r} is no type of entities here; the types are {known or 'none'}")
    filled.pieces["of_type"] = "type = any($types)" if types else "true"
    filled.words["what"] = f"entities of type {' or '.join(types)}" if types else "entities"
    if types:
        filled.parameters["types"] = list(types)


_COUNTED = re.compile(rf"(?:which|what)\s+(?P<n>\d+|{'|'.join(_NUMBERS)})\s+(?P<rest>.+)", re.IGNORECASE)


def _names(filled: Filled, said: str, template: Template, index: IndexSnapshot) -> None:
    retriever = retriever_of(index)
    named = retriever.entities_named(_CONNECTED.sub(" and ", said))
    if named.unknown:
        raise Unfit(f"no entity of the graph is called {', '.join(named.unknown[:_MOST_NAMES_TOLD])}", 3)
    least, most = template.names
    if not least <= len(named.places) <= most:
        many = f"{least} to {most}" if most > least else str(least)
        raise Unfit(f"the question names {len(named.places)} entities where it can name {many}", 2)
    entities = retriever.entities_at(named.places)
    filled.parameters["entities"] = [entity_id for entity_id, _ in entities]
    filled.entities = tuple(title for _, title in entities)
    filled.words["names"] = " and ".join(filled.entities)
    filled.guessed = named.guessed


def _subject(filled: Filled, said: str, template: Template, index: IndexSnapshot) -> None:
    """Words as those of texts, but only names: what documents are about need not be in their words."""
    if said:
        _names(Filled(), said, template, index)
    fill_words(filled, said, template, index)


def _n(filled: Filled, said: str, _: Template, __: IndexSnapshot) -> None:
    if said:
        filled.words["most"] = min(_number(said), MOST_ROWS)


def _number(said: str) -> int:
    number = int(said) if said.isdecimal() else _NUMBERS.get(said.lower())
    if not number:
        raise Unfit(f"{said!r} is no number of rows")
    return number


def _compare(filled: Filled, said: str, _: Template, __: IndexSnapshot) -> None:
    found = _COMPARE.fullmatch(said)
    number = found and (found["number"].isdecimal() or found["number"].lower() in _NUMBERS)
    if not found or not number:
        raise Unfit(f"{said!r} compares with no number")
    filled.pieces["compare"] = _COMPARED[found["how"].lower()]
    filled.parameters["number"] = int(_NUMBERS.get(found["number"].lower(), found["number"]))
    filled.words["compared"] = said.lower()


def _measure(filled: Filled, said: str, _: Template, __: IndexSnapshot) -> None:
    measure = next(one for begin, one in _MEASURES.items() if said.lower().startswith(begin))
    filled.pieces["measure"] = measure
    filled.words |= {"measure": measure, "measured": _MEASURED[measure]}


def _group(filled: Filled, said: str, _: Template, index: IndexSnapshot) -> None:
    known = _GROUPS.get(said.lower().removesuffix("s")) or _GROUPS.get(said.lower())
    if known:
        filled.pieces["group"] = known
    elif own := property_named(said, index):
        filled.pieces["group"] = "own.text"
        filled.pieces["groups"] = (
            "left join (select distinct document_id, text from corpus.document_metadata\n"
            "    where key = any($group_by)) own using (document_id)"
        )
        filled.parameters["group_by"] = list(own.keys)
    else:
        raise Unfit(f"documents cannot be grouped by {said!r}{_columns(index)}", 2)
    filled.words["by"] = said


def _column(filled: Filled, said: str, _: Template, index: IndexSnapshot) -> None:
    own = property_named(said, index, numeric=True)
    if own is None:
        raise Unfit(f"{said!r} is no column with numbers{_columns(index, numeric=True)}", 2)
    filled.parameters["column"] = list(own.keys)
    filled.words["column"] = own.key


def _column_value(filled: Filled, said: str, _: Template, index: IndexSnapshot) -> None:
    found = property_and_value(said, index)
    if found is None:
        raise Unfit(f"{said!r} begins with no column{_columns(index)}", 2)
    filled.parameters |= {"column": list(found[0].keys), "wanted": found[1]}
    filled.words |= {"column": found[0].key, "wanted": found[1]}


def _columns(index: IndexSnapshot, *, numeric: bool = False) -> str:
    known = [one.key for one in properties(index) if one.numeric or not numeric]
    return f"; the columns are {', '.join(known[:20])}" if known else "; this corpus has no such column"


def _aggregate(filled: Filled, said: str, _: Template, __: IndexSnapshot) -> None:
    filled.pieces["aggregate"] = _AGGREGATES[said.lower()]
    filled.words["aggregate"] = said.lower()


def _end(filled: Filled, said: str, _: Template, __: IndexSnapshot) -> None:
    falling = said.lower() in _FALLING
    filled.pieces |= {"direction": "desc" if falling else "asc", "outermost": "max" if falling else "min"}
    filled.words |= {"end": f"the {said.lower()}", "extreme": said.lower()}


def _steps(filled: Filled, said: str, _: Template, __: IndexSnapshot) -> None:
    if not said:
        return
    number = int(said) if said.isdecimal() else _NUMBERS[said.lower()]
    if not 1 <= number <= LONGEST_PATH:
        raise Unfit(f"a path can have 1 to {LONGEST_PATH} relations, not {said}", 2)
    filled.words["steps"] = number


def _does(filled: Filled, said: str, _: Template, index: IndexSnapshot) -> None:
    """Labels of relations from the named entities."""
    if said:
        fill_relations(filled, said, index, active=True)


def _inverse(filled: Filled, said: str, _: Template, index: IndexSnapshot) -> None:
    """Labels of relations to the named entities."""
    if said:
        fill_relations(filled, said, index, active=False)


_FILL: Mapping[str, Callable[[Filled, str, Template, IndexSnapshot], None]] = {
    "aggregate": _aggregate,
    "column_value": _column_value,
    "compare": _compare,
    "end": _end,
    "extreme": _end,
    "group": _group,
    "measure": _measure,
    "n": _n,
    "names": _names,
    "number": _column,
    "steps": _steps,
    "subject": _subject,
    "types": _types,
    "inverse": _inverse,
    "does": _does,
    "words": fill_words,
}
