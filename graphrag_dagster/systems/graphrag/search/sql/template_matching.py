"""Matches a question to a query template, and composes the query with the selected documents."""

import re
from dataclasses import dataclass
from textwrap import dedent, indent

from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.storage.queries import Query
from graphrag_dagster.systems.graphrag.search.sql.document_scope import DocumentScope, ScopeError, scope_in
from graphrag_dagster.systems.graphrag.search.sql.document_templates import DOCUMENTS
from graphrag_dagster.systems.graphrag.search.sql.entity_templates import ENTITIES
from graphrag_dagster.systems.graphrag.search.sql.query_template import Template
from graphrag_dagster.systems.graphrag.search.sql.record_templates import COLUMNS, COUNTS
from graphrag_dagster.systems.graphrag.search.sql.slot_values import Filled, NoRelation, Unfit
from graphrag_dagster.systems.graphrag.search.sql.template_slots import fill
from graphrag_dagster.systems.graphrag.search.sql.words_in_texts import QUOTED, is_name

TEMPLATES = (*DOCUMENTS, *COUNTS, *COLUMNS, *ENTITIES)


#: Parts that a template's query may read like tables, each after those that it reads.
_PARTS = {
    "scope": """
        select document_id, path, "row", title, period_start as first_day, period_end as last_day,
            first_day || if(last_day > first_day, ' to ' || last_day, '') as date
        from corpus.documents left join corpus.document_periods p using (document_id)
        where coalesce(p.position, 0) = 0""",
    "numbers": """
        select document_id, number as "value" from corpus.document_metadata
        where key = any($column) and number is not null""",
    "mentions": """
        select distinct entity_id, text_unit_id, document_id, u.human_readable_id as place
        from (select entity_id, unnest(text_unit_ids) as text_unit_id from graph.entities)
            join corpus.text_chunks u using (text_unit_id)
            join scope using (document_id)""",
    "neighbours": """
        select source_id as own, target_id as entity_id, weight, relationship_id from graph.relationships
        union all
        select target_id, source_id, weight, relationship_id from graph.relationships""",
}
_READS = {"mentions": ("scope",)}

#: How many rows there are, and of dated ones how many are left out.
_COUNTS = {
    False: "(select count(*) from found) as total\nfrom found",
    True: "(select count(date) from found) as total, (select count(*) - count(date) from found) as undated\n"
    "from found\nwhere date is not null",
}


def is_limited(template: Template) -> bool:
    """Whether a template's query can be limited to some documents."""
    return bool({"scope", "mentions"} & _parts(template))


def compose_query(template: Template, filled: Filled, scope: DocumentScope, most: int) -> Query:
    """Return the query of a question.

    Its rows have the columns of the template, ``total``, how many rows there are, and of a dated template
    ``undated``, how many rows are left out.
    """
    used = _parts(template)
    parts = {name: dedent(sql).strip() for name, sql in _PARTS.items() if name in used}
    if conditions := scope.conditions():
        parts["scope"] += "".join(f"\n    and {one}" for one in conditions)
    parts["found"] = _fill_template(dedent(template.sql).strip(), filled)
    if not scope.conditions():
        # Entities of an imported graph may be named in no text.
        parts["found"] = parts["found"].replace("entities join mentions", "entities left join mentions")
    joined = ",\n".join(f"{name} as (\n{indent(sql, '    ')}\n)" for name, sql in parts.items())
    sql = (
        f"with {joined}\nselect *, {_COUNTS[template.dated]}\n"
        f"order by {_fill_template(template.order, filled)}\nlimit {most}"
    )
    parameters = {**filled.parameters, **scope.parameters()}
    return Query(template.name, reading_of(template, filled, scope), sql, parameters)


def reading_of(template: Template, filled: Filled, scope: DocumentScope) -> str:
    """Return how the question was read, in words."""
    named = f" named in documents{scope.description}" if scope.description else ""
    return template.says.format(where=scope.description, named=named, **{"what": "entities", **filled.words})


def _fill_template(sql: str, filled: Filled) -> str:
    return sql.format(**{"of_type": "true", "groups": "", **filled.pieces})


def _parts(template: Template) -> set[str]:
    named = {name for name in _PARTS if re.search(rf"\b{name}\b", template.sql)}
    return named.union(*(_READS.get(name, ()) for name in named))


#: Longer questions count nothing.
LONGEST = 300
#: Stands for quoted words.
_HIDDEN = "\ue000"
#: A name in the question is a part of one of the graph.
_GUESSED = 0.6
_POLITE = re.compile(
    r"\A(?:please|can you|could you|would you|tell me|show me|give me|i want to know|what(?:'s| is| are) the"
    r"(?= (?:number|count)\b)|the(?= number\b)|and|[,:\s])+\s*",
    re.IGNORECASE,
)
_ENDING = re.compile(r"(?:\s*,?\s*please)?[\s?.!]*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Recognised:
    """A question of the form of a template, what its slots became, and the documents that it means."""

    template: Template
    filled: Filled
    scope: DocumentScope

    @property
    def most(self) -> int:
        """Rows that are shown."""
        return int(self.filled.words.get("most", self.template.most))

    @property
    def dated(self) -> bool:
        """Whether only documents count that have a day."""
        return self.template.dated or self.scope.days is not None

    @property
    def query(self) -> Query:
        """The query that answers the question."""
        return compose_query(self.template, self.filled, self.scope, self.most)


@dataclass(frozen=True, slots=True)
class Fit:
    """Match of a question with a query over the tables.

    Attributes:
        score: 1 for a question of the form of a template whose names are all known, less where a name was
            taken for a longer one, 0 where no template fits.
        reason: what fits, or why nothing does.
        recognised: the question as the template has it; None where none fits.
        refused: the question is one for a query, but the graph has nothing that could be counted.
    """

    score: float
    reason: str
    recognised: Recognised | None = None
    refused: bool = False


def match_question(question: str, index: IndexSnapshot) -> Fit:
    """Return how well a query over the tables answers a question; runs none and asks no model.

    Args:
        question: in English; anything else fits no template.
        index: of the corpus.
    """
    if len(question) > LONGEST:
        return Fit(0.0, f"a question of more than {LONGEST} characters has the form of no template")
    bare = bare_question(question)
    # Quoted words are looked for in the texts, and say nothing of which documents.
    quoted = [one[0] for one in QUOTED.finditer(bare)]
    try:
        scope, rest = scope_in(QUOTED.sub(_HIDDEN, bare), index)
    except ScopeError as error:
        return Fit(0.0, str(error))
    for words in quoted:
        rest = rest.replace(_HIDDEN, words, 1)
    missed: list[Unfit] = []
    literal = _first_recognised(bare, DocumentScope(), index, missed) if rest != bare else None
    # A year or place may be a part of a name: the Gale of 1911.
    if literal and literal.filled.entities and all(is_name(one, index) for one in literal.filled.entities):
        return _rate_fit(literal)
    if recognised := _first_recognised(rest, scope, index, missed) or literal:
        return _rate_fit(recognised)
    best = max(missed, key=lambda one: one.weight, default=None)
    why = str(best) if best else "the question has the form of no template"
    return Fit(0.0, why, refused=isinstance(best, NoRelation))


def _first_recognised(
    asked: str, scope: DocumentScope, index: IndexSnapshot, missed: list[Unfit]
) -> Recognised | None:
    for template in TEMPLATES:
        try:
            if recognised := _recognise(template, asked, scope, index):
                return recognised
        except Unfit as reason:
            missed.append(reason)
    return None


def bare_question(question: str) -> str:
    """Return a question without politeness, and without what ends it."""
    return _ENDING.sub("", _POLITE.sub("", " ".join(question.split())))


def _recognise(
    template: Template, asked: str, scope: DocumentScope, index: IndexSnapshot
) -> Recognised | None:
    """The question as a template has it; None where it has another form.

    Raises:
        Unfit: it has the form, but says what is nothing of this corpus.
    """
    missed: Unfit | None = None
    for pattern in template.patterns:
        if found := pattern.fullmatch(asked):
            try:
                filled = fill(template, found.groupdict(), index)
            except Unfit as reason:
                missed = max(missed or reason, reason, key=lambda one: one.weight)
                continue
            if scope.description and not is_limited(template):
                raise Unfit(f"this cannot be limited to documents{scope.description}", 2)
            return Recognised(template, filled, scope)
    if missed:
        raise missed
    return None


def _rate_fit(recognised: Recognised) -> Fit:
    guessed = "; ".join(recognised.filled.guessed)
    reading = recognised.query.reading
    if guessed:
        return Fit(_GUESSED, f"{reading} ({guessed})", recognised)
    return Fit(1.0, reading, recognised)
