"""A process that asks a model through an LLM cache that it shares.

    python -m support.cache_user JSON

The argument has ``cache``, ``url`` of the endpoint, ``prompts``, ``run``, ``seed`` of their order, and what may be
set of the model (``model``), the limits of the run (``budget``), the seconds that holders live (``life``) and
those that its clock is fast (``fast``). It waits for a line of input, asks, and prints what became of it.
"""

import json
import os
import random
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).parents[1]


class CacheUser:
    """That process; it asks from :meth:`go` on."""

    def __init__(self, cache: Path | str, url: str, prompts: int, **given: Any) -> None:
        config = json.dumps({"cache": str(cache), "url": url, "prompts": prompts, "run": "r1", **given})
        paths = [str(_TESTS), str(_TESTS.parent), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.cache_user", config],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()[1]

    def go(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self, seconds: float = 60) -> dict[str, Any]:
        """Wait for the end, and return what was printed."""
        out, err = self.process.communicate(timeout=seconds)
        # Nothing went wrong on the side either.
        assert (self.process.returncode, err) == (0, ""), err
        printed: dict[str, Any] = json.loads(out)
        return printed


def _main(given: dict[str, Any]) -> None:
    from graphrag_dagster.kernel.models.cache import leases
    from graphrag_dagster.kernel.models.cache.cache_database import database_at
    from graphrag_dagster.kernel.models.cache.cached_models import CachedChatModel
    from graphrag_dagster.kernel.models.cache.llm_cache import Replies, User
    from graphrag_dagster.kernel.models.cache.usage_account import CostMeter, UsageAccount, UsageLog
    from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest, Message
    from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order
    from graphrag_dagster.kernel.models.chat.structured_output import ask
    from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
    from graphrag_dagster.kernel.models.model_costs import Budget, BudgetExhausted
    from graphrag_dagster.kernel.settings.model_settings import ModelSettings
    from graphrag_dagster.kernel.text import prompts

    clock, fast = time.time, given.get("fast", 0.0)
    time.time = lambda: clock() + fast
    leases.LIFE = given.get("life", leases.LIFE)
    database = database_at(given["cache"])
    user = User("c", "a", given["run"])
    account = UsageAccount(user, Replies(database), UsageLog(database), Budget(**given.get("budget", {})))
    chosen = {"name": "scripted", "concurrency": 16, "retries": 2, "timeout_seconds": 30.0}
    settings = ModelSettings(base_url=given["url"], **{**chosen, **given.get("model", {})})
    sender = OpenAIChatModel(settings, first_wait=0.01)
    model = CachedChatModel(sender, account, CostMeter(account, settings, settings.name, given["url"]))
    requests = [
        ChatRequest("hello", (Message("user", f"Question {number}?"),), 30)
        for number in range(given["prompts"])
    ]
    random.Random(given.get("seed")).shuffle(requests)
    work = partial(ask, model, read=lambda text: (text, False), retry=prompts.load("retry"))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    begun, answered, exhausted = time.monotonic(), 0, False
    try:
        for _ in run_in_order(work, requests, calls=settings.concurrency):
            answered += 1
    except BudgetExhausted:
        exhausted = True
    seconds = time.monotonic() - begun
    sys.stdout.write(json.dumps({"answered": answered, "exhausted": exhausted, "seconds": seconds}))


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
