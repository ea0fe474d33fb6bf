"""Questions that a corpus can be asked to begin with, made of its own names and without a model."""

from collections.abc import Iterable, Iterator

from graphrag_dagster.apps.explorer.open_snapshots import OpenSnapshot
from graphrag_dagster.kernel.tables import core_tables as tables

MOST_QUESTIONS = 6
#: A longer question of the corpus's own list would not fit where it is offered.
_LONGEST_QUESTION = 300
#: Names that stand well in a sentence: one line of letters, figures and the signs that names have.
_NAME = r"[\p{L}\p{N}][\p{L}\p{M}\p{N} .'’&/()–-]{0,58}"
#: Entities looked through for usable names.
_MOST_ENTITIES = 50
_PERSON = "PERSON"


def example_questions(shown: OpenSnapshot, listed: Iterable[str]) -> list[str]:
    """Return at most six questions, the same whenever they are asked for.

    Those of the corpus's own list come first. The others ask for its most connected entities, for the two
    that are most strongly related, and for the main themes.

    Args:
        shown: the snapshot.
        listed: questions of the corpus's own list.
    """
    own = (" ".join(one.split()) for one in listed)
    questions = [*(one for one in own if 0 < len(one) <= _LONGEST_QUESTION), *_made(shown)]
    return list(dict.fromkeys(questions))[:MOST_QUESTIONS]


def _made(shown: OpenSnapshot) -> Iterator[str]:
    if not shown.published.rows("graph.entities"):
        return
    entities = shown.rows(
        f"""
        select title, upper(type) = '{_PERSON}' and contains(title, ' ') as is_person
        from {shown[tables.ENTITIES]} where regexp_full_match(title, $name)
        order by degree desc, frequency desc, entity_id limit {_MOST_ENTITIES}
        """,
        name=_NAME,
    )
    # Many names of a single word that pass for people are none, such as Prometheus.
    people = [one["title"] for one in entities if one["is_person"]]
    others = [one["title"] for one in entities if not one["is_person"]]
    if people:
        yield f"Who is {people[0]}?"
    elif others:
        yield f"What is {others[0]}?"
    yield from _connected(shown)
    yield "What are the main themes?"
    if others:
        yield f"What is {others[0]}?"
    if len(others) > 1:
        yield f"How many documents mention {others[1]}?"
    if len(people) > 1:
        yield f"Who is {people[1]}?"


def _connected(shown: OpenSnapshot) -> Iterator[str]:
    pair = shown.row(
        f"""
        select s.title as one, t.title as other
        from {shown[tables.RELATIONSHIPS]} as r
        join {shown[tables.ENTITIES]} as s on s.entity_id = r.source_id
        join {shown[tables.ENTITIES]} as t on t.entity_id = r.target_id
        where regexp_full_match(s.title, $name) and regexp_full_match(t.title, $name)
            and s.entity_id <> t.entity_id
        order by r.weight desc, s.degree + t.degree desc, r.relationship_id limit 1
        """,
        name=_NAME,
    )
    if pair:
        yield f"How are {pair['one']} and {pair['other']} connected?"
