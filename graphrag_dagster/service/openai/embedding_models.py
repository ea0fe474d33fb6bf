"""What goes in and out of the route that embeds; what it does not know is accepted and ignored."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from graphrag_dagster.service.openai.chat_models import Lenient

#: Most inputs of a request; OpenAI's.
MOST_INPUTS = 2048


def _number(value: object) -> object:
    # To JSON 2.0 is a whole number, too; texts and true are none.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a token is a number")
    return value


_Text = Annotated[str, Field(min_length=1)]
_Token = Annotated[int, Field(ge=0, lt=2**31), BeforeValidator(_number)]
_Tokens = Annotated[list[_Token], Field(min_length=1)]


class EmbeddingBody(Lenient):
    """Texts, or their tokens in cl100k_base, that are to become vectors."""

    model: str = Field(
        description="`corpus`: as its index embeds; `corpus:queries`: as its questions are embedded; or an "
        "embedder of the server, such as `static`"
    )
    input: (
        _Text
        | Annotated[list[_Text], Field(min_length=1, max_length=MOST_INPUTS)]
        | _Tokens
        | Annotated[list[_Tokens], Field(min_length=1, max_length=MOST_INPUTS)]
    ) = Field(description="a text, texts, the tokens of a text, or those of texts")
    encoding_format: Literal["float", "base64"] | None = Field(
        None, description="numbers, or their bytes as little-endian float32 in base64; default: float"
    )
    dimensions: int | None = Field(None, description="must be those of the vectors; nothing is cut off")


class Embedding(BaseModel):
    """The vector of an input, of length 1; all zeros for a blank text."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingUsage(BaseModel):
    """Tokens of the inputs in cl100k_base, whoever embeds them."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingList(BaseModel):
    """A vector for each input, in their order."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: EmbeddingUsage
