"""The OpenAI-compatible route ``/v1/embeddings``: the embedder of a corpus, or one of the server."""

import base64
from typing import Annotated, Literal, cast

import numpy as np
from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, Field

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.service.backend import Backend
from graphrag_dagster.service.error_responses import Refusal, documented_errors
from graphrag_dagster.service.openai.chat_messages import Lenient
from graphrag_dagster.service.question_stream import cancel_on_disconnect

#: Most inputs of a request; OpenAI's.
MAX_INPUTS = 2048


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
        description="`corpus`: embeds as its index does; `corpus:queries`: embeds as its questions "
        "are embedded; or an embedder of the server, such as `static`"
    )
    input: (
        _Text
        | Annotated[list[_Text], Field(min_length=1, max_length=MAX_INPUTS)]
        | _Tokens
        | Annotated[list[_Tokens], Field(min_length=1, max_length=MAX_INPUTS)]
    ) = Field(description="a text, a list of texts, or either as tokens")
    encoding_format: Literal["float", "base64"] | None = Field(
        None, description="a list of numbers, or base64 of little-endian float32; default: float"
    )
    dimensions: int | None = Field(
        None, description="must equal the dimensions of the vectors; vectors are never truncated"
    )


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


_ENCODING = "cl100k_base"
#: How a corpus embeds, behind its name.
DOCUMENTS, QUERIES = "embeddings", "queries"


def texts_of(body: EmbeddingBody) -> list[str]:
    """Return the inputs as texts.

    Raises:
        QuestionError: a token is none.
    """
    given = body.input
    if isinstance(given, str):
        return [given]
    if isinstance(given[0], str):
        return given
    batches = cast("list[list[int]]", given if isinstance(given[0], list) else [given])
    tokenizer = get_tokenizer(_ENCODING)
    return [tokenizer.decode(tokens) for tokens in batches]


def rendered(vector: NDArray[np.float32], form: str | None) -> list[float] | str:
    """Return a vector as numbers, or as base64 of its bytes."""
    if form == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    return cast("list[float]", vector.tolist())


def embeddings_router(backend: Backend) -> APIRouter:
    """Return the route that turns texts into vectors."""
    router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])

    async def work(body: EmbeddingBody) -> EmbeddingList:
        texts = await run_sync(texts_of, body)
        vectors = await _vectors(backend, body.model, texts)
        size = vectors.shape[1]
        if body.dimensions not in (None, size):
            raise QuestionError(
                f"the vectors of {body.model!r} have {size} dimensions, not {body.dimensions}; omit "
                "dimensions"
            )

        def made() -> EmbeddingList:
            tokens = sum(get_tokenizer(_ENCODING).counts(texts))
            return EmbeddingList(
                data=[
                    Embedding(index=place, embedding=rendered(vector, body.encoding_format))
                    for place, vector in enumerate(vectors)
                ],
                model=body.model,
                usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
            )

        return await run_sync(made)

    @router.post(
        "/embeddings",
        response_model=EmbeddingList,
        responses=documented_errors(400, 402, 404, 409, 429, 502, 504, openai=True),
    )
    async def embed(body: EmbeddingBody, request: Request) -> Response:
        """Turn texts into vectors that can be compared with those of a corpus."""
        made = await cancel_on_disconnect(request, work(body))
        return JSONResponse(made.model_dump())

    return router


async def _vectors(backend: Backend, model: str, texts: list[str]) -> NDArray[np.float32]:
    corpus, _, side = model.partition(":")
    if side not in ("", DOCUMENTS, QUERIES):
        raise Refusal(
            404,
            "model_not_found",
            f"{model!r} is not an embedding model; use {corpus!r} or {corpus}:{QUERIES}",
        )
    # A corpus comes before an embedder of its name.
    if not side and corpus in await backend.embedders() and corpus not in await backend.names():
        return await backend.embed_here(corpus, texts)
    return await backend.embed(corpus, texts, queries=side == QUERIES)
