"""The section ``model``: the endpoint, and overrides for single tasks."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from graphrag_dagster.kernel.catalogue.registry import require_named, roles
from graphrag_dagster.kernel.settings.credentials import (
    AnyPlainText,
    BaseUrl,
    Body,
    Headers,
    PlainText,
    Query,
    VariableName,
)
from graphrag_dagster.kernel.settings.section import NamedChoice, PositiveInt, Section

#: Roles of a model.
RoleName: TypeAlias = Annotated[str, NamedChoice(roles)]
Reasoning = Literal["off", "low", "medium", "high", "default"]

Price = Annotated[float, Field(ge=0, le=1_000_000)]
SamplingSeed = Annotated[int, Field(ge=-(2**63), lt=2**63)]

#: At 0 most endpoints repeat the same verdict; the paper averaged five that vary.
_VERDICTS_VARY = 0.7


def _longest_replies() -> str:
    return ", ".join(f"{role.name} {role.longest_reply}" for role in roles().values() if role.longest_reply)


#: Keys that affect replies, without those for the endpoint and the reply length.
DECIDING_REPLIES = ("name", "namespace", "temperature", "top_p", "seed", "reasoning", "extra_body")
#: Keys that belong to an endpoint; a task with its own endpoint does not inherit them.
OF_AN_ENDPOINT = ("api_version", "organization", "project", "headers", "query")
#: Keys that affect requests.
DECIDING_REQUESTS = ("replies", "logit_bias")


class PriceSettings(Section):
    """US dollars per million tokens, for models missing from the price list."""

    input: Price = Field(description="prompt tokens")
    output: Price = Field(0.0, description="completion tokens")
    cached_input: Price | None = Field(
        None, description="prompt tokens in the provider's cache; default: as other prompt tokens"
    )


class TaskModelSettings(Section):
    """Overrides of one task."""

    base_url: BaseUrl | None = Field(None, repr=False, description="OpenAI-compatible base URL")
    api_key_variable: VariableName | None = Field(None, description="environment variable with the key")
    api_version: AnyPlainText | None = Field(None, description="Azure: API version")
    organization: PlainText | None = Field(None, description="organisation that the calls are billed to")
    project: PlainText | None = Field(None, description="project that the calls are billed to")
    headers: Headers | None = Field(None, description="additional headers of every request")
    query: Query | None = Field(None, repr=False, description="additional URL parameters of every request")
    name: PlainText | None = Field(None, description="chat model")
    temperature: Annotated[float, Field(ge=0, le=2)] | None = Field(None, description="sampling temperature")
    top_p: Annotated[float, Field(gt=0, le=1)] | None = Field(None, description="nucleus sampling")
    seed: SamplingSeed | None = Field(None, description="seed of the sampling")
    max_output_tokens: PositiveInt | None = Field(None, description="most tokens of a reply")
    reasoning: Reasoning | None = Field(None, description="hidden reasoning")
    extra_body: Body | None = Field(None, description="additional keys of every request, passed on unchanged")
    concurrency: PositiveInt | None = Field(None, description="concurrent calls")
    requests_per_minute: PositiveInt | None = Field(None, description="requests per minute")
    tokens_per_minute: PositiveInt | None = Field(None, description="tokens per minute")
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] | None = Field(
        None, description="seconds for which the endpoint may be silent"
    )
    prices: PriceSettings | None = Field(None, description="prices per million tokens")


class ModelSettings(Section):
    """The model endpoint of this corpus. Keys come only from the environment."""

    base_url: BaseUrl | None = Field(
        None,
        repr=False,
        description="OpenAI-compatible base URL; default: the variable OPENAI_BASE_URL, else OpenAI's",
    )
    api_key_variable: VariableName = Field("OPENAI_API_KEY", description="environment variable with the key")
    api_version: AnyPlainText | None = Field(
        None,
        max_length=40,
        description="Azure: API version, such as 2024-10-21; base_url is then the URL of the resource, name "
        "the deployment, and the key is sent as api-key; default: the variable OPENAI_API_VERSION "
        "if base_url belongs to Azure",
    )
    organization: PlainText | None = Field(
        None, description="organisation that the calls are billed to; default: the variable OPENAI_ORG_ID"
    )
    project: PlainText | None = Field(
        None, description="project that the calls are billed to; default: the variable OPENAI_PROJECT_ID"
    )
    headers: Headers = Field(
        default_factory=dict,
        description="additional headers of every request; a value $NAME is read from the environment "
        "variable, which is required for credentials",
    )
    query: Query = Field(
        default_factory=dict,
        repr=False,
        description="additional URL parameters of every request; never a key",
    )
    name: PlainText = Field("gpt-4.1-mini", description="chat model")
    temperature: Annotated[float, Field(ge=0, le=2)] = Field(
        0.0,
        description="sampling temperature; if neither this nor that of the task judge is set, a judge "
        "compares answers at 0.7, so that its replicates differ",
    )
    top_p: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="nucleus sampling; default: the endpoint's"
    )
    seed: SamplingSeed | None = Field(None, description="sampling seed, if the endpoint supports one")
    max_output_tokens: PositiveInt | None = Field(
        None,
        description=f"most tokens of a reply; default: {_longest_replies()}; raised automatically if a reply "
        "is cut off",
    )
    reasoning: Reasoning = Field(
        "off",
        description="hidden reasoning: off if the endpoint allows it, an effort, or the endpoint's default",
    )
    extra_body: Body = Field(
        default_factory=dict, description="additional keys of every request, passed on unchanged"
    )
    replies: Literal["json_schema", "tuples"] = Field(
        "json_schema", description="replies by JSON schema, or the paper's delimited tuples"
    )
    logit_bias: bool = Field(
        True, description="whether the endpoint can force a single token, for the yes/no check"
    )
    concurrency: PositiveInt = Field(
        16, description="most concurrent calls; fewer while the endpoint is busy"
    )
    requests_per_minute: PositiveInt | None = Field(
        None, description="most requests per minute of each process"
    )
    tokens_per_minute: PositiveInt | None = Field(None, description="most tokens per minute of each process")
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] = Field(
        600.0,
        description="seconds for which the endpoint may be silent before a call counts as lost",
    )
    retries: Annotated[int, Field(ge=0, le=100)] = Field(
        5, description="retries of a call that failed in transit"
    )
    prices: PriceSettings | None = Field(
        None, description="prices per million tokens; default: the built-in price list"
    )
    batch: bool = Field(
        False, description="send requests through the provider's Batch API: half the price, within a day"
    )
    namespace: PlainText = Field(
        "",
        max_length=100,
        description="namespace of the LLM cache; cached replies are only used within their namespace; change "
        "it when another model answers under the same name",
    )
    tasks: dict[RoleName, TaskModelSettings] = Field(
        default_factory=dict, description="task → its overrides, such as another model"
    )

    @model_validator(mode="after")
    def _check_embedding_model(self) -> "ModelSettings":
        if (embed := self.tasks.get("embed")) and embed.name:
            raise ValueError("set the embedding model as embeddings.model, not model.tasks.embed.name")
        return self

    def for_role(self, role: str) -> "ModelSettings":
        """Return the effective settings of a role, with its overrides and all limits filled in.

        Settings of one endpoint, such as headers, are not sent to another.

        Raises:
            CatalogueError: no such role.
        """
        overrides = self.tasks.get(role)
        given = {} if overrides is None else {k: v for k, v in overrides if v is not None}
        if given.get("base_url", self.base_url) != self.base_url:
            fields = type(self).model_fields
            elsewhere = {key: fields[key].get_default(call_default_factory=True) for key in OF_AN_ENDPOINT}
            given = {**elsewhere, **given}
        merged = self.model_copy(update={**given, "tasks": {}})
        longest = require_named(roles(), role, "role of a model").longest_reply
        if merged.max_output_tokens is None:
            merged = merged.model_copy(update={"max_output_tokens": longest})
        return merged

    @property
    def verdict_temperature(self) -> float:
        """Temperature for comparing answers; other requests of the task ``judge`` keep theirs."""
        judge = self.for_role("judge")
        return judge.temperature if "temperature" in judge.model_fields_set else _VERDICTS_VARY

    @property
    def reply_limit(self) -> int:
        """Most tokens of a reply."""
        return self.max_output_tokens or roles()["extract"].longest_reply
