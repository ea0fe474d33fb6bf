"""The section ``imports``: how graphs that come from elsewhere are taken in."""

from typing import Literal

from pydantic import Field

from graphrag_dagster.settings.section import Section


class ImportSettings(Section):
    """Taking graphs in that come from elsewhere; for corpora of the kind graph."""

    communities: Literal["kept", "made"] = Field(
        "kept", description="communities that come with the graph: kept as they are, or found anew"
    )
    reports: Literal["kept", "made"] = Field(
        "kept", description="reports that come with kept communities: kept as they are, or written anew"
    )
