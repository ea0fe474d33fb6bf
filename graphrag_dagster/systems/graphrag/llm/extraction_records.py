"""Converts the fields of one record from a model to an instance, repaired where that is safe."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from graphrag_dagster.engines.extractive.text_spans import TextPlaces
from graphrag_dagster.kernel.graph.graph_labels import RELATED_TO, is_weight, relation_label
from graphrag_dagster.kernel.models.chat.reply_parsing import with_normalised_keys
from graphrag_dagster.kernel.tasks.task_ports import ClaimInstance, EntityInstance, RelationshipInstance
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.text_similarity import clean, normalise

RecordType = Literal["entity", "relationship", "claim"]
Status = Literal["TRUE", "FALSE", "SUSPECTED"]
Instance = EntityInstance | RelationshipInstance | ClaimInstance

_NUMBER = re.compile(r"\s*[\[(\"']*\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)")
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)?)?")
NOTHING = frozenset({"", "NONE", "NULL", "N/A", "NA", "UNKNOWN", "NOT SPECIFIED", "UNSPECIFIED", "-"})
#: Characters of a field, and of one that is a name; no text of a reply within its limit has as many.
_LONGEST, _LONGEST_NAME = 20_000, 1_000
_WRAPPED = re.compile(r"\A[<\[({]+(?P<inside>[^<>\[\](){}]*)[>\])}]+\Z")
_STATUSES: tuple[Status, ...] = get_args(Status)

#: The names under which models give each field; the first is the one the prompts ask for.
_KEYS: Mapping[RecordType, Mapping[str, tuple[str, ...]]] = {
    "entity": {
        "name": ("name", "entity_name", "entity", "title", "id"),
        "type": ("type", "entity_type", "category", "label"),
        "description": ("description", "entity_description", "summary", "desc"),
    },
    "relationship": {
        "source": ("source", "source_entity", "source_name", "from", "head", "subject"),
        "target": ("target", "target_entity", "target_name", "to", "tail", "object"),
        "description": ("description", "relationship_description", "explanation", "relation", "relationship"),
        "strength": ("strength", "relationship_strength", "weight", "score"),
    },
    "claim": {
        "subject": ("subject", "subject_entity", "subject_name", "entity"),
        "object": ("object", "object_entity", "object_name"),
        "type": ("type", "claim_type"),
        "status": ("status", "claim_status"),
        "start_date": ("start_date", "claim_start_date", "start"),
        "end_date": ("end_date", "claim_end_date", "end"),
        "description": ("description", "claim_description", "claim"),
        "quotes": ("quotes", "source_quotes", "quote", "source_text", "claim_source_text"),
    },
}
#: The same where relationships were asked for with labels.
_LABELLED_KEYS: Mapping[str, tuple[str, ...]] = {
    **_KEYS["relationship"],
    "relation": ("relation", "label", "relation_label", "relation_type", "relationship_type", "predicate"),
}


class BadRecord(Exception):
    """A record that lacks what it cannot do without; its text is the reason."""


@dataclass(slots=True)
class Fields:
    """The fields of one record under the names of the prompts; ``mended`` says what was done to it."""

    values: Mapping[str, object]
    mended: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, record: RecordType, given: Mapping[Any, object], *, labelled: bool = False) -> "Fields":
        """Take the fields from a JSON object, under whatever names the model gave them.

        Args:
            record: what it is.
            given: the object.
            labelled: relationships were asked for with labels; then each has one, which may be blank.
        """
        lower = with_normalised_keys(given)
        fields = cls({})
        wants_label = labelled and record == "relationship"
        values: dict[str, object] = {"relation": ""} if wants_label else {}
        for name, aliases in (_LABELLED_KEYS if wants_label else _KEYS[record]).items():
            found = name if name in lower else next((alias for alias in aliases if alias in lower), None)
            if found is not None:
                values[name] = lower[found]
                if found != name:
                    fields.mended.append(f"{found} read as {name}")
        fields.values = values
        return fields

    def refuse_long(self) -> None:
        """Raise BadRecord where a field is longer than any that means something."""
        for name, value in self.values.items():
            if (length := len(str(value))) > _LONGEST:
                raise BadRecord(f"the {name} has {length:,} characters; at most {_LONGEST:,} are taken")

    def text(self, name: str) -> str:
        """Return a field cleaned, on one line; lists are joined, None is empty."""
        value = self.values.get(name)
        if isinstance(value, list | tuple):
            return clean(" ".join(str(part) for part in value))
        return "" if value is None or isinstance(value, dict) else clean(str(value))

    def name(self, name: str) -> str:
        """Return a field that is a name, without the brackets of a copied template.

        Raises:
            BadRecord: it is empty, or too long to be a name.
        """
        text = self.text(name)
        if wrapped := _WRAPPED.match(text):
            self.mended.append(f"brackets round the {name}")
            text = clean(wrapped["inside"])
        if not any(char.isalnum() for char in text):
            raise BadRecord(f"the {name} is missing")
        if len(text) > _LONGEST_NAME:
            raise BadRecord(f"the {name} has {len(text):,} characters; at most {_LONGEST_NAME:,} are taken")
        return text

    def description(self) -> str:
        """Return the description, which may be missing."""
        text = self.text("description")
        if not text:
            self.mended.append("no description")
        return text


def make_entity(fields: Fields, places: TextPlaces, round_: int) -> EntityInstance:
    """Return the entity of a record; a missing type becomes UNKNOWN, a missing description empty.

    Raises:
        BadRecord: no name.
    """
    surface = fields.name("name")
    kind = clean(fields.text("type").strip("<>[](){}.,:;* ")).upper()
    if not kind:
        fields.mended.append("no type")
    name = normalise(surface)
    spans = places.name(surface) or places.name(name)
    return EntityInstance(name, surface, kind or "UNKNOWN", fields.description(), round_, spans)


def make_relationship(fields: Fields, places: TextPlaces, round_: int) -> RelationshipInstance:
    """Return the relationship of a record; a strength that is no number becomes 1.

    Its label is ``related_to`` where none was asked for, or what came is none.

    Raises:
        BadRecord: an end is missing.
    """
    source, target = fields.name("source"), fields.name("target")
    spans = places.sentences_with(places.name(source), places.name(target))
    return RelationshipInstance(
        normalise(source),
        normalise(target),
        fields.description(),
        _strength(fields),
        "model",
        round_,
        spans,
        _relation(fields),
    )


def make_claim(fields: Fields, places: TextPlaces, round_: int) -> ClaimInstance:
    """Return the claim of a record; its spans are where its quotes stand.

    Raises:
        BadRecord: no subject, or no description.
    """
    subject = normalise(fields.name("subject"))
    description = fields.text("description")
    if not description:
        raise BadRecord("the description is missing")
    status = _status(fields)
    object_ = fields.text("object")
    kind = clean(fields.text("type").strip("<>[](){} ")).upper()
    if not kind:
        fields.mended.append("no type")
    return ClaimInstance(
        subject,
        None if object_.upper() in NOTHING else normalise(object_),
        kind or "UNKNOWN",
        status,
        description,
        _date(fields, "start_date"),
        _date(fields, "end_date"),
        round_,
        _quoted_spans(fields, places),
    )


def _relation(fields: Fields) -> str:
    if "relation" not in fields.values:
        return RELATED_TO
    given = fields.text("relation")
    label = relation_label(given)
    if label is None:
        fields.mended.append(f"relation {given!r} read as {RELATED_TO}")
    return label or RELATED_TO


def _strength(fields: Fields) -> float:
    given = fields.text("strength")
    number = _NUMBER.match(given)
    strength = float(number[1]) if number else math.nan
    if not is_weight(strength):
        fields.mended.append(f"strength {given!r} read as 1")
        return 1.0
    return strength


def _status(fields: Fields) -> Status:
    given = fields.text("status").upper()
    for status in _STATUSES:
        if given == status:
            return status
    fields.mended.append(f"status {given!r} read as SUSPECTED")
    return "SUSPECTED"


def _date(fields: Fields, name: str) -> str | None:
    given = fields.text(name)
    if given.upper() in NOTHING:
        return None
    if _DATE.fullmatch(given):
        return given
    fields.mended.append(f"{name} {given!r} is no ISO 8601 date")
    return None


def _quoted_spans(fields: Fields, places: TextPlaces) -> tuple[Span, ...]:
    quotes = fields.values.get("quotes")
    each = quotes if isinstance(quotes, list | tuple) else [quotes]
    spans = (span for quote in each if quote for span in places.quote(clean(str(quote))))
    return tuple(sorted(set(spans)))
