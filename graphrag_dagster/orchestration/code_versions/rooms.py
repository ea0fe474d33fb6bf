"""What of the package decides results: the border at which the following of names ends.

Beyond it lies what carries results and makes none: calls of models and what is remembered of them, the
warehouse, Dagster, progress, messages. A changed retry or log line there makes no index outdated.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

#: The module and the name in it, with a dot before a method; the package's name is left out.
Id = tuple[str, str]


class Part(Enum):
    """What part things have in results."""

    #: They decide them.
    DECIDES = "decides"
    #: They declare them; what is told to people in a call, a string with blanks, decides nothing.
    DECLARES = "declares"
    #: They lead to what decides them, and decide nothing themselves.
    LEADS = "leads"
    #: Values of people, compared by themselves; only what is computed from them decides.
    VALUES = "values"
    #: None.
    NONE = "none"


#: By room, module, or ``module:name``; of several that hold, the longest.
PARTS: Mapping[str, Part] = MappingProxyType(
    {
        "": Part.NONE,
        "assets": Part.DECIDES,
        "automation": Part.NONE,
        "catalogue": Part.LEADS,
        "catalogue.formats": Part.DECLARES,
        # Who looks something up, names it; these would lead from each thing to all.
        "catalogue.registry:added": Part.NONE,
        # Which plug-in an error names decides no result.
        "catalogue.registry:plugged_in": Part.NONE,
        "catalogue.ways": Part.DECLARES,
        "cli": Part.NONE,
        "component": Part.NONE,
        "composition": Part.NONE,
        "core": Part.DECIDES,
        "core.accounting": Part.NONE,
        # What is said of a way of answering: how it answers decides no report.
        "core.evaluation.inference.measures:reads": Part.NONE,
        "core.evaluation.inference.measures:uses_graph": Part.NONE,
        "core.files.own_folders": Part.NONE,
        "core.printable": Part.NONE,
        "core.processes": Part.NONE,
        "core.progress": Part.NONE,
        "core.search.methods.sizes": Part.NONE,
        "core.system_errors": Part.NONE,
        "core.waiting": Part.NONE,
        "dbt_like_sql": Part.NONE,
        "definitions": Part.NONE,
        "engines": Part.DECIDES,
        "engines.desk": Part.NONE,
        "engines.session:Session.finish": Part.NONE,
        "engines.session:Session.still_uses": Part.NONE,
        "engines.session:shown_use": Part.NONE,
        "errors": Part.NONE,
        "model_calls": Part.NONE,
        "operations": Part.NONE,
        "operations.asking": Part.DECIDES,
        "operations.asking.preparing": Part.NONE,
        "operations.evaluating": Part.DECIDES,
        "operations.importing": Part.DECIDES,
        "operations.importing.proposing": Part.NONE,
        "operations.keeping.describing": Part.DECIDES,
        "operations.keeping.extracting": Part.DECIDES,
        "operations.keeping.publication": Part.LEADS,
        "operations.keeping.writing": Part.DECIDES,
        "operations.paths": Part.DECIDES,
        "operations.paths.asking": Part.NONE,
        "operations.paths.training": Part.NONE,
        "operations.paths.training_questions": Part.NONE,
        "orchestration": Part.NONE,
        "prompts": Part.DECIDES,
        "resources": Part.NONE,
        "service": Part.NONE,
        "settings": Part.VALUES,
        "tables": Part.DECLARES,
        "tables.declaration:EngineNames._all": Part.NONE,
    }
)

#: Whose objects an asset may be given without naming their class, by the attribute that hands them out, empty
#: where there is none: their methods count where they are used.
GIVEN: Mapping[str, str] = MappingProxyType(
    {"engines.session": "session", "operations.evaluating.scope": "", "settings": ""}
)

#: What a declaration names counts once this is used: who only reads what it tells, loads nothing.
DECLARATIONS = "catalogue"
LOADER: Id = ("catalogue.registry", "loaded")


@dataclass(frozen=True)
class Rooms:
    """The part of everything in the package.

    Attributes:
        parts: as :data:`PARTS`.
        given: as :data:`GIVEN`.
    """

    parts: Mapping[str, Part] = field(default_factory=lambda: PARTS)
    given: Mapping[str, str] = field(default_factory=lambda: GIVEN)

    def with_also(self, places: Iterable[str]) -> "Rooms":
        """Return rooms in which some more places decide, and hand out objects."""
        more = tuple(places)
        return Rooms(
            {**self.parts, **dict.fromkeys(more, Part.DECIDES)}, {**self.given, **dict.fromkeys(more, "")}
        )

    def part(self, of: Id) -> Part:
        """Return the part that something has."""
        module, name = of
        if name:
            place = f"{module}:{name}"
            while place.partition(":")[2]:
                if place in self.parts:
                    return self.parts[place]
                place = place.rpartition("." if "." in place.partition(":")[2] else ":")[0]
        place = module
        while place not in self.parts:
            place = place.rpartition(".")[0]
        return self.parts[place]
