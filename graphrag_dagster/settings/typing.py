"""The section ``typing``: types of entities to which the engine of the extraction gave none."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, model_validator

from graphrag_dagster.settings.section import EngineName, Section


class TypingSettings(Section):
    """Types of entities that gliner-rebel only reads in relations; on where the section says anything."""

    enabled: bool = Field(
        False,
        description="ask a model which of extraction.gliner.labels such an entity has, and rules about its "
        "name where it says none; true where any other key of the section is given, unless this says false",
    )
    engine: EngineName | None = Field(
        None, description="which must ask a model; default: the corpus's engine"
    )

    @model_validator(mode="before")
    @classmethod
    def _on_where_it_says_anything(cls, given: Any) -> Any:
        return {"enabled": True, **given} if isinstance(given, Mapping) and given else given
