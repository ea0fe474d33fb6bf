"""What all sections of the settings share."""

from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated, Any, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from graphrag_dagster.catalogue.registry import engines, ways
from graphrag_dagster.settings.choices import Choice

#: An engine of the catalogue.
EngineName: TypeAlias = Annotated[str, Choice(engines)]
#: A way of answering of the catalogue.
Method: TypeAlias = Annotated[str, Choice(ways)]
#: What is counted; beyond the limit a number is a slip of the finger.
PositiveInt = Annotated[int, Field(gt=0, le=1_000_000_000)]
#: What random numbers begin with.
Seed = Annotated[int, Field(ge=0, lt=2**63)]
_NO_NUMBER = PydanticCustomError("value_error", "true and false mean nothing here")


def path_below(given: str) -> str:
    """Return a path below the corpus folder, with forward slashes and without detours.

    Raises:
        ValueError: it is empty, absolute, or leads out of the folder.
    """
    path = PurePosixPath(given.replace("\\", "/"))
    if not path.parts or path.is_absolute() or ".." in path.parts or PureWindowsPath(given).drive:
        raise ValueError("should be a path below the corpus folder, such as questions.csv")
    if "\0" in given:
        raise ValueError("holds a NUL character, which no path has")
    return str(path)


class Section(BaseModel):
    """A section: unknown keys are refused, values do not change, defaults are validated too.

    Numbers are finite, and true and false are no numbers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _truth_is_no_number(cls, given: Any) -> Any:
        # Of the section as a whole: a validator of every field takes a third of the time that settings take.
        if isinstance(given, Mapping) and (wrong := [name for name in given if cls._is_wrong(name, given)]):
            raise ValidationError.from_exception_data(
                cls.__name__,
                [InitErrorDetails(type=_NO_NUMBER, loc=(name,), input=given[name]) for name in wrong],
            )
        return given

    @classmethod
    def _is_wrong(cls, name: str, given: Mapping[str, Any]) -> bool:
        if not isinstance(given[name], bool) or name not in cls.model_fields:
            return False
        annotation = cls.model_fields[name].annotation
        return annotation is not bool and bool not in get_args(annotation)


class SwitchedSection(Section):
    """A section of what is off; it is on where any other key is given, unless ``enabled`` says false."""

    enabled: bool = Field(
        False, description="make it; true where any other key of the section is given, unless this says false"
    )

    @model_validator(mode="before")
    @classmethod
    def _on_where_it_says_anything(cls, given: Any) -> Any:
        return {"enabled": True, **given} if isinstance(given, Mapping) and given else given
