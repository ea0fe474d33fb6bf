"""What all sections of the settings share, and values that the catalogue names."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, PydanticKnownError, core_schema

from graphrag_dagster.kernel.catalogue.registry import engines, methods

if TYPE_CHECKING:
    from graphrag_dagster.kernel.settings.corpus import CorpusSettings


@dataclass(frozen=True)
class Choice:
    """One of the names that there are, plug-ins included, when a value is checked; spelt as they are.

    The error, and the ``enum`` of the JSON schema, list them as those of a ``Literal``.
    """

    names: Callable[[], Iterable[str]]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema by which pydantic checks a value."""
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the JSON schema."""
        return {"type": "string", "enum": list(self.names())}

    def _checked(self, value: object) -> str:
        names = list(self.names())
        if isinstance(value, str) and value in names:
            return value
        *others, last = (repr(name) for name in names)
        raise PydanticKnownError(
            "literal_error", {"expected": f"{', '.join(others)} or {last}" if others else last}
        )


#: An engine of the catalogue.
EngineName: TypeAlias = Annotated[str, Choice(engines)]
#: A way of answering of the catalogue.
Method: TypeAlias = Annotated[str, Choice(methods)]
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
    """A section: unknown keys are refused, and values do not change.

    Numbers are finite, and true and false are no numbers. Defaults are taken as they are declared.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

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

    def problem(self, settings: "CorpusSettings") -> str | None:  # noqa: ARG002 - sections that have something to say override it
        """Say what is wrong of it beside the other sections, and how to mend it; None where nothing is."""
        return None

    def completed(self, folder: Path) -> Self:  # noqa: ARG002 - sections that have something to say override it
        """Return it with what other files of the corpus folder say of the same.

        Raises:
            SettingsError: such a file cannot be used.
        """
        return self

    def with_columns_of(self, corpus: str, given: Self) -> Self:  # noqa: ARG002 - sections that have something to say override it
        """Return it with what the same section of another corpus says of the columns of its files."""
        return self

    def deciding_answers(self) -> object:
        """Return what of it decides answers, where that is not simply its values; None where it is."""
        return None

    def data_tokens(self) -> Mapping[str, tuple[str, int]]:
        """Return the most tokens of data in prompts of roles, each behind the key that sets it."""
        return {}

    def own_files(self) -> Iterable[str]:
        """Return the paths of files in the corpus folder that are no documents, but read for this section."""
        return ()

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
