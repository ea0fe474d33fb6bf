"""The section ``resolution``: which names are one entity, and what people say of it."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from graphrag_dagster.core.printable import shortened
from graphrag_dagster.core.resolution.people import Decisions, Word
from graphrag_dagster.core.text.names import normalise
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.settings.section import EngineName, Section

Spelling = Annotated[str, Field(min_length=1, max_length=1000)]
Told = Annotated[str, Field(min_length=1, max_length=200)]
_MOST_SAID = 10_000


class NamesSaid(Section):
    """Names of which a person says what they are to each other; in ``corpus.yaml`` a list will do."""

    names: list[Spelling] = Field(min_length=2, max_length=1000, description="as written, in any case")
    document: Annotated[str, Field(min_length=1, max_length=4000)] | None = Field(
        None, description="path of the document of which alone it is said"
    )
    id: Told | None = Field(None, description="by which `undo` takes it back")
    who: Told | None = Field(None, description="said it")
    when: Told | None = Field(None, description="it was said, ISO 8601")

    @model_validator(mode="before")
    @classmethod
    def _names_alone(cls, given: Any) -> Any:
        return {"names": given} if isinstance(given, list) else given

    @model_validator(mode="after")
    def _two_names(self) -> "NamesSaid":
        keys = set(map(normalise, self.names))
        if len(keys) < 2 or "" in keys:
            told = ", ".join(repr(shortened(name, 60)) for name in self.names[:10])
            raise ValueError(
                f"{told}: give two different names at least, none of them empty; case is no difference"
            )
        return self

    def word(self, verdict: Literal["same", "different"]) -> Word:
        """Return it as resolution takes it."""
        return Word(verdict, tuple(self.names), self.document, self.id, self.who, self.when)


class Decision(NamesSaid):
    """What a person decided of names."""

    verdict: Literal["same", "different"] = Field(description="what the names are to each other")


class ResolutionSettings(Section):
    """Joining the names of one entity."""

    enabled: bool = Field(
        True, description="join names of one entity, keep namesakes apart; off: one entity a spelling"
    )
    engine: EngineName | None = Field(
        None,
        description="who decides what the rules leave open; default: the corpus's engine; without a model it "
        "stays open",
    )
    same: list[NamesSaid] = Field(
        default_factory=list, max_length=_MOST_SAID, description="lists of names of one entity each"
    )
    different: list[NamesSaid] = Field(
        default_factory=list,
        max_length=_MOST_SAID,
        description="lists of names of which no two are one entity",
    )

    @model_validator(mode="after")
    def _no_contradiction(self) -> "ResolutionSettings":
        said = self.decisions()
        try:
            said.links(between=True)
            for document in sorted(said.documents()):
                said.links(document)
        except SettingsError as error:
            raise ValueError(str(error)) from None
        return self

    def decisions(self) -> Decisions:
        """Return what people decided."""
        return Decisions(
            [
                *(one.word("same") for one in self.same),
                *(one.word("different") for one in self.different),
            ]
        )

    def saying(self, said: Iterable[Decision]) -> "ResolutionSettings":
        """Return the settings with further decisions.

        Raises:
            SettingsError: they contradict each other, or those in the settings.
        """
        both = {"same": list(self.same), "different": list(self.different)}
        for one in said:
            both[one.verdict].append(NamesSaid.model_validate(one.model_dump(exclude={"verdict"})))
        try:
            return ResolutionSettings.model_validate({**self.model_dump(exclude=set(both)), **both})
        except ValidationError as error:
            raise SettingsError(str(error.errors()[0]["msg"]).removeprefix("Value error, ")) from None
