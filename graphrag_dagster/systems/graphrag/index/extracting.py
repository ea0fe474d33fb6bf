"""Extraction of a corpus: new units are extracted, the rest is reused."""

from dataclasses import dataclass

import polars as pl

from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tasks.session import Session
from graphrag_dagster.systems.graphrag.extraction.frames import ExtractionFrames
from graphrag_dagster.systems.graphrag.extraction.reuse import Extracted, extract_new, extract_units
from graphrag_dagster.systems.graphrag.index.earlier_extraction import reusable_extraction
from graphrag_dagster.systems.graphrag.settings import ExtractionSettings
from graphrag_dagster.systems.graphrag.tasks import CLAIM_EXTRACTOR, GRAPH_EXTRACTOR


@dataclass(frozen=True, slots=True)
class CorpusExtraction:
    """An extraction, and why units that were extracted before were not taken over."""

    extracted: Extracted
    why_anew: str


def extract_corpus(
    session: Session, warehouse: Warehouse, corpus: str, text_chunks: pl.DataFrame, state: pl.DataFrame
) -> CorpusExtraction:
    """Extract the text units of a corpus, but for those whose rows of before still hold.

    Args:
        session: of the asset ``extraction``.
        warehouse: with the tables of before.
        corpus: its name.
        text_chunks: rows of ``corpus.text_chunks``.
        state: see :func:`graphrag_dagster.systems.graphrag.index.earlier_extraction.state_of`.

    Raises:
        EngineError: the engine cannot do what was asked of it.
        EndpointError: the model endpoint cannot be used at all.
    """
    settings = session.settings

    def extract(units: pl.DataFrame) -> ExtractionFrames:
        return extract_units(
            units,
            extractor=session.task(GRAPH_EXTRACTOR),
            claim_extractor=session.task(CLAIM_EXTRACTOR),
            dangling=settings.section(ExtractionSettings).dangling,
        )

    earlier, why_anew = reusable_extraction(warehouse, corpus, settings, state, session.remembered)
    return CorpusExtraction(extract_new(text_chunks, earlier, extract), why_anew)
