"""Text units extracted by rule in processes of their own, a share in each, and heard of here."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait

from graphrag_dagster.core.extraction.reuse import joined_shares
from graphrag_dagster.core.processes import begin_process
from graphrag_dagster.core.progress import Relay, Told, listening, retell
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.operations.keeping.begun_parts import BegunIndex, Made, Share, begun_parts
from graphrag_dagster.operations.keeping.extracting import CorpusExtraction
from graphrag_dagster.resources.corpora import CorpusStore


def begin_processes(number: int, *given: str) -> list[Connection]:
    """Begin processes that make the parts of an index; return the pipes in which :func:`hear` hears them.

    Args:
        number: of the processes, each of which extracts a share.
        given: the corpus, the id of the run, and the version of the code that extracts.
    """
    return [begin_process(_serve, *given, Share(place, number)) for place in range(number)]


class _Stages:
    """The stages of processes that each do a share, told of as one; they end when all have ended."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._begun: list[str] = []

    def tell(self, told: Told) -> None:
        """Tell what one of the processes has told."""
        stage = str(told.arguments[0])
        if told.method == "start" and stage not in self._begun:
            self._begun.append(stage)
            retell(Told("start", (stage, self._total)))
        elif told.method not in {"start", "finish"}:
            retell(told)

    def end(self) -> None:
        """Tell that they have ended."""
        for stage in self._begun:
            retell(Told("finish", (stage,)))


def _serve(pipe: Connection, corpus: str, run_id: str, code: str, share: Share) -> None:
    """Send the parts and what is told of their progress; the other end of :func:`hear`.

    Only the process of the first share tells of what all do alike.
    """
    with suppress(GraphragError):
        settings = CorpusStore().settings(corpus)
        alone = settings.extraction.model_copy(update={"processes": 1})
        settings = settings.model_copy(update={"extraction": alone})
        parts = begun_parts(settings, corpus, run_id, code, share)
        if share.place:
            _, _ = next(parts), next(parts)
        with listening(Relay(pipe.send)):
            for part in parts:
                pipe.send(replace(part, session=None) if isinstance(part, Made) else part)


def hear(index: BegunIndex, pipes: Sequence[Connection]) -> None:
    """Take the parts that processes make; what has ended one of them is left to the steps."""
    try:
        with suppress(EOFError, OSError), ExitStack() as stack, listening(index.said):
            for pipe in pipes:
                stack.enter_context(pipe)
            while not index.units.done():
                heard = pipes[0].recv()
                retell(heard) if isinstance(heard, Told) else index.take(heard)
            units = index.units.result()
            stages = _Stages(0 if units is None else units.height)
            stack.callback(stages.end)
            index.take(_joined(_heard_shares(pipes, stages)))
    finally:
        index.end(None)


def _heard_shares(pipes: Sequence[Connection], stages: _Stages) -> list[Made]:
    """The extractions of all shares, in their order."""
    shares: dict[Connection, Made] = {}
    while len(shares) < len(pipes):
        waiting = [one for one in pipes if one not in shares]
        there = wait(waiting)
        for pipe in [one for one in waiting if one in there]:
            heard = pipe.recv()
            if isinstance(heard, Told):
                stages.tell(heard)
            else:
                shares[pipe] = heard
    return [shares[pipe] for pipe in pipes]


def _joined(shares: Sequence[Made]) -> Made:
    extracted = joined_shares([one.extraction.extracted for one in shares])
    return Made(CorpusExtraction(extracted, shares[0].extraction.why_anew), shares[0].state)
