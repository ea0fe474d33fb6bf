"""``extraction.gliner`` and ``extraction.rebel``: models of ``gliner-rebel``; and the section ``typing``."""

from typing import Annotated

from pydantic import Field, field_validator

from graphrag_dagster.core.language.neural.labels import SCIENTIFIC
from graphrag_dagster.core.text.relations import relation_label
from graphrag_dagster.core.text.similarity import normalise
from graphrag_dagster.settings.section import EngineName, PositiveInt, Section, SwitchedSection

# A folder given by a path that is not absolute may have come with the documents.
Checkpoint = Annotated[
    str, Field(max_length=1000, pattern=r"^(/.+|[A-Za-z0-9][\w.-]*/[\w-][\w.-]*(@[\w-][\w.-]*)?)$")
]
_WHERE = (
    "the absolute path of a folder, or the name of one on the hub, with @ and a revision where one is meant"
)


class GlinerSettings(Section):
    """The model of the engine gliner-rebel that finds entities; no other engine reads this."""

    model: Checkpoint = Field("Ihor/gliner-biomed-base-v1.0", description=f"a GLiNER model: {_WHERE}")
    threshold: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.7, description="how sure the model is of a mention at least"
    )
    labels: list[Annotated[str, Field(max_length=100)]] = Field(
        default_factory=lambda: list(SCIENTIFIC),
        min_length=1,
        max_length=200,
        description="what entities are called; the type of an entity is one of them, or UNKNOWN",
    )

    @field_validator("labels")
    @classmethod
    def _each_label_once(cls, labels: list[str]) -> list[str]:
        seen: dict[str, str] = {}
        for label in labels:
            if not any(map(str.isalnum, label)):
                raise ValueError(f"{label!r} is blank; a label has a letter or a digit")
            if (name := normalise(label)) in seen:
                raise ValueError(f"{label!r} is there twice, as {seen[name]!r}; leave one of them out")
            seen[name] = label
        return [" ".join(label.split()) for label in labels]


class RebelSettings(Section):
    """The model of the engine gliner-rebel that reads relations; no other engine reads this."""

    model: Checkpoint = Field("Babelscape/rebel-large", description=f"a REBEL model: {_WHERE}")
    beams: Annotated[int, Field(ge=1, le=20)] = Field(3, description="beams of its search")
    max_length: Annotated[int, Field(ge=8, le=1024)] = Field(
        256, description="most tokens that it writes about a text; what is longer is cut off"
    )
    length_penalty: Annotated[float, Field(ge=-10, le=10)] = Field(
        0.0, description="exponent of the length by which what it may write is compared; 0: not by it"
    )
    input_tokens: Annotated[int, Field(ge=16, le=1024)] = Field(
        512, description="most tokens that it reads at once; longer text units are cut at sentences"
    )
    relations: list[Annotated[str, Field(max_length=100)]] = Field(
        default_factory=list,
        max_length=1000,
        description="relations that are taken, such as treats or has cause; []: all",
    )
    batch: Annotated[PositiveInt, Field(le=1024)] = Field(
        8, description="texts at once; another number may round, and so read, a text otherwise"
    )

    @field_validator("relations")
    @classmethod
    def _are_labels(cls, relations: list[str]) -> list[str]:
        for one in relations:
            if relation_label(one) is None:
                raise ValueError(f"{one!r} is no relation; write it in at most 8 words, such as has cause")
        return relations


class TypingSettings(SwitchedSection):
    """Types of entities that gliner-rebel only reads in relations; on where the section says anything."""

    enabled: bool = Field(
        False,
        description="ask a model which of extraction.gliner.labels such an entity has, and rules about its "
        "name where it says none; true where any other key of the section is given, unless this says false",
    )
    engine: EngineName | None = Field(
        None, description="which must ask a model; default: the corpus's engine"
    )
