"""The whole index with a model, against an endpoint whose times are known.

    python benchmarks/endpoint.py [saturation|stragglers|updates|large|usual|rates|kill|faults|plan|calls|all]
        [--connections 32] [--files 50] [--shards auto] [--backend processes]

The corpus has about 100,000 tokens: 1,000 passages of 2WikiMultihopQA, 20 to a file, where the data set lies
beside the checkout. ``large`` has 9,000 passages of three data sets, and 256 connections; ``usual`` has 4,000
of them, as many connections, and the times of hosted endpoints: 500 ms + 12 ms per output token; ``updates``
edits one sentence of 900 passages, then adds the other 100.

Processor time is that of the command with all processes that it has started and waited for; its memory is the
most that all of them had resident at one time, looked at twice a second.

The endpoint is a scripted one in a process of its own (``tests/support/serve.py``): 200 ms + 2 ms per output
token, 200 ms per embedding call; it answers by pattern, so nothing here speaks of quality. *Ideal* is the sum
of its answering times over the connections, for the very calls that were made.

``calls`` tells the processor time of a call by itself, streamed in 200 pieces, to a server that only
answers. With ``PYTHONPATH`` set to the checkout of another commit, its package is measured.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.serve import ServedEndpoint

DATA = ROOT.parent / "shared" / "data" / "hipporag"
PASSAGES = DATA / "2wikimultihopqa_corpus.json"
MORE = (DATA / "musique_train_corpus.json", DATA / "hotpotqa_train_corpus.json")
SECONDS, SECONDS_PER_TOKEN = 0.2, 0.002
COMMAND = [str(Path(sys.executable).parent / "graphrag-dagster"), "index", "bench", "--json", "--again"]
EXTRACTION = {"extract_graph", "glean_continue"}
TABLES = """
import sys, duckdb, hashlib
con = duckdb.connect(sys.argv[1], read_only=True)
for schema, name in con.execute("select table_schema, table_name from information_schema.tables "
                                "where table_schema <> 'usage' order by 1, 2").fetchall():
    rows = con.execute(f'select * from "{schema}"."{name}" order by all').fetchall()
    print(schema + "." + name, hashlib.sha256(repr(rows).encode()).hexdigest())
"""


#: Answers every chat request with the same 6,000 characters, at once.
ANSWERS = """
import asyncio, json, sys
TEXT, MANY = "An entity of the harbour, told in a sentence or two. " * 115, 200
USAGE = {"prompt_tokens": 900, "completion_tokens": 1400, "total_tokens": 2300}
STEP = len(TEXT) // MANY + 1
def choice(key, part, finish=None):
    told = {"index": 0, key: {"content": part}, "finish_reason": finish}
    return json.dumps({"choices": [told], "usage": USAGE})
events = [choice("delta", TEXT[n * STEP : n * STEP + STEP]) for n in range(MANY)]
events.append(choice("delta", "", "stop"))
def answer(body, kind):
    head = f"HTTP/1.1 200 OK\\r\\nContent-Type: {kind}\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n"
    return (head + body).encode()
WHOLE = answer(choice("message", TEXT, "stop"), "application/json")
STREAM = answer("".join(f"data: {one}\\n\\n" for one in [*events, "[DONE]"]), "text/event-stream")
class Answering(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.got = transport, b""
    def data_received(self, data):
        self.got += data
        head, ended, body = self.got.partition(b"\\r\\n\\r\\n")
        lines = head.lower().split(b"\\r\\n")
        length = next((int(one[15:]) for one in lines if one.startswith(b"content-length:")), 0)
        if ended and len(body) >= length:
            self.got = b""
            self.transport.write(STREAM if b'"stream":true' in body else WHOLE)
async def main():
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
asyncio.run(main())
"""


@dataclass
class Run:
    """One ``index`` as a process."""

    code: int
    wall: float
    cpu: float
    peak_mb: float
    together_mb: float
    printed: dict[str, Any]


def corpus(home: Path, files: int = 50, first: int = 0, more: tuple[Path, ...] = ()) -> None:
    passages = [one for file in (PASSAGES, *more) for one in passages_of(file)]
    folder = home / "corpora" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(first, files):
        part = passages[number * 20 : number * 20 + 20]
        text = "\n\n".join(f"{one['title']}\n{one['text']}" for one in part)
        (folder / f"part{number:02}.txt").write_text(text, encoding="utf-8")


def passages_of(file: Path) -> list[dict[str, str]]:
    """Read passages: a list of titles and texts, or the sentences by title."""
    given = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(given, list):
        return given
    return [{"title": title, "text": "".join(sentences)} for title, sentences in given.items()]


#: The section ``execution`` of all corpora; of the package of an older commit, that does not know it, none.
EXECUTION: dict[str, Any] = {}


def settings(home: Path, url: str, **model: Any) -> None:
    given = {
        **({"execution": EXECUTION} if EXECUTION else {}),
        "engine": "llm",
        "extraction": {"gleaning": {"rounds": 1, "order": "continue_first"}},
        "embeddings": {"embedder": "endpoint", "model": "scripted-embedding"},
        "model": {"base_url": url, "name": "gpt-4.1-mini", "timeout_seconds": 60, **model},
    }
    (home / "corpora" / "bench" / "corpus.yaml").write_text(json.dumps(given), encoding="utf-8")


def start(home: Path, command: list[str] = COMMAND) -> subprocess.Popen[str]:
    # Else each run of changed code would compile it.
    left_out = ("GRAPHRAG", "OPENAI", "DAGSTER", "PYTHONDONTWRITEBYTECODE")
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(left_out)},
        "GRAPHRAG_DAGSTER_HOME": str(home),
        "DAGSTER_HOME": str(home / ".dagster_home"),
    }
    return subprocess.Popen(
        command, cwd=home, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def index(home: Path, command: list[str] = COMMAND) -> Run:
    begin = time.monotonic()
    process = start(home, command)
    memory = Memory(process.pid)
    out, err = process.stdout.read(), process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in {0, 3}:
        print(err[-2000:])
    printed = json.loads(out) if out.strip().startswith("{") else {}
    return Run(
        process.returncode,
        time.monotonic() - begin,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 1024,
        memory.end(),
        printed,
    )


def words(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").split()


class Memory:
    """Looks at the resident memory of a process and of all below it; Linux only."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._most = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> float:
        """The most megabytes at one time."""
        self._ended.set()
        self._thread.join()
        return self._most * os.sysconf("SC_PAGE_SIZE") / 1e6

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            self._most = max(self._most, self._pages(self._pid))

    def _pages(self, pid: int) -> int:
        folder = Path("/proc") / str(pid)
        try:
            below = [
                one for task in (folder / "task").iterdir() for one in (task / "children").read_text().split()
            ]
            return int((folder / "statm").read_text().split()[1]) + sum(
                self._pages(int(one)) for one in below
            )
        except (OSError, IndexError):
            return 0


def tables(home: Path) -> dict[str, str]:
    out = subprocess.run(
        [sys.executable, "-c", TABLES, str(home / "warehouse" / "bench.duckdb")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return dict(line.split() for line in out.splitlines())


def measured(run: Run, tally: dict[str, Any], connections: int, target: float) -> None:
    ideal = tally["latency_sum"] / connections
    print(f"wall {run.wall:.1f} s, ideal {ideal:.1f} s: {run.wall / ideal:.2f} (target {target})")
    print(f"own CPU {run.cpu:.1f} s (target 14), peak {run.peak_mb:.0f} MB (target 400), exit {run.code}")
    print(
        f"all processes together: peak {run.together_mb:.0f} MB; load of the machine {os.getloadavg()[0]:.1f}"
    )
    print(f"calls {tally['calls']}, tokens in {tally['input_tokens']:,} out {tally['output_tokens']:,}")
    print(f"repeated {tally['repeated']}, statuses {tally['statuses']}")
    print(f"in flight: highest {tally['highest']}, mean {tally['mean']:.1f}")
    for task, (highest, mean) in tally["concurrency_by_task"].items():
        print(f"  {task}: highest {highest}, mean {mean:.1f}")


def saturation(connections: int, files: int) -> None:
    with tempfile.TemporaryDirectory() as folder, served() as endpoint:
        home = Path(folder)
        corpus(home, files, more=MORE)
        settings(home, endpoint.url, concurrency=connections)
        measured(index(home), endpoint.tally(), connections, 1.15)
        endpoint.reset()
        again = index(home)
        print(f"unchanged rerun: {again.wall:.1f} s, calls {endpoint.tally()['calls']}")


def stragglers(connections: int) -> None:
    """2 % of the replies run to their limit and are cut off there, 1 % take four times as long."""
    with tempfile.TemporaryDirectory() as folder, served(cut_rate=0.02, slow_rate=0.01, seed=1) as endpoint:
        home = Path(folder)
        corpus(home)
        settings(home, endpoint.url, concurrency=connections)
        run = index(home)
        measured(run, endpoint.tally(), connections, 1.25)
        print("units:", unit_states(home), "missing:", run.printed.get("missing"))


def updates(connections: int) -> None:
    """Seconds beside the endpoint's: those in which nothing is in flight."""
    with tempfile.TemporaryDirectory() as folder, served() as endpoint:
        home = Path(folder)
        corpus(home, 45)
        settings(home, endpoint.url, concurrency=connections)
        print("| run | wall s | beside the endpoint s | own CPU s | calls |\n| --- | --- | --- | --- | --- |")

        def told(name: str) -> None:
            seen, begun = len(endpoint.log()), time.monotonic()
            run = index(home, COMMAND[:-1])
            calls = [one for one in endpoint.log()[seen:] if one["event"] == "end"]
            busy = in_flight([(one["begun"], one["ended"]) for one in calls], begun)
            print(f"| {name} | {run.wall:.1f} | {run.wall - busy:.1f} | {run.cpu:.1f} | {len(calls)} |")

        told("first")
        told("unchanged")
        edited = home / "corpora" / "bench" / "part07.txt"
        text = edited.read_text(encoding="utf-8")
        place = text.index(". ", 2000)
        edited.write_text(f"{text[:place]}. It was seen by many in 1921{text[place:]}", encoding="utf-8")
        told("one sentence edited")
        corpus(home, 50, first=45)
        told("a tenth more")


def in_flight(calls: list[tuple[float, float]], begun: float) -> float:
    """Seconds in which at least one call was under way."""
    busy, until = 0.0, begun
    for begin, end in sorted(calls):
        busy += max(0.0, end - max(begin, until))
        until = max(until, end)
    return busy


def large(files: int = 450, **times: float) -> None:
    connections = 256
    with tempfile.TemporaryDirectory() as folder, served(**times) as endpoint:
        home = Path(folder)
        corpus(home, files, more=MORE)
        settings(home, endpoint.url, concurrency=connections)
        measured(index(home), endpoint.tally(), connections, 1.08)


def rates() -> None:
    """The limits of the paper's authors: 10,000 requests and 2 M tokens a minute."""
    with (
        tempfile.TemporaryDirectory() as folder,
        served(requests_per_minute=10_000, tokens_per_minute=2_000_000, burst=0.05) as endpoint,
    ):
        home = Path(folder)
        corpus(home)
        settings(home, endpoint.url, concurrency=256)
        run = index(home)
        tally = endpoint.tally()
        print(f"wall {run.wall:.1f} s; statuses {tally['statuses']}; exit {run.code}")
        extraction = [
            one
            for one in endpoint.log()
            if one["event"] == "end" and one["status"] == 200 and one["task"] in EXTRACTION
        ]
        begun = sorted(one["begun"] for one in extraction)
        tokens = sum(one["tokens"] for one in extraction)
        span = begun[-1] - begun[0]
        print(
            f"extraction: {len(extraction)} calls, {tokens:,} tokens begun within {span:.1f} s: "
            f"{tokens / span * 60 / 2_000_000:.2f} of the tokens a minute, "
            f"{len(extraction) / span * 60 / 10_000:.2f} of the requests"
        )


def kill(times: int = 10) -> None:
    """Kill at random moments, resume, and count the prompts that were answered and sent again."""
    with tempfile.TemporaryDirectory() as folder, served() as endpoint:
        whole = Path(folder) / "whole"
        corpus(whole)
        settings(whole, endpoint.url, concurrency=32)
        undisturbed = index(whole)
        expected = tables(whole)
        home = Path(folder) / "killed"
        corpus(home)
        settings(home, endpoint.url, concurrency=32)
        moments = random.Random(7)
        endpoint.reset()
        seen = len(endpoint.log())
        kills = []
        for _ in range(times):
            process = start(home)
            time.sleep(moments.uniform(4.0, undisturbed.wall * 0.35))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            kills.append(time.monotonic())
            process.communicate()
            time.sleep(6)
        resumed = index(home)
        log = endpoint.log()[seen:]
        print(f"killed {times} times, resumed in {resumed.wall:.1f} s, exit {resumed.code}")
        report_repeated(log, kills)
        print("tables equal to the undisturbed run's:", tables(home) == expected)


def report_repeated(log: list[dict[str, Any]], kills: list[float]) -> None:
    """A prompt counts as in flight if a kill fell between its sending and 50 ms after its answer.

    Not the last kill before it was sent again: a process that is killed early sends nothing, and leaves what
    was in flight at the kill before it to the next one.
    """
    answers: dict[str, dict[str, Any]] = {}
    repeated, in_flight = 0, 0
    before_kill: list[float] = []
    for one in log:
        if one["event"] == "begin":
            if (answer := answers.get(one["sha"])) is not None:
                begun, ended = answer["begun"], answer["ended"]
                cut = any(begun < moment < ended + 0.05 for moment in kills)
                in_flight += cut
                repeated += not cut
                if not cut:
                    later = [moment - ended for moment in kills if moment > ended]
                    before_kill.append(min(later, default=float("nan")))
        elif one["event"] == "end" and one["status"] == 200 and one["sent"]:
            answers[one["sha"]] = one
    begun = [one["begun"] for one in log if one["event"] == "begin"]
    spans = zip([float("-inf"), *kills], [*kills, float("inf")], strict=True)
    print("requests of each process:", [sum(a < one < b for one in begun) for a, b in spans])
    print(f"prompts sent again although answered: {repeated}; of those in flight at a kill: {in_flight}")
    if before_kill:
        # A process that is not given the processor has not read what was sent to it.
        print("seconds before the next kill:", ", ".join(f"{one:.2f}" for one in sorted(before_kill)))


def faults() -> None:
    for rate in (0.05, 0.2):
        with (
            tempfile.TemporaryDirectory() as folder,
            served() as good,
            served(error_rate=rate, malformed_rate=rate, seed=1) as bad,
        ):
            homes = []
            for name, endpoint in (("good", good), ("bad", bad)):
                home = Path(folder) / name
                corpus(home)
                settings(home, endpoint.url, concurrency=64)
                run = index(home)
                homes.append((home, run))
            missing = homes[1][1].printed.get("missing")
            print(f"{rate:.0%} errors + {rate:.0%} malformed: exit {homes[1][1].code}, missing {missing}")
            print("  statuses", bad.tally()["statuses"], "wall", round(homes[1][1].wall, 1))
            print("  units:", unit_states(homes[1][0]))
            one, two = tables(homes[0][0]), tables(homes[1][0])
            print("  tables that differ:", [name for name in one if one[name] != two[name]])


def unit_states(home: Path) -> list[Any]:
    code = (
        "import sys, duckdb; print(duckdb.connect(sys.argv[1], read_only=True).execute("
        '"select state, reason, count(*) from extraction.unit_ledger group by all order by 3 desc"'
        ").fetchall())"
    )
    file = str(home / "warehouse" / "bench.duckdb")
    return subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True).stdout.strip()


def plan() -> None:
    with tempfile.TemporaryDirectory() as folder, served() as endpoint:
        home = Path(folder)
        corpus(home)
        settings(home, endpoint.url, concurrency=64)
        environment = {**os.environ, "GRAPHRAG_DAGSTER_HOME": str(home)}
        asked = [COMMAND[0], "plan", "bench", "--json"]
        printed = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
        planned = json.loads(printed.stdout)
        used = index(home).printed["usage"]
        spent = sum(u["input_tokens"] + u["output_tokens"] for u in used if u["asset"] == "extraction")
        stage = next(one for one in planned["stages"] if one["stage"] == "extraction")
        expected = stage["tokens"]["expected"]
        print(f"extraction: planned {stage}")
        print(f"spent {spent:,} tokens; planned / spent {expected / spent:.3f}")


def calls(connections: int) -> None:
    """Of 480 calls, each by connections that are open already."""
    from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest, Message
    from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
    from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
    from graphrag_dagster.kernel.settings.model_settings import ModelSettings

    command = [sys.executable, "-c", ANSWERS]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().strip()
    model = OpenAIChatModel(ModelSettings(base_url=f"http://127.0.0.1:{port}/v1", concurrency=connections))
    prompt = "Some text unit of a document. " * 130
    request = ChatRequest("calls", (Message("system", prompt), Message("user", prompt)), 2000)

    async def ask(each: int) -> None:
        async def one() -> None:
            for _ in range(each):
                await model.complete(request)

        await asyncio.gather(*(one() for _ in range(connections)))

    try:
        each = max(480 // connections, 1)
        run_one(ask(2))
        begun = time.process_time()
        run_one(ask(each))
        spent = (time.process_time() - begun) / (each * connections)
        print(f"{1000 * spent:.2f} ms of the processor a call, {connections} connections")
    finally:
        server.communicate("")


def served(**config: Any) -> ServedEndpoint:
    times = {"seconds": SECONDS, "seconds_per_token": SECONDS_PER_TOKEN}
    return ServedEndpoint(script="wordy", **{**times, **config})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", default="saturation")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--files", type=int, default=50, help="of saturation: 20 passages each, 450 at most")
    parser.add_argument("--shards", help="a number, or auto; default: the settings have no section execution")
    parser.add_argument("--backend", default="processes", help="of shards: in_process, processes or ray")
    arguments = parser.parse_args()
    if arguments.shards:
        number = int(arguments.shards) if arguments.shards.isdecimal() else arguments.shards
        EXECUTION.update(shards=number, backend=arguments.backend)
    if not PASSAGES.exists() and arguments.what != "calls":
        sys.exit(f"{PASSAGES} is not here")
    jobs = {
        "saturation": lambda: saturation(arguments.connections, arguments.files),
        "stragglers": lambda: stragglers(arguments.connections),
        "updates": lambda: updates(arguments.connections),
        "large": large,
        "usual": lambda: large(200, seconds=0.5, seconds_per_token=0.012),
        "rates": rates,
        "kill": kill,
        "faults": faults,
        "plan": plan,
        "calls": lambda: calls(arguments.connections),
    }
    for name in jobs if arguments.what == "all" else [arguments.what]:
        print(f"== {name}")
        jobs[name]()


if __name__ == "__main__":
    main()
