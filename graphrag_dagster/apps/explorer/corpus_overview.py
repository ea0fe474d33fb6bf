"""What a corpus holds, and how it can be asked, at a glance."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.apps.explorer.example_questions import example_questions
from graphrag_dagster.apps.explorer.open_snapshots import OpenSnapshot
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.catalogue.registry import method_at_level, methods
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.documents.documents import describe_files, partly_read_files, unread_files
from graphrag_dagster.kernel.questions.corpus_index import settings_for_questions
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.graphrag.index.extraction_tables import (
    units_without_grammar,
    unreadable_units,
)

#: Sentences on files that were not read, or only in part.
_MOST_FILES = 10
#: Such files that are listed one by one.
_MOST_LISTED = 50
#: Roles of the models that make what is shown of an index.
_INDEX_ROLES = ("extract", "summarise", "report")
#: What a manifest has in place of a model's name where none was used.
_NO_MODEL = "extractive"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows of each sort a corpus has; ``tokens`` are those of all text units."""

    documents: int
    text_units: int
    tokens: int
    entities: int
    relationships: int
    claims: int
    communities: int
    reports: int
    quarantined: int
    files_not_read: int
    files_read_in_part: int


@dataclass(frozen=True, slots=True)
class LevelCount:
    """A level Ck: how many communities it has, and how many entities lie in them."""

    level: int
    communities: int
    entities: int


@dataclass(frozen=True, slots=True)
class MethodChoice:
    """A search method.

    Attributes:
        name: by which it is asked for.
        text: what it reads, in a line.
        levelled: a community level may be chosen for it.
        level: the level that it always reads; null where it reads none, or one of choice.
        suits_chat: it is for people who ask; the others are conditions of comparisons.
    """

    name: str
    text: str
    levelled: bool
    level: int | None
    suits_chat: bool


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file that was not read, or only in part.

    Attributes:
        path: below the folder of the corpus.
        reason: why, for people; empty where none is known.
        in_part: some of it was read.
    """

    path: str
    reason: str
    in_part: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """A corpus in one look.

    Attributes:
        corpus: its name.
        description: its subject, as the settings say; null where they do not.
        version: of the snapshot that is read.
        published: when that was published, UTC in ISO 8601.
        counts: how much there is of everything.
        levels: the levels C0, C1, … with their communities.
        methods: search methods, those for people first; none where the settings cannot be used.
        default_method: the one that is taken where none is named.
        default_level: k of Ck where none is named, at most the deepest there is.
        engine: what answers: extractive, or llm.
        index_model: name of the model that the index was made with; null where none was used.
        answer_model: name of the model that answers; null where none does.
        unread: at most 50 files that were not read, then those that were read in part.
        questions: at most six to begin with, the corpus's own first.
        unclustered: entities that are in no community.
        notes: what was quarantined or is open, a sentence each.
    """

    corpus: str
    description: str | None
    version: str | None
    published: str | None
    counts: Counts
    levels: list[LevelCount]
    methods: list[MethodChoice]
    default_method: str | None
    default_level: int | None
    engine: str | None
    index_model: str | None
    answer_model: str | None
    unread: list[UnreadFile]
    questions: list[str]
    unclustered: int
    notes: list[str]


def overview(shown: OpenSnapshot, corpora: CorpusStore, warehouse: Warehouse) -> Overview:
    """Return a corpus in one look.

    Raises:
        CorpusError: there is no such corpus.
    """
    corpus = shown.reader.corpus
    try:
        settings, broken = settings_for_questions(corpus, corpora, warehouse), []
    except SettingsError as error:
        settings, broken = None, [f"Questions cannot be asked: {error}"]
    found = shown.rows(
        f"""
        select level, count(distinct community_id) as communities, count(*) as entities
        from {shown[tables.COMMUNITY_LEVELS]} group by level order by level
        """
    )
    levels = [LevelCount(**row) for row in found]
    deepest = max((one.level for one in levels), default=0)
    counts, unclustered = _counts(shown), _unclustered(shown)
    has_unread = counts.files_not_read or counts.files_read_in_part
    listed = (
        [one for section in settings.sections().values() for one in section.listed_questions()]
        if settings
        else []
    )
    return Overview(
        corpus=corpus,
        description=settings.description if settings else None,
        version=shown.published.version,
        published=shown.published.published,
        counts=counts,
        levels=levels,
        methods=_method_choices(settings, [one.level for one in levels]) if settings else [],
        default_method=settings.search.method if settings else None,
        default_level=None if settings is None else min(_default_level(settings, levels), deepest),
        engine=(settings.search.engine or settings.engine) if settings else None,
        index_model=_index_model(shown),
        answer_model=_answer_model(settings) if settings else None,
        unread=_unread(shown) if has_unread else [],
        questions=example_questions(shown, listed),
        unclustered=unclustered,
        notes=[*broken, *_notes(shown, counts, unclustered)],
    )


def _counts(shown: OpenSnapshot) -> Counts:
    rows = shown.published.rows
    tokens = shown.totals(f"select coalesce(sum(tokens), 0)::bigint as n from {shown[tables.TEXT_CHUNKS]}")
    unread = shown.totals(
        f"""
        select count_if(status not in ('read', 'duplicate', 'ignored')) as not_read,
            count_if(status = 'read' and incomplete) as in_part
        from {shown[tables.FILES]}
        """
    )
    return Counts(
        documents=rows("corpus.documents"),
        text_units=rows("corpus.text_chunks"),
        tokens=tokens["n"],
        entities=rows("graph.entities"),
        relationships=rows("graph.relationships"),
        claims=rows("graph.claims"),
        communities=rows("graph.communities"),
        reports=rows("reports.community_reports"),
        quarantined=rows("extraction.quarantine"),
        files_not_read=unread["not_read"],
        files_read_in_part=unread["in_part"],
    )


def _unclustered(shown: OpenSnapshot) -> int:
    clustered = shown.totals(
        f"select count(distinct entity_id) as n from {shown[tables.COMMUNITY_MEMBERS]} where level = 0"
    )
    return shown.published.rows("graph.entities") - int(clustered["n"])


def _index_model(shown: OpenSnapshot) -> str | None:
    models = shown.published.manifest.get("models") or {}
    names = dict.fromkeys(models.get(role, _NO_MODEL) for role in _INDEX_ROLES)
    return ", ".join(name for name in names if name != _NO_MODEL) or None


def _answer_model(settings: CorpusSettings) -> str | None:
    return settings.model.for_role("answer").name if settings.asks_model("search") else None


def _unread(shown: OpenSnapshot) -> list[UnreadFile]:
    files = shown.frame(f"select path, status, reason, incomplete from {shown[tables.FILES]}")
    unread = unread_files(files).filter(pl.col("status") != "ignored")
    found = [
        *((path, reason, False) for path, reason in unread.select("path", "reason").iter_rows()),
        *((path, reason, True) for path, reason in partly_read_files(files).iter_rows()),
    ]
    return [UnreadFile(path, reason or "", in_part) for path, reason, in_part in found[:_MOST_LISTED]]


def _default_level(settings: CorpusSettings, levels: list[LevelCount]) -> int:
    """The level of a global question."""
    if settings.search.level is not None:
        return settings.search.level
    top = min((one.level for one in levels), default=0)
    return top if top < 0 else 1


def _method_choices(settings: CorpusSettings, levels: list[int]) -> list[MethodChoice]:
    made = [one for name, one in methods().items() if not settings.unanswerable_error("", [name])]
    asked = [one for one in made if one.suits_a_chat]
    compared = [one for one in made if one.condition and one.level is None]
    return [
        MethodChoice(one.name, one.text, one.levelled, one.level, one.suits_a_chat)
        for one in (*asked, *map(method_at_level, levels), *compared)
    ]


def _notes(shown: OpenSnapshot, counts: Counts, unclustered: int) -> Iterator[str]:
    if counts.files_not_read or counts.files_read_in_part:
        yield from _files(shown)
    ledger = shown.frame(f"select state, reason from {shown[tables.UNIT_LEDGER]}")
    for line in (*unreadable_units(ledger), *units_without_grammar(ledger)):
        yield f"{line}."
    if counts.quarantined:
        yield f"{_was_or_were(counts.quarantined, 'record')} quarantined during extraction."
    if unclustered:
        yield f"{plural(unclustered, 'entity', 'entities')} without relationships, and so in no community."
    replaced = shown.totals(f"select count(problem) as n from {shown[tables.COMMUNITY_REPORTS]}")["n"]
    if replaced:
        yield f"{_was_or_were(replaced, 'report')} written by rules, because the model's could not be used."


def _files(shown: OpenSnapshot) -> Iterator[str]:
    found = shown.frame(
        f"""
        select path, status, reason, incomplete from {shown[tables.FILES]}
        where status not in ('read', 'duplicate', 'ignored') or incomplete order by path
        """
    )
    lines, left = describe_files(found, _MOST_FILES)
    yield from (f"{line}." for line in lines)
    if left:
        yield f"{plural(left, 'more file', 'more files')} not read or read in part: see the table of files."


def _was_or_were(number: int, what: str) -> str:
    return f"{plural(number, what)} {'was' if number == 1 else 'were'}"
