"""What all sections of the settings share."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

EngineName = Literal["extractive", "llm"]
Method = Literal["auto", "global", "dynamic", "local", "drift", "basic", "C0", "C1", "C2", "C3", "TS", "SS"]
PositiveInt = Annotated[int, Field(gt=0)]


class Section(BaseModel):
    """A section: unknown keys are refused, values do not change, defaults are validated too."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
