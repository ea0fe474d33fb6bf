"""Decisions of people on names as they stand: in ``corpus.yaml``, in ``decisions.jsonl``, and as applied."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from graphrag_dagster.kernel.documents.files.discovery import DECISIONS_FILE, SETTINGS_FILE
from graphrag_dagster.kernel.settings.corpus import load_settings_file
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.graphrag.resolution.people import Word
from graphrag_dagster.systems.graphrag.resolution.settings import (
    Decision,
    NamesSaid,
    ResolutionSettings,
    read_decisions,
)

Verdict = Literal["same", "different"]


@dataclass(frozen=True, slots=True)
class Said:
    """A decision, and where it stands.

    Attributes:
        id: by which it is named; of one in ``corpus.yaml`` that has none, the verdict and its place there.
        word: what was said.
        file: in which it stands, ``corpus.yaml`` or ``decisions.jsonl``.
    """

    id: str
    word: Word
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


def decisions(corpus: str, *, store: CorpusStore | None = None) -> list[Said]:
    """Return what people decided: first what ``corpus.yaml`` says, then in the order in which it was decided.

    It is read even where decisions contradict each other, so that one can be taken back.

    Raises:
        CorpusError: there is no such corpus.
        SettingsError: a file cannot be used.
    """
    folder = (store or CorpusStore()).folder(corpus)
    return [*in_settings(folder), *map(kept, read_decisions(folder))]


def applied_words(warehouse: Warehouse, corpus: str) -> frozenset[Word]:
    """Return the decisions with which the published index was made; none where nothing is published.

    Raises:
        WarehouseError: what is published is damaged.
    """
    snapshot = published(warehouse, corpus)
    settings = (snapshot.manifest.get("settings") or {}) if snapshot else {}
    return frozenset(_words(settings.get("resolution") or {}))


def kept(decision: Decision) -> Said:
    """Return a decision of ``decisions.jsonl``."""
    return Said(decision.id or "", decision.word(decision.verdict), DECISIONS_FILE)


def in_settings(folder: Path) -> list[Said]:
    """Return the decisions that ``corpus.yaml`` of a corpus folder says."""
    resolution = load_settings_file(folder).section(ResolutionSettings)
    said: tuple[tuple[Verdict, list[NamesSaid]], ...] = (
        ("same", resolution.same),
        ("different", resolution.different),
    )
    return [
        Said(one.id or f"{verdict}-{number}", one.word(verdict), SETTINGS_FILE)
        for verdict, found in said
        for number, one in enumerate(found, start=1)
    ]


def _words(resolution: Mapping[str, Any]) -> list[Word]:
    verdicts: tuple[Verdict, Verdict] = ("same", "different")
    return [
        NamesSaid.model_validate(one).word(verdict)
        for verdict in verdicts
        for one in resolution.get(verdict) or ()
    ]
