"""Recognises the template that a question matches."""

import re
from dataclasses import dataclass

from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.context.queries import Query
from graphrag_dagster.systems.graphrag.search.sql.composing import composed, limited
from graphrag_dagster.systems.graphrag.search.sql.scope import Scope, ScopeError, scope_in
from graphrag_dagster.systems.graphrag.search.sql.slots import Filled, Unfit, fill
from graphrag_dagster.systems.graphrag.search.sql.template import Template
from graphrag_dagster.systems.graphrag.search.sql.templates import TEMPLATES

#: Longer questions count nothing.
LONGEST = 300
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
    scope: Scope

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
        return composed(self.template, self.filled, self.scope, self.most)


@dataclass(frozen=True, slots=True)
class Fit:
    """Match of a question with a query over the tables.

    Attributes:
        score: 1 for a question of the form of a template whose names are all known, less where a name was
            taken for a longer one, 0 where no template fits.
        reason: what fits, or why nothing does.
        recognised: the question as the template has it; None where none fits.
    """

    score: float
    reason: str
    recognised: Recognised | None = None


def fits(question: str, index: IndexSnapshot) -> Fit:
    """Return how well a query over the tables answers a question; runs none and asks no model.

    Args:
        question: in English; anything else fits no template.
        index: of the corpus.
    """
    if len(question) > LONGEST:
        return Fit(0.0, f"a question of more than {LONGEST} characters has the form of no template")
    bare = bare_question(question)
    try:
        scope, rest = scope_in(bare, index)
    except ScopeError as error:
        return Fit(0.0, str(error))
    missed: list[Unfit] = []
    for asked, limits in ((rest, scope), (bare, Scope())) if rest != bare else ((bare, scope),):
        for template in TEMPLATES:
            try:
                recognised = _recognised(template, asked, limits, index)
            except Unfit as reason:
                missed.append(reason)
                continue
            if recognised:
                return _fit(recognised)
    best = max(missed, key=lambda one: one.weight, default=None)
    return Fit(0.0, str(best) if best else "the question has the form of no template")


def bare_question(question: str) -> str:
    """Return a question without politeness, and without what ends it."""
    return _ENDING.sub("", _POLITE.sub("", " ".join(question.split())))


def _recognised(template: Template, asked: str, scope: Scope, index: IndexSnapshot) -> Recognised | None:
    """The question as a template has it; None where it has another form.

    Raises:
        Unfit: it has the form, but says what is nothing of this corpus.
    """
    missed = None
    for pattern in template.patterns:
        if found := pattern.fullmatch(asked):
            try:
                filled = fill(template, found.groupdict(), index)
            except Unfit as reason:
                missed = reason
                continue
            if scope.said and not limited(template):
                raise Unfit(f"this cannot be limited to documents{scope.said}", 2)
            return Recognised(template, filled, scope)
    if missed:
        raise missed
    return None


def _fit(recognised: Recognised) -> Fit:
    guessed = "; ".join(recognised.filled.guessed)
    reading = recognised.query.reading
    if guessed:
        return Fit(_GUESSED, f"{reading} ({guessed})", recognised)
    return Fit(1.0, reading, recognised)
