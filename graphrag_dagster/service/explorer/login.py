"""Giving the server's token in a browser."""

import secrets

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from graphrag_dagster.service.guarding.cookie import cookie_name, set_cookie
from graphrag_dagster.service.guarding.errors import Refusal
from graphrag_dagster.service.guarding.settings import TOKEN, ServiceSettings


class LoginBody(BaseModel):
    """The token of the server."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    token: str


def login_router(settings: ServiceSettings) -> APIRouter:
    """Return the routes by which a browser gets its cookie, and gives it back."""
    router = APIRouter(include_in_schema=False)
    token = settings.token.encode() if settings.token is not None else None

    @router.post("/login")
    async def login(body: LoginBody, request: Request) -> Response:
        """Give who knows the token a cookie in its place."""
        if token is not None and not secrets.compare_digest(body.token.strip().encode(), token):
            raise Refusal(401, "unauthorized", f"that is not the token of the server (its variable {TOKEN})")
        response = Response(status_code=204)
        if token is not None:
            set_cookie(response, request.headers, token)
        return response

    @router.post("/logout")
    async def logout(request: Request) -> Response:
        """Take the cookie back."""
        response = Response(status_code=204)
        response.delete_cookie(cookie_name(request.headers.get("host", "")), httponly=True, samesite="strict")
        return response

    return router
