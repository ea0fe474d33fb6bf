"""The section ``model``: the endpoint, and what single tasks have otherwise."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from graphrag_dagster.kernel.catalogue.registry import named, roles
from graphrag_dagster.kernel.settings.credentials import (
    AnyPlainText,
    BaseUrl,
    Body,
    Headers,
    PlainText,
    Query,
    VariableName,
)
from graphrag_dagster.kernel.settings.section import Choice, PositiveInt, Section

#: What a model is asked for.
RoleName: TypeAlias = Annotated[str, Choice(roles)]
Reasoning = Literal["off", "low", "medium", "high", "default"]

Price = Annotated[float, Field(ge=0, le=1_000_000)]
SamplingSeed = Annotated[int, Field(ge=-(2**63), lt=2**63)]

#: At 0 most endpoints say the same again, and five verdicts are one; the paper's varied and were averaged.
_VERDICTS_VARY = 0.7


def _longest_replies() -> str:
    return ", ".join(f"{one.name} {one.longest_reply}" for one in roles().values() if one.longest_reply)


#: Keys that decide what a model replies: neither where it is asked does, nor how long a reply may be.
DECIDING_REPLIES = ("name", "namespace", "temperature", "top_p", "seed", "reasoning", "extra_body")
#: Keys that belong to an endpoint: a task with an endpoint of its own has none of them from the others.
OF_AN_ENDPOINT = ("api_version", "organization", "project", "headers", "query")
#: Keys that decide what it is asked.
DECIDING_REQUESTS = ("replies", "logit_bias")


class PriceSettings(Section):
    """US dollars per million tokens, for models whose price the price list does not know."""

    input: Price = Field(description="prompt tokens")
    output: Price = Field(0.0, description="tokens of the reply")
    cached_input: Price | None = Field(
        None, description="prompt tokens that the provider had in its cache; default: as other prompt tokens"
    )


class TaskModelSettings(Section):
    """What one task has otherwise than the others."""

    base_url: BaseUrl | None = Field(None, description="OpenAI-compatible base URL")
    api_key_variable: VariableName | None = Field(None, description="variable that holds the key")
    api_version: AnyPlainText | None = Field(None, description="Azure: version of the API")
    organization: PlainText | None = Field(None, description="organisation that the calls are booked on")
    project: PlainText | None = Field(None, description="project that the calls are booked on")
    headers: Headers | None = Field(None, description="further headers of every request")
    query: Query | None = Field(None, description="further parameters of the URL of every request")
    name: PlainText | None = Field(None, description="chat model")
    temperature: Annotated[float, Field(ge=0, le=2)] | None = Field(None, description="sampling temperature")
    top_p: Annotated[float, Field(gt=0, le=1)] | None = Field(None, description="nucleus sampling")
    seed: SamplingSeed | None = Field(None, description="seed of the sampling")
    max_output_tokens: PositiveInt | None = Field(None, description="longest reply")
    reasoning: Reasoning | None = Field(None, description="hidden reasoning")
    extra_body: Body | None = Field(None, description="further keys of every request, as they are")
    concurrency: PositiveInt | None = Field(None, description="calls in flight")
    requests_per_minute: PositiveInt | None = Field(None, description="most requests a minute")
    tokens_per_minute: PositiveInt | None = Field(None, description="most tokens a minute")
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] | None = Field(
        None, description="shortest time limit of a call"
    )
    prices: PriceSettings | None = Field(None, description="prices per million tokens")


class ModelSettings(Section):
    """The model endpoint as this corpus uses it. Keys come from the environment only."""

    base_url: BaseUrl | None = Field(
        None, description="OpenAI-compatible base URL; default: the variable OPENAI_BASE_URL, else OpenAI's"
    )
    api_key_variable: VariableName = Field("OPENAI_API_KEY", description="variable that holds the key")
    api_version: AnyPlainText | None = Field(
        None,
        max_length=40,
        description="Azure: version of the API, such as 2024-10-21; base_url is then that of the resource, "
        "name that of the deployment, and the key is sent as api-key; default: the variable "
        "OPENAI_API_VERSION where base_url is one of Azure's",
    )
    organization: PlainText | None = Field(
        None, description="organisation that the calls are booked on; default: the variable OPENAI_ORG_ID"
    )
    project: PlainText | None = Field(
        None, description="project that the calls are booked on; default: the variable OPENAI_PROJECT_ID"
    )
    headers: Headers = Field(
        default_factory=dict,
        description="further headers of every request; a value $NAME is that of the environment variable, "
        "which credentials have to be",
    )
    query: Query = Field(
        default_factory=dict, description="further parameters of the URL of every request; never a key"
    )
    name: PlainText = Field("gpt-4.1-mini", description="chat model")
    temperature: Annotated[float, Field(ge=0, le=2)] = Field(
        0.0,
        description="sampling temperature; where neither it nor that of the task judge is given, a judge "
        "compares answers at 0.7, so that its replicates differ",
    )
    top_p: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="nucleus sampling; default: the endpoint's"
    )
    seed: SamplingSeed | None = Field(None, description="seed of the sampling, where the endpoint has one")
    max_output_tokens: PositiveInt | None = Field(
        None,
        description=f"longest reply; default: {_longest_replies()}; raised by itself where a reply is cut "
        "off",
    )
    reasoning: Reasoning = Field(
        "off", description="hidden reasoning: switched off where the endpoint can, an effort, or its default"
    )
    extra_body: Body = Field(default_factory=dict, description="further keys of every request, as they are")
    replies: Literal["json_schema", "tuples"] = Field(
        "json_schema", description="typed replies by JSON schema, or the paper's delimited tuples"
    )
    logit_bias: bool = Field(True, description="the endpoint can force one token, for the yes/no check")
    concurrency: PositiveInt = Field(16, description="most calls in flight; fewer while the endpoint is busy")
    requests_per_minute: PositiveInt | None = Field(
        None, description="most requests a minute; default: what the endpoint says, if it does"
    )
    tokens_per_minute: PositiveInt | None = Field(
        None, description="most tokens a minute; default: what the endpoint says, if it does"
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] = Field(
        120.0,
        description="shortest time limit of a call; longer by itself where the endpoint proved to be slow",
    )
    retries: Annotated[int, Field(ge=0, le=100)] = Field(
        5, description="retries of a call that failed in transit"
    )
    prices: PriceSettings | None = Field(
        None, description="prices per million tokens; default: those of a price list"
    )
    batch: bool = Field(
        False, description="send requests through the provider's Batch API: half the price, within a day"
    )
    namespace: PlainText = Field(
        "",
        max_length=100,
        description="remembered replies of one namespace are never used in another; change it when another "
        "model answers under the same name",
    )
    tasks: dict[RoleName, TaskModelSettings] = Field(
        default_factory=dict, description="task → what it has otherwise, such as another model"
    )

    @model_validator(mode="after")
    def _embedding_model_named_once(self) -> "ModelSettings":
        if (embed := self.tasks.get("embed")) and embed.name:
            raise ValueError("name the embedding model in embeddings.model, not in model.tasks.embed.name")
        return self

    def for_role(self, role: str) -> "ModelSettings":
        """Return the settings in force for a role: its own where it has any, limits filled in.

        What belongs to an endpoint, such as headers, is not sent to another one.

        Raises:
            CatalogueError: there is no such role.
        """
        own = self.tasks.get(role)
        given = {} if own is None else {k: v for k, v in own if v is not None}
        if given.get("base_url", self.base_url) != self.base_url:
            fields = type(self).model_fields
            elsewhere = {key: fields[key].get_default(call_default_factory=True) for key in OF_AN_ENDPOINT}
            given = {**elsewhere, **given}
        merged = self.model_copy(update={**given, "tasks": {}})
        longest = named(roles(), role, "role of a model").longest_reply
        if merged.max_output_tokens is None:
            merged = merged.model_copy(update={"max_output_tokens": longest})
        return merged

    @property
    def verdict_temperature(self) -> float:
        """Temperature at which answers are compared; what else the task ``judge`` does keeps its own."""
        judge = self.for_role("judge")
        return judge.temperature if "temperature" in judge.model_fields_set else _VERDICTS_VARY

    @property
    def reply_limit(self) -> int:
        """Most tokens of a reply."""
        return self.max_output_tokens or roles()["extract"].longest_reply
