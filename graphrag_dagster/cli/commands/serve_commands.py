"""``graphrag-dagster serve`` and ``mcp``."""

from typing import Annotated

import typer


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but a local one needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any that is free.")] = 8000,
    concurrency: Annotated[int, typer.Option(min=1, help="Maximum concurrent questions.")] = 16,
) -> int:
    """Serve the corpora over HTTP; return the exit code, over 128 that of the signal that ended it."""
    from graphrag_dagster.service.http_server import run
    from graphrag_dagster.service.settings import ServiceSettings, token_from_environment

    settings = ServiceSettings(host=host, port=port, token=token_from_environment(), max_asks=concurrency)
    ended = run(settings, typer.echo)
    return 128 + ended if ended else 0


def mcp() -> None:
    """Serve the corpora as tools of the Model Context Protocol, on standard input and output."""
    from graphrag_dagster.service.mcp_server import run_stdio

    run_stdio()
