"""What all sections of the settings share."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

PositiveInt = Annotated[int, Field(gt=0)]


class Section(BaseModel):
    """A section: unknown keys are refused, values do not change, defaults are validated too."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
