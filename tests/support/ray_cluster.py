"""A Ray cluster on this machine, in a process of its own that ends with the block."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_SERVE = """
import os, sys
import ray
cluster = ray.init(
    num_cpus=4, include_dashboard=True, dashboard_host="127.0.0.1", dashboard_port=int(sys.argv[1]),
    log_to_driver=False, _temp_dir=sys.argv[2],
)
print("READY http://" + cluster.dashboard_url, flush=True)
sys.stdin.read()
ray.shutdown()
"""


@contextmanager
def ray_cluster(environment: dict[str, str], port: int) -> Iterator[dict[str, str]]:
    """What a run needs in its environment to reach the cluster: its address and its token.

    Args:
        environment: what the cluster's processes, and so the steps, find in theirs.
        port: a free one, for the dashboard, which takes the jobs.
    """
    # A step is begun as the command dagster, looked up on the node's path.
    path = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])}
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    # Ray's sockets lie in its folder, and the path of a socket must be short.
    with (
        TemporaryDirectory(prefix="ray", dir="/tmp") as folder,
        (Path(folder) / "errors").open("w") as errors,
    ):
        process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(port), folder],
            env=environment | path | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert process.stdin
        assert process.stdout
        try:
            line = next((line for line in process.stdout if line.startswith("READY ")), "")
            assert line, f"Ray has not started: {(Path(folder) / 'errors').read_text()[-2000:]}"
            yield own | {"RAY_ADDRESS": line.split()[1]}
        finally:
            process.stdin.close()
            process.wait(60)
