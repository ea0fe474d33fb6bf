"""The section ``search.graph``: answers by a router and two retrievers over the graph."""

from typing import Annotated, Literal

from pydantic import Field

from graphrag_dagster.settings.section import Section


class GraphSearchSettings(Section):
    """The way of answering ``graph``."""

    summaries: Annotated[int, Field(ge=1, le=100)] = Field(
        5, description="communities whose reports are nearest to a question that are looked into"
    )
    facts: Annotated[int, Field(ge=1, le=1_000)] = Field(
        30, description="most relationships that a query for nodes gives to the context"
    )
    queries: Literal["templates", "model"] = Field(
        "model",
        description="who writes the query for nodes: the model of the task answer where the engine is one, "
        "else templates; or templates alone",
    )
    propagation: bool = Field(
        True,
        description="context nodes bring in relationships of the communities beside; without effect in an "
        "index that has none",
    )
    brought_in: Annotated[int, Field(ge=1, le=1_000)] = Field(
        10, description="most relationships that context nodes bring in"
    )
