"""The section ``publishing``: what is kept for those who read."""

from typing import Annotated

from pydantic import Field

from graphrag_dagster.settings.section import Section


class PublishingSettings(Section):
    """The copies of a corpus's tables that are only ever read."""

    keep: Annotated[int, Field(ge=1)] = Field(
        3, description="newest published snapshots that are kept; rollback goes back to one of them"
    )
