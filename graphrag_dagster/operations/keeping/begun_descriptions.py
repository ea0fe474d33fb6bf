"""Descriptions that are asked for while names are still judged, those of all kinds of elements at once.

Which instances are one element is known when the names are resolved. Of most elements the rules alone know
it: their descriptions are merged while a model still says whether other names are one, and those of
relationships while those of entities are. Each step takes what was merged of its very groups.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING, Any

from graphrag_dagster.catalogue.registry import tasks
from graphrag_dagster.core.graph.merging import description_groups
from graphrag_dagster.core.language.tasks import DescriptionGroup, MergedDescription
from graphrag_dagster.core.progress import quietly
from graphrag_dagster.engines.ahead import in_whole_run
from graphrag_dagster.engines.session import Session
from graphrag_dagster.model_calls.memory.replies import User
from graphrag_dagster.operations.keeping.describing import describe
from graphrag_dagster.resources.duckdb_files.frames import frame_of
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse, qualified
from graphrag_dagster.tables import ALIASES, CLAIM_GROUPS, ENTITY_GROUPS, RELATIONSHIP_GROUPS, Table

if TYPE_CHECKING:
    from graphrag_dagster.core.resolution.frames import ByRule

#: Whose step merges the groups of a table.
USERS: Mapping[Table, str] = {
    ENTITY_GROUPS: "entities",
    RELATIONSHIP_GROUPS: "relationships",
    CLAIM_GROUPS: "claims",
}
_FOUND = "aliases_found"


@dataclass(frozen=True, slots=True)
class _Begun:
    """What is asked about, what came of it, and who asks."""

    session: Session
    asked: "Future[frozenset[DescriptionGroup]]" = field(default_factory=Future)
    merged: "Future[dict[DescriptionGroup, MergedDescription]]" = field(default_factory=Future)


#: By the user that the calls are booked to.
_begun: dict[User, _Begun] = {}


class DescriptionsAhead:
    """Begins the descriptions of a run while names are judged.

    Args:
        begun: who asks for each kind of elements.
        warehouse: with all that groups are made of but the names, which are still being resolved.
        corpus: its name.
        queries: a trusted ``select`` for each table of groups.
    """

    def __init__(
        self, begun: Mapping[Table, _Begun], warehouse: Warehouse, corpus: str, queries: Mapping[Table, str]
    ) -> None:
        self._begun = begun
        self._warehouse = warehouse
        self._corpus = corpus
        self._queries = queries

    def begin(self, by_rule: "Callable[[], ByRule | None]") -> None:
        """Begin what no model has still to rule on.

        Args:
            by_rule: finds out, in a thread, how the rules resolve the names; where names are judged at once
                it finds nothing, and all is left to the steps.
        """
        _begun.update({one.session.user: one for one in self._begun.values()})
        _in_thread("descriptions", self._ask, by_rule)

    def _ask(self, by_rule: "Callable[[], ByRule | None]") -> None:
        groups: Mapping[Table, list[DescriptionGroup]] = {}
        # What goes wrong is met with by the steps, which would have to wait for it once more.
        with suppress(BaseException):
            groups = self._settled_groups(known) if (known := by_rule()) else {}
        for table, one in self._begun.items():
            asked = groups.get(table)
            one.asked.set_result(frozenset(asked or ()))
            if asked is None:
                _begun.pop(one.session.user, None)
                one.merged.set_result({})
            else:
                _in_thread(USERS[table], _merge, one, asked, quiet=table is not ENTITY_GROUPS)

    def _settled_groups(self, known: "ByRule") -> dict[Table, list[DescriptionGroup]]:
        with self._warehouse.reading(self._corpus) as reader:
            connection = reader.connection
            connection.register("given", known.aliases.__arrow_c_stream__())
            connection.execute(f"create temp table {_FOUND} as from given")
            found = {
                table: frame_of(connection, query.replace(qualified(ALIASES), _FOUND))
                for table, query in self._queries.items()
            }
        return {
            table: [one for one in description_groups(rows) if _is_settled(one, known.unsettled)]
            for table, rows in found.items()
        }


def descriptions_ahead(
    language: Language, warehouse: Warehouse, corpus: str, run_id: str, queries: Mapping[Table, str]
) -> DescriptionsAhead | None:
    """Return what begins the descriptions of a run of which all steps are in this process.

    None where no model merges descriptions, where its replies are not waited for, and where the run has a
    limit: what a step may use depends on those before it.

    Args:
        language: opens the engines.
        warehouse: the corpora's files.
        corpus: its name.
        run_id: of the run.
        queries: a trusted ``select`` for each table of groups.
    """
    settings = language.corpora.settings(corpus)
    users = {table: User(corpus, USERS[table], run_id) for table in queries}
    begun = {table: _Begun(language.session_of(settings, user)) for table, user in users.items()}
    if not all(_may_begin(one.session) for one in begun.values()):
        return None
    return DescriptionsAhead(begun, warehouse, corpus, queries)


def begin_descriptions(session: Session, groups: Sequence[DescriptionGroup]) -> None:
    """Begin the descriptions of groups as they are, beside those that the caller asks for.

    Args:
        session: of the user that they are booked to.
        groups: all that its step will ask about.
    """
    if _may_begin(session) and session.user not in _begun:
        begun = _begun[session.user] = _Begun(session)
        begun.asked.set_result(frozenset(groups))
        _in_thread(session.user.asset, _merge, begun, groups, quiet=True)


def merged_descriptions(
    session: Session, groups: Sequence[DescriptionGroup]
) -> tuple[list[MergedDescription], Session]:
    """Return one description per group, those that were begun among them, and whose session asked for them.

    The arguments and errors are those of :func:`.describing.describe`.
    """
    begun = _begun.pop(session.user, None)
    if begun is None:
        merged = describe(session, groups)
    else:
        session, asked = begun.session, begun.asked.result()
        merged = describe(session, [one for one in groups if one not in asked])
        merged |= begun.merged.result()
        merged |= describe(session, [one for one in groups if one not in merged])
    return [merged[one] for one in groups], session


def _is_settled(group: DescriptionGroup, unsettled: Collection[str]) -> bool:
    """Whether a group has several descriptions, and is of elements that no model has to rule on."""
    return len(set(group.descriptions)) > 1 and not any(name in unsettled for name in group.names)


def _may_begin(session: Session) -> bool:
    settings, task = session.settings, tasks()["description_merger"]
    if session.limited or not (in_whole_run() and settings.asks_model(task.section)):
        return False
    return not settings.model.for_role(task.role).batch


def _in_thread(what: str, work: Callable[..., None], *given: Any, **named: Any) -> None:
    Thread(target=work, args=given, kwargs=named, name=f"ahead of {what}", daemon=True).start()


def _merge(begun: _Begun, groups: Sequence[DescriptionGroup], *, quiet: bool) -> None:
    merged: dict[DescriptionGroup, MergedDescription] = {}
    # What goes wrong is met with by the step, which would have to wait for it once more.
    with suppress(BaseException), quietly() if quiet else nullcontext():
        merged = describe(begun.session, groups)
    begun.merged.set_result(merged)
