"""Decisions of people on entity names: made, undone, and as they stand.

They are settings of the corpus: the next index applies them, and what is taken back leaves no trace there.
"""

import getpass
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import ValidationError

from graphrag_dagster.errors import QuestionError, SettingsError
from graphrag_dagster.kernel.common.file_discovery import DECISIONS_FILE, SETTINGS_FILE
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.lineage.lineage_steps import LineageRows, open_rows
from graphrag_dagster.kernel.lineage.row_lookup import find_rows, unknown_row_message
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, load_settings, load_settings_file
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.text.text_similarity import clean, normalise
from graphrag_dagster.systems.graphrag.resolution.human_decisions import NameRuling
from graphrag_dagster.systems.graphrag.resolution.resolved_names import entities_of
from graphrag_dagster.systems.graphrag.resolution.settings import (
    Decision,
    NamesSaid,
    ResolutionSettings,
    edit_decisions,
    read_decisions,
)

Verdict = Literal["same", "different"]


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision, and where it stands.

    Attributes:
        id: by which it is named; of one in ``corpus.yaml`` that has none, the verdict and its place there.
        word: what was said.
        file: in which it stands, ``corpus.yaml`` or ``decisions.jsonl``.
    """

    id: str
    word: NameRuling
    file: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        word = self.word
        return {
            "id": self.id,
            "verdict": word.verdict,
            "names": list(word.names),
            "document": word.document,
            "who": word.who,
            "when": word.when,
            "file": self.file,
        }


def decisions(corpus: str, *, store: CorpusStore | None = None) -> list[RecordedDecision]:
    """Return what people decided: first what ``corpus.yaml`` says, then in the order in which it was decided.

    It is read even where decisions contradict each other, so that one can be taken back.

    Raises:
        CorpusError: there is no such corpus.
        SettingsError: a file cannot be used.
    """
    folder = (store or CorpusStore()).folder(corpus)
    return [*decisions_in_settings(folder), *map(recorded_decision, read_decisions(folder))]


def applied_names(warehouse: Warehouse, corpus: str) -> frozenset[NameRuling]:
    """Return the decisions with which the published index was made; none where nothing is published.

    Raises:
        WarehouseError: what is published is damaged.
    """
    snapshot = published(warehouse, corpus)
    settings = (snapshot.manifest.get("settings") or {}) if snapshot else {}
    return frozenset(_words(settings.get("resolution") or {}))


def recorded_decision(decision: Decision) -> RecordedDecision:
    """Return a decision of ``decisions.jsonl``."""
    return RecordedDecision(decision.id or "", decision.word(decision.verdict), DECISIONS_FILE)


def decisions_in_settings(folder: Path) -> list[RecordedDecision]:
    """Return the decisions that ``corpus.yaml`` of a corpus folder says."""
    resolution = load_settings_file(folder).section(ResolutionSettings)
    said: tuple[tuple[Verdict, list[NamesSaid]], ...] = (
        ("same", resolution.same),
        ("different", resolution.different),
    )
    return [
        RecordedDecision(one.id or f"{verdict}-{number}", one.word(verdict), SETTINGS_FILE)
        for verdict, found in said
        for number, one in enumerate(found, start=1)
    ]


def _words(resolution: Mapping[str, Any]) -> list[NameRuling]:
    verdicts: tuple[Verdict, Verdict] = ("same", "different")
    return [
        NamesSaid.model_validate(one).word(verdict)
        for verdict in verdicts
        for one in resolution.get(verdict) or ()
    ]


_SHORT = 8
_LEAST_PREFIX = 4
_ALIASES = ("document_id", "name", "surface", "type", "full_name", "entity", "title", "mentions")


@dataclass(frozen=True, slots=True)
class AffectedEntities:
    """An entity of today's index that a decision concerns, and its names of which the decision speaks."""

    title: str
    type: str
    mentions: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """What came of a decision.

    Attributes:
        said: the decision; the one that stood already where nothing was written.
        written: whether it is new.
        concerned: entities of today's index that its names stand for, the most mentioned first.
        applied: whether resolution is on, so that an index applies it.
    """

    said: RecordedDecision
    written: bool
    concerned: tuple[AffectedEntities, ...]
    applied: bool


def merge(
    corpus: str,
    names: Sequence[str],
    *,
    document: str | None = None,
    who: str | None = None,
    store: CorpusStore | None = None,
    warehouse: Warehouse | None = None,
) -> DecisionResult:
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
) -> DecisionResult:
    """Decide that no two of some names are one entity; arguments and errors as of :func:`merge`."""
    return _decide("different", corpus, names, document, who, store, warehouse)


def undo(corpus: str, identity: str | None = None, *, store: CorpusStore | None = None) -> RecordedDecision:
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
    with edit_decisions(folder) as decisions:
        place = _place(corpus, folder, decisions, identity)
        return recorded_decision(decisions.pop(place))


def _decide(
    verdict: Verdict,
    corpus: str,
    names: Sequence[str],
    document: str | None,
    who: str | None,
    store: CorpusStore | None,
    warehouse: Warehouse | None,
) -> DecisionResult:
    folder = (store or CorpusStore()).folder(corpus)
    # What contradicts itself already is told before what is new.
    load_settings(folder)
    with open_rows(warehouse or Warehouse(), corpus) as rows:
        place = None if document is None else _document(rows, document)
        aliases = rows.all("resolution.aliases", _ALIASES)
    decision = _decision(verdict, names, None if place is None else place[0], who)
    inside = None if place is None else place[1]
    concerned = _affected_entities(aliases, decision, inside)
    with edit_decisions(folder) as stored:
        settings = load_settings(folder)
        if (
            known := _find_decision(
                decision, [*decisions_in_settings(folder), *map(recorded_decision, stored)]
            )
        ) is not None:
            return DecisionResult(known, False, concerned, settings.section(ResolutionSettings).enabled)
        _check(corpus, settings, decision)
        decision = decision.model_copy(update={"id": _identity(decision, {one.id for one in stored})})
        stored.append(decision)
    return DecisionResult(
        recorded_decision(decision), True, concerned, settings.section(ResolutionSettings).enabled
    )


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


def _document(rows: LineageRows, asked: str) -> tuple[str, pl.Series]:
    """Return what a document is called in a decision, and the ids of the documents that are meant.

    It is the path, which stays when the text is edited; the id only where a file has several documents.
    """
    known = rows.all("corpus.documents", ("document_id", "human_readable_id", "path", "title"))
    inside = known.filter(pl.col("path") == asked)
    if inside.is_empty():
        candidates = known.select(id="document_id", number="human_readable_id", label="path", name="title")
        found = find_rows("document", candidates, asked)
        if len(found) > 1:
            raise QuestionError(
                f"{asked!r} is the title of {len(found)} documents; give the path or id of one"
            )
        path = known.filter(pl.col("document_id") == found[0])["path"][0]
        inside = known.filter(pl.col("path") == path)
        if len(inside) > 1:
            return found[0], pl.Series(found)
    return inside["path"][0], inside["document_id"]


def _affected_entities(
    aliases: pl.DataFrame, decision: Decision, inside: pl.Series | None
) -> tuple[AffectedEntities, ...]:
    names: dict[str, list[str]] = {}
    for name in decision.names:
        found = entities_of(aliases, name, inside)
        if not found:
            raise QuestionError(_unknown_name_message(aliases, name, inside, decision.document))
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
        AffectedEntities(title, kind, mentions, tuple(names[entity]))
        for entity, title, kind, mentions in of_them.iter_rows()
    )


def _unknown_name_message(
    aliases: pl.DataFrame, name: str, inside: pl.Series | None, document: str | None
) -> str:
    there = aliases if inside is None else aliases.filter(pl.col("document_id").is_in(inside.to_list()))
    candidates = there.unique("name", maintain_order=True).select(id="type", label="surface")
    where = f" in {document}" if document else ""
    return (
        f"{unknown_row_message('name', candidates, name)} Looked for{where} in the index as it is; a "
        "decision on names that are still to come goes into corpus.yaml, as resolution.same or "
        "resolution.different"
    )


def _check(corpus: str, settings: CorpusSettings, decision: Decision) -> None:
    try:
        settings.section(ResolutionSettings).with_decisions([decision])
    except SettingsError as error:
        raise SettingsError(f"{error}; 'graphrag-dagster undo {corpus} --list' lists them") from None


def _find_decision(decision: Decision, said: Sequence[RecordedDecision]) -> RecordedDecision | None:
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
        raise QuestionError(f"no decision was made by command in {corpus!r}{_set_by_hand_message(folder)}")
    wanted = identity.strip()
    for place, one in enumerate(decisions):
        if one.id == wanted:
            return place
    begins = [place for place, one in enumerate(decisions) if (one.id or "").startswith(wanted)]
    if len(wanted) >= _LEAST_PREFIX and len(begins) == 1:
        return begins[0]
    if any(one.id == wanted for one in decisions_in_settings(folder)):
        raise QuestionError(
            f"{wanted} stands in {folder / SETTINGS_FILE}, which is written by hand: take it out there"
        )
    raise QuestionError(
        f"no decision {wanted!r}; 'graphrag-dagster undo {corpus} --list' lists those there are"
    )


def _set_by_hand_message(folder: Path) -> str:
    count = len(decisions_in_settings(folder))
    return f"; {count:,} stand in {folder / SETTINGS_FILE}: take them out there" if count else ""
