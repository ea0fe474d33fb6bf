"""Decisions of people on names: made and taken back.

They are settings of the corpus: the next index applies them, and what is taken back leaves no trace there.
"""

import getpass
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from graphrag_dagster.apps.decisions.said import Said, Verdict, in_settings, kept
from graphrag_dagster.errors import QuestionError, SettingsError
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.documents.files.discovery import SETTINGS_FILE
from graphrag_dagster.kernel.lineage.finding import find, unknown
from graphrag_dagster.kernel.lineage.reading import TableRows, reading
from graphrag_dagster.kernel.settings.corpus import CorpusSettings, load_settings
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.text.similarity import clean, normalise
from graphrag_dagster.systems.graphrag.resolution.decision_file import changing_decisions
from graphrag_dagster.systems.graphrag.resolution.settings import Decision, ResolutionSettings
from graphrag_dagster.systems.graphrag.resolution.telling import entities_of

_SHORT = 8
_LEAST_PREFIX = 4
_ALIASES = ("document_id", "name", "surface", "type", "full_name", "entity", "title", "mentions")


@dataclass(frozen=True, slots=True)
class Concerned:
    """An entity of today's index that a decision concerns, and its names of which the decision speaks."""

    title: str
    type: str
    mentions: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """What came of a decision.

    Attributes:
        said: the decision; the one that stood already where nothing was written.
        written: whether it is new.
        concerned: entities of today's index that its names stand for, the most mentioned first.
        applied: whether resolution is on, so that an index applies it.
    """

    said: Said
    written: bool
    concerned: tuple[Concerned, ...]
    applied: bool


def merge(
    corpus: str,
    names: Sequence[str],
    *,
    document: str | None = None,
    who: str | None = None,
    store: CorpusStore | None = None,
    warehouse: Warehouse | None = None,
) -> Decided:
    """Decide that names are one entity, in a document or everywhere; the next index applies it.

    Args:
        corpus: its name.
        names: two at least that the index has, in whatever case.
        document: path, id or title of the one of which alone it is said; default: all.
        who: decides; default: the user of this system.
        store: where corpora lie; default: as the environment says.
        warehouse: where their tables lie; default: as the environment says.

    Raises:
        CorpusError: there is no such corpus, or its folder cannot be written.
        QuestionError: nobody has such a name, or there is no such document; names near ones.
        SettingsError: it contradicts what was decided, or that cannot be used.
        WarehouseError: the corpus has not been indexed.
    """
    return _decide("same", corpus, names, document, who, store, warehouse)


def split(
    corpus: str,
    names: Sequence[str],
    *,
    document: str | None = None,
    who: str | None = None,
    store: CorpusStore | None = None,
    warehouse: Warehouse | None = None,
) -> Decided:
    """Decide that no two of some names are one entity; arguments and errors as of :func:`merge`."""
    return _decide("different", corpus, names, document, who, store, warehouse)


def undo(corpus: str, identity: str | None = None, *, store: CorpusStore | None = None) -> Said:
    """Take a decision back; the next index makes what there would be without it.

    Args:
        corpus: its name.
        identity: the decision's id, or the beginning of it; default: the last that was made.
        store: where corpora lie; default: as the environment says.

    Returns:
        the decision.

    Raises:
        CorpusError: there is no such corpus, or its folder cannot be written.
        QuestionError: there is no such decision, or it stands in ``corpus.yaml``, which is written by hand.
        SettingsError: the file of decisions is damaged.
    """
    folder = (store or CorpusStore()).folder(corpus)
    with changing_decisions(folder) as decisions:
        place = _place(corpus, folder, decisions, identity)
        return kept(decisions.pop(place))


def _decide(
    verdict: Verdict,
    corpus: str,
    names: Sequence[str],
    document: str | None,
    who: str | None,
    store: CorpusStore | None,
    warehouse: Warehouse | None,
) -> Decided:
    folder = (store or CorpusStore()).folder(corpus)
    # What contradicts itself already is told before what is new.
    load_settings(folder)
    with reading(warehouse or Warehouse(), corpus) as rows:
        place = None if document is None else _document(rows, document)
        aliases = rows.all("resolution.aliases", _ALIASES)
    decision = _decision(verdict, names, None if place is None else place[0], who)
    inside = None if place is None else place[1]
    concerned = _concerned(aliases, decision, inside)
    with changing_decisions(folder) as stored:
        settings = load_settings(folder)
        if (known := _known(decision, [*in_settings(folder), *map(kept, stored)])) is not None:
            return Decided(known, False, concerned, settings.section(ResolutionSettings).enabled)
        _check(corpus, settings, decision)
        decision = decision.model_copy(update={"id": _identity(decision, {one.id for one in stored})})
        stored.append(decision)
    return Decided(kept(decision), True, concerned, settings.section(ResolutionSettings).enabled)


def _decision(verdict: Verdict, names: Sequence[str], document: str | None, who: str | None) -> Decision:
    given = {
        "verdict": verdict,
        "names": list({normalise(name): clean(name) for name in reversed(names)}.values())[::-1],
        "document": document,
        "who": _user() if who is None else clean(who),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    try:
        return Decision.model_validate(given)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        told = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "too_short":
            told = "give two different names at least; upper and lower case are no difference"
        raise SettingsError(f"{'.'.join(map(str, problem['loc'])) or 'names'}: {told}") from None


def _user() -> str | None:
    try:
        return clean(getpass.getuser()) or None
    except (OSError, KeyError):
        return None


def _document(rows: TableRows, asked: str) -> tuple[str, pl.Series]:
    """Return what a document is called in a decision, and the ids of the documents that are meant.

    It is the path, which stays when the text is edited; the id only where a file has several documents.
    """
    known = rows.all("corpus.documents", ("document_id", "human_readable_id", "path", "title"))
    inside = known.filter(pl.col("path") == asked)
    if inside.is_empty():
        candidates = known.select(id="document_id", number="human_readable_id", label="path", name="title")
        found = find("document", candidates, asked)
        if len(found) > 1:
            raise QuestionError(
                f"{asked!r} is the title of {len(found)} documents; give the path or id of one"
            )
        path = known.filter(pl.col("document_id") == found[0])["path"][0]
        inside = known.filter(pl.col("path") == path)
        if len(inside) > 1:
            return found[0], pl.Series(found)
    return inside["path"][0], inside["document_id"]


def _concerned(aliases: pl.DataFrame, decision: Decision, inside: pl.Series | None) -> tuple[Concerned, ...]:
    names: dict[str, list[str]] = {}
    for name in decision.names:
        found = entities_of(aliases, name, inside)
        if not found:
            raise QuestionError(_nobody(aliases, name, inside, decision.document))
        for entity in found:
            names.setdefault(entity, []).append(name)
    of_them = (
        aliases.filter(pl.col("entity").is_in(list(names)))
        .sort("mentions", descending=True)
        .group_by("entity")
        .agg(pl.col("title", "type").first(), pl.col("mentions").sum())
        .sort("mentions", "title", descending=[True, False])
    )
    return tuple(
        Concerned(title, kind, mentions, tuple(names[entity]))
        for entity, title, kind, mentions in of_them.iter_rows()
    )


def _nobody(aliases: pl.DataFrame, name: str, inside: pl.Series | None, document: str | None) -> str:
    there = aliases if inside is None else aliases.filter(pl.col("document_id").is_in(inside.to_list()))
    candidates = there.unique("name", maintain_order=True).select(id="type", label="surface")
    where = f" in {document}" if document else ""
    return (
        f"{unknown('name', candidates, name)} Looked for{where} in the index as it is; a decision on names "
        "that are still to come goes into corpus.yaml, as resolution.same or resolution.different"
    )


def _check(corpus: str, settings: CorpusSettings, decision: Decision) -> None:
    try:
        settings.section(ResolutionSettings).saying([decision])
    except SettingsError as error:
        raise SettingsError(f"{error}; 'graphrag-dagster undo {corpus} --list' lists them") from None


def _known(decision: Decision, said: Sequence[Said]) -> Said | None:
    """Return the decision that says all that a new one says."""
    new = decision.word(decision.verdict)
    for one in said:
        word = one.word
        if (
            word.verdict == new.verdict
            and word.document in {None, new.document}
            and set(new.keys) <= set(word.keys)
        ):
            return one
    return None


def _identity(decision: Decision, taken: set[str | None]) -> str:
    word = decision.word(decision.verdict)
    whole = stable_id("decision", word.verdict, *sorted(word.keys), word.document or "")
    return next(whole[:length] for length in range(_SHORT, len(whole) + 1) if whole[:length] not in taken)


def _place(corpus: str, folder: Path, decisions: Sequence[Decision], identity: str | None) -> int:
    if identity is None:
        if decisions:
            return len(decisions) - 1
        raise QuestionError(f"no decision was made by command in {corpus!r}{_by_hand(folder)}")
    wanted = identity.strip()
    for place, one in enumerate(decisions):
        if one.id == wanted:
            return place
    begins = [place for place, one in enumerate(decisions) if (one.id or "").startswith(wanted)]
    if len(wanted) >= _LEAST_PREFIX and len(begins) == 1:
        return begins[0]
    if any(one.id == wanted for one in in_settings(folder)):
        raise QuestionError(
            f"{wanted} stands in {folder / SETTINGS_FILE}, which is written by hand: take it out there"
        )
    raise QuestionError(
        f"no decision {wanted!r}; 'graphrag-dagster undo {corpus} --list' lists those there are"
    )


def _by_hand(folder: Path) -> str:
    count = len(in_settings(folder))
    return f"; {count:,} stand in {folder / SETTINGS_FILE}: take them out there" if count else ""
