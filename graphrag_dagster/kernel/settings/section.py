"""Base classes of settings sections, types for catalogue names, and settings of a graph server."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
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
from graphrag_dagster.kernel.settings.credentials import CREDENTIAL, VariableName, looks_like_a_key

if TYPE_CHECKING:
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings


@dataclass(frozen=True)
class NamedChoice:
    """The name of a catalogue entry, including plug-ins, checked on validation; case-sensitive.

    Errors and the ``enum`` of the JSON schema list the names as for a ``Literal``.
    """

    names: Callable[[], Iterable[str]]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema that pydantic validates a value with."""
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
EngineName: TypeAlias = Annotated[str, NamedChoice(engines)]
#: A search method of the catalogue.
Method: TypeAlias = Annotated[str, NamedChoice(methods)]
#: A count; a number beyond the limit is a typo.
PositiveInt = Annotated[int, Field(gt=0, le=1_000_000_000)]
#: Seed of random numbers.
Seed = Annotated[int, Field(ge=0, lt=2**63)]
_NO_NUMBER = PydanticCustomError("value_error", "true and false are not allowed here")


def path_below(given: str) -> str:
    """Return a path below the corpus folder, with forward slashes and in normal form.

    Raises:
        ValueError: it is empty, absolute, or leads out of the folder.
    """
    path = PurePosixPath(given.replace("\\", "/"))
    if not path.parts or path.is_absolute() or ".." in path.parts or PureWindowsPath(given).drive:
        raise ValueError("should be a path below the corpus folder, for example questions.csv")
    if "\0" in given:
        raise ValueError("contains a NUL character, which is not allowed in a path")
    return str(path)


class Section(BaseModel):
    """A section: unknown keys are rejected, and values are immutable.

    Numbers are finite, and true and false are not numbers. Defaults are not validated.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _reject_booleans(cls, given: Any) -> Any:
        # One validator for the whole section: one per field would take a third of the loading time.
        if isinstance(given, Mapping) and (wrong := [name for name in given if cls._is_wrong(name, given)]):
            raise ValidationError.from_exception_data(
                cls.__name__,
                [InitErrorDetails(type=_NO_NUMBER, loc=(name,), input=given[name]) for name in wrong],
            )
        return given

    def problem(self, settings: "CorpusSettings") -> str | None:  # noqa: ARG002 - sections that have something to say override it
        """Return what conflicts with the other sections, and the fix; None if nothing does."""
        return None

    def completed(self, folder: Path) -> Self:  # noqa: ARG002 - sections that have something to say override it
        """Return the section completed from other files of the corpus folder.

        Raises:
            SettingsError: such a file is invalid.
        """
        return self

    def with_columns_of(self, corpus: str, given: Self) -> Self:  # noqa: ARG002 - sections that have something to say override it
        """Return the section with the column settings of another corpus's section."""
        return self

    def deciding_answers(self) -> object:
        """Return the value that affects answers, if it is not the section itself; else None."""
        return None

    def data_tokens(self) -> Mapping[str, tuple[str, int]]:
        """Return by role the key that limits the data tokens in its prompts, and the limit."""
        return {}

    def own_files(self) -> Iterable[str]:
        """Return the paths of files in the corpus folder that are input of this section, not documents."""
        return ()

    def listed_questions(self) -> Iterable[str]:
        """Return questions that the section lists, which people can be offered to ask."""
        return ()

    @classmethod
    def _is_wrong(cls, name: str, given: Mapping[str, Any]) -> bool:
        if not isinstance(given[name], bool) or name not in cls.model_fields:
            return False
        annotation = cls.model_fields[name].annotation
        return annotation is not bool and bool not in get_args(annotation)


class SwitchedSection(Section):
    """A section that is disabled by default; any key enables it, unless ``enabled`` is false."""

    enabled: bool = Field(
        False,
        description="enable the stage; true if any other key of the section is set, unless this is false",
    )

    @model_validator(mode="before")
    @classmethod
    def _enable_if_given(cls, given: Any) -> Any:
        return {"enabled": True, **given} if isinstance(given, Mapping) and given else given


_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


def _uri(uri: str) -> str:
    try:
        parts = urlsplit(uri)
        usable = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not uri.isprintable() or " " in uri:
        raise ValueError(
            f"is not an address such as bolt://localhost:7687; start it with one of {', '.join(_SCHEMES)}"
        )
    if "@" in parts.netloc or looks_like_a_key(uri):
        raise PydanticCustomError(
            CREDENTIAL,
            "holds a user, a password or a key; put them into environment variables, and name these in "
            "user_variable and password_variable",
        )
    return uri


#: Address of a graph server, without credentials.
ServerUri = Annotated[str, AfterValidator(_uri)]


class ServerSettings(Section):
    """A graph server and its login."""

    uri: ServerUri | None = Field(
        None, description="neo4j: address of the server, such as bolt://localhost:7687"
    )
    database: str | None = Field(None, description="neo4j: name of the database; default: the server's")
    user_variable: VariableName = Field(
        "NEO4J_USER", description="neo4j: environment variable with the user; if it is not set, no login"
    )
    password_variable: VariableName = Field(
        "NEO4J_PASSWORD", description="neo4j: environment variable with the password"
    )


Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=60)]
