import signal
import subprocess
import sys
from pathlib import Path

import httpx2 as httpx
import pytest

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.service.http_server import bind, run
from graphrag_dagster.service.settings import ServiceSettings
from support.served import FaultyLibrary, serving

CODE = """
from functools import partial
from graphrag_dagster.service.http_server import run
from graphrag_dagster.service.settings import ServiceSettings
run(ServiceSettings(port=0), partial(print, flush=True))
"""


def test_a_process_serves_until_it_is_interrupted(coast: Path) -> None:
    command = [sys.executable, "-c", CODE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        answer = httpx.get(f"{url}/health")
        assert answer.json() == {"status": "ok"}
        assert "server" not in answer.headers
        asked = httpx.post(f"{url}/corpora/coast/ask", json={"question": "Who led the dockers?"}, timeout=60)
        assert asked.status_code == 200
        assert httpx.get(f"{url}/corpora/coast/entities", params={"query": "plum cake"}).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stdout.read() == ""
        assert process.stderr.read() == ""


def test_a_port_that_is_taken_is_said(library: FaultyLibrary) -> None:
    with serving(library, ServiceSettings(port=0)) as url:
        port = httpx.URL(url).port
        assert port is not None
        with pytest.raises(SettingsError, match=f"cannot listen on 127.0.0.1 port {port}"):
            run(ServiceSettings(port=port), library=library)


def test_the_other_loopback_is_served(library: FaultyLibrary) -> None:
    settings = ServiceSettings(host="::1", port=0)
    try:
        bind(settings).close()
    except SettingsError:
        pytest.skip("this machine has no IPv6")
    with serving(library, settings) as url:
        assert url.startswith("http://[::1]:")
        assert httpx.get(f"{url}/corpora").status_code == 200


def test_an_unsafe_host_is_refused_before_anything_is_bound() -> None:
    with pytest.raises(SettingsError, match="GRAPHRAG_DAGSTER_TOKEN"):
        run(ServiceSettings(host="0.0.0.0", port=0))  # noqa: S104
