"""What the pairs of names that the rules leave open will ask of a model."""

from collections.abc import Sequence

import polars as pl

from graphrag_dagster import prompts, tables
from graphrag_dagster.core.accounting.planning import Estimate, Range, around, plan_names
from graphrag_dagster.core.accounting.reply_sizes import names_and_pairs
from graphrag_dagster.core.language.chat.port import CallFailed, ChatReply, ChatRequest, Listener
from graphrag_dagster.core.language.llm.name_judging import LlmNameJudge
from graphrag_dagster.core.progress import quietly
from graphrag_dagster.core.resolution.asking import AskedOfModel
from graphrag_dagster.core.resolution.frames import resolve_corpus
from graphrag_dagster.operations.planning.graph_plan import Unit
from graphrag_dagster.operations.planning.known_replies import Known
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings

#: Open pairs for each name of texts of which there is no index yet: .03 in transcripts of talks, .08 in
#: passages of an encyclopedia (Re-DocRED).
_OPEN_PAIRS = 0.06


def resolution_estimate(
    corpus: str, settings: CorpusSettings, units: Sequence[Unit], known: Known
) -> Estimate:
    """Return what resolution asks: of the names of the index that there is, and of those of new text units.

    The names of the index are compared once more, and what is remembered rules on them. How many pairs of new
    text units will be open is told from the index, else guessed from the names in them.
    """
    memory = _Memory(known)
    new = [unit for unit in units if unit.new]
    kept = [unit.unit_id for unit in units if not unit.new]
    lacking = _replayed(corpus, settings, kept, memory) if kept else 0
    calls, inputs, outputs = plan_names(
        [known.size(request) for request in memory.lacking],
        lacking,
        _open_pairs(corpus, new),
        prompt=known.tokens(*(prompts.load(f"judge_names_{part}").text for part in ("system", "user"))),
        seen=known.average("resolve", "judge_names"),
    )
    return Estimate("resolution", "judge_names", memory.name, calls, inputs, outputs, memory.had)


class _Memory:
    """A chat model that gives remembered replies only; ``had`` counts them, ``lacking`` are the others."""

    def __init__(self, known: Known) -> None:
        own = known.of_task("resolve")
        self.name, self.concurrency = own.name, own.concurrency
        self.had = 0
        self.lacking: list[ChatRequest] = []
        self._known = known

    async def complete(self, request: ChatRequest, _listen: Listener | None = None) -> ChatReply:
        if (reply := self._known.reply("resolve", request)) is not None:
            self.had += 1
            return reply
        self.lacking.append(request)
        raise CallFailed("nothing is remembered")

    def remember(self, request: ChatRequest, reply: ChatReply) -> None:
        """Do nothing: it is."""


def _replayed(corpus: str, settings: CorpusSettings, kept: Sequence[str], memory: _Memory) -> int:
    """Compare the names of text units that stay, and return how many pairs the memory cannot rule on."""
    wanted = (tables.GLEANED_ENTITIES, tables.TEXT_CHUNKS, tables.DOCUMENTS)
    made = [Warehouse().read_if_present(table, corpus) for table in wanted]
    gleaned, chunks, documents = made
    if gleaned is None or chunks is None or documents is None:
        return 0
    staying = chunks.filter(pl.col("text_unit_id").is_in(kept))
    asked = AskedOfModel(LlmNameJudge(memory, prompts), documents)
    with quietly():
        resolve_corpus(gleaned, staying, documents, settings.resolution.decisions(), asked)
    return asked.counts["problems"]


def _open_pairs(corpus: str, new: Sequence[Unit]) -> Range:
    decisions = Warehouse().read_if_present(tables.DECISIONS, corpus)
    ledger = Warehouse().read_if_present(tables.UNIT_LEDGER, corpus)
    if decisions is None or ledger is None or decisions.is_empty() or ledger.is_empty():
        names = {name for unit in new for name in names_and_pairs(unit.text)[0]}
        return around(_OPEN_PAIRS * len(names), known=False)
    by_rule = (pl.col("verdict") == "ask") & (pl.col("decided_by") == "rule")
    was_open = decisions.filter(by_rule | (pl.col("decided_by") == "model")).height
    return around(was_open / ledger.height * len(new), known=False)
