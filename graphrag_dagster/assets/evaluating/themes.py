"""What the judge goes by, read from its reasons."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.catalogue.tasks import REASON_READER
from graphrag_dagster.orchestration.declare import ins_of, output, table_assets
from graphrag_dagster.resources.language import Language
from graphrag_dagster.tables import JUDGEMENTS, THEME_REASONS, THEMES


@table_assets(
    (THEMES, THEME_REASONS),
    ins=ins_of(JUDGEMENTS),
    pool="llm",
)
def reason_themes(
    context: AssetExecutionContext, judgements: pl.DataFrame, language: Language
) -> Iterator[Output[pl.DataFrame]]:
    """The themes of the judge's reasons, and which reasons speak of them (paper §5.1)."""
    from graphrag_dagster.core.evaluation.theming import themes_of

    session = language.session(context, "reason_themes")
    settings = session.settings
    reader, most = session.task(REASON_READER), settings.evaluation.reasons
    if reader is None or not most or judgements.is_empty():
        why = "no model reads reasons" if reader is None else "there are no reasons to read"
        yield output(THEMES, THEMES.empty(), why=why)
        yield output(THEME_REASONS, THEME_REASONS.empty())
        return
    themes, reasons = themes_of(judgements, reader, most, settings.model.for_role("judge").name)
    frame = THEME_REASONS.frame(reasons)
    unread = len(frame) - frame["problem"].null_count()
    yield output(THEMES, THEMES.frame(themes), unread=unread, **session.finish())
    yield output(THEME_REASONS, frame)
