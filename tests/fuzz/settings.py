"""Settings as nobody means them: valid ones that were damaged, hostile YAML, and files that are none."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from fuzz.harness import Subject
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.catalogue.registry import roles
from graphrag_dagster.kernel.common.file_discovery import SETTINGS_FILE
from graphrag_dagster.kernel.common.printable import printable
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, load_settings

#: What lies where the file should be: its bytes, or the name of something else.
Case = bytes | Literal["folder", "pipe", "nowhere", "circle", "huge"]

_LONGEST_MESSAGE = 1100
#: No message may repeat it.
_SECRET = "sk-5EcReT"
_TEXTS = (
    "",
    " ",
    "no",
    "1",
    "-1",
    "é",
    "日本",
    "\u202ex",
    "a.b",
    "*",
    "../..",
    "/etc/passwd",
    "C:\\x",
    "x" * 200,
)
_SCALARS: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1, 7, 2**31, 2**63, 2**64, -(2**63) - 1, 10**39, 0.0, -0.5, 0.5, 1.5, 1e308),
    *_TEXTS,
)
_NESTED: tuple[Any, ...] = ([], {}, [[]], {"a": {}}, [None], [1, "a"], {"": 1}, {"0": [1]}, [{"a": [1]}])
_FRAGMENTS = (
    *(
        "&a ",
        "*a",
        "<<: *a",
        "!!python/object/apply:os.system [id]",
        "!!timestamp zzz",
        "!!binary ====",
        "!!set",
    ),
    *(
        "!!int 0x",
        "!!float .",
        "!!bool x",
        "!x ",
        "!!null x",
        "2024-02-30",
        "2024-02-30 25:61:61",
        "9" * 5000,
    ),
    *(
        ".inf",
        "-.INF",
        ".nan",
        "1e999",
        "0x" + "f" * 5000,
        "0b2",
        "0o9",
        "190:20:30",
        "1_000",
        "=",
        "~",
        "yes",
    ),
    *(
        "\t",
        "\x00",
        "\x1b[2J",
        "\x7f",
        "\x85",
        "\u2028",
        "\ufeff",
        "\ud800",
        "\U0010ffff",
        '"\\ud800"',
        '"\\0"',
    ),
    *(
        '"\\U00110000"',
        '"\\x"',
        '"',
        "'",
        "|",
        ">",
        "|9\n",
        "- ",
        "? ",
        ": ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "#",
        "%",
    ),
    *("---\n", "...\n", "%YAML 9.9\n---\n", "%TAG ! x\n", "@", "`", "\r", "\n", " " * 40, "a: 1\na: 2\n"),
    *(f"api_key: {_SECRET}", f"model: {_SECRET}", f"x_token: {_SECRET}"),
)
_BOMBS: tuple[Case, ...] = (
    b"a: &a [x,x]\n" + b"".join(b"b%d: &b%d [*a,*a,*a,*a]\n" % (i, i) for i in range(20)),
    b"&a [*a]",
    b"a: &a {b: *a}",
    b"[" * 200_000,
    b"{a: " * 100_000,
    b"- " * 200_000,
    b"a:\n" + b"".join(b" " * depth + b"a:\n" for depth in range(1, 900)),
    b"? " * 100_000,
    b"!" * 400_000,
    b"questions: {ask: [" + b"1," * 150_000 + b"]}",
    b"".join(b"k%d: 1\n" % number for number in range(40_000)),
    b"tables: {" + b"".join(b"'%d': {text: 1}," % number for number in range(20_000)) + b"}",
    b"search: {seed: " + b"9" * 400_000 + b"}",
    b"description: " + b"x" * 499_000,
    b"x" * 499_000 + b": 1",
    b"description: |\n " + b"\n " * 200_000,
    b"'" * 499_999,
    b'"' + b"\\x41" * 120_000 + b'"',
    *("folder", "pipe", "nowhere", "circle", "huge"),
)


def cases(random: Random, count: int) -> Iterator[tuple[str, Case]]:
    """Bombs, then damaged settings of every kind."""
    kinds: tuple[Callable[[Random], Case], ...] = (
        _sound,
        _misvalued,
        _misnamed,
        _spliced,
        _spliced,
        _bitten,
        _noise,
    )
    for number in range(count):
        if number < len(_BOMBS):
            yield f"bomb {number}", _BOMBS[number]
        else:
            kind = kinds[number % len(kinds)]
            yield f"{kind.__name__} {number}", kind(random)


def attack(case: Case, home: Path) -> str:
    """Read the settings; what is accepted must be whole, what is refused must be told in a line."""
    folder = home / "corpora" / "fuzzed"
    path = folder / SETTINGS_FILE
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    _put(path, case)
    try:
        settings = load_settings(folder)
    except SettingsError as error:
        told = str(error)
        assert told.startswith(str(path)), told
        assert len(told) < len(str(path)) + _LONGEST_MESSAGE, told
        assert printable(told) == told, told
        assert "\n" not in told, told
        assert _SECRET not in told, told
        return "refused"
    assert CorpusSettings.model_validate_json(settings.model_dump_json()) == settings
    for role in roles():
        settings.model.for_role(role)
    return "accepted"


def _put(path: Path, case: Case) -> None:
    if isinstance(case, bytes):
        path.write_bytes(case)
    elif case == "folder":
        path.mkdir()
    elif case == "pipe":
        os.mkfifo(path)
    elif case == "huge":
        with path.open("wb") as file:
            file.truncate(100_000_000)
    else:
        path.symlink_to(path if case == "circle" else path.with_name("gone"))


def _sound(random: Random) -> bytes:
    return _written(_section(random, CorpusSettings, 0.4))


def _misvalued(random: Random) -> bytes:
    settings = _section(random, CorpusSettings, 0.4)
    for _ in range(random.choice((1, 1, 2, 5))):
        holder, key = random.choice(_places(settings) or [(settings, "engine")])
        holder[key] = random.choice(
            (
                random.choice(_SCALARS),
                random.choice(_NESTED),
                [1],
                {"x": holder.get(key) if isinstance(holder, dict) else 1},
            )
        )
    return _written(settings)


def _misnamed(random: Random) -> bytes:
    settings = _section(random, CorpusSettings, 0.4)
    holder, key = random.choice(_places(settings) or [([], 0)])
    if isinstance(holder, dict):
        wrong = random.choice(
            (str(key)[:-1], str(key) + "s", "api_key", "x" * 300, 5, None, 1.5, "<<", *_TEXTS)
        )
        holder[wrong] = random.choice((holder.pop(key), _SECRET)) if wrong == "api_key" else holder.pop(key)
    return _written(settings)


def _spliced(random: Random) -> bytes:
    text = _written(_section(random, CorpusSettings, 0.3)).decode()
    for _ in range(random.choice((1, 1, 2, 4))):
        begin = random.randrange(len(text) + 1)
        end = min(len(text), begin + random.choice((0, 0, 1, 5, 40)))
        text = text[:begin] + random.choice(_FRAGMENTS) + text[end:]
    return text.encode(errors="surrogatepass")


def _bitten(random: Random) -> bytes:
    text = _written(_section(random, CorpusSettings, 0.3)).decode()
    codec = random.choice(
        ("utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp037")
    )
    data = bytearray(text.encode(codec, errors="replace"))
    for _ in range(random.choice((0, 1, 3, 20))):
        data[random.randrange(len(data))] = random.randrange(256)
    return bytes(data[: random.choice((len(data), random.randrange(len(data) + 1)))])


def _noise(random: Random) -> bytes:
    if random.random() < 0.3:
        return random.randbytes(random.choice((1, 10, 300)))
    return "".join(random.choice(_FRAGMENTS) for _ in range(random.randrange(1, 12))).encode(
        errors="surrogatepass"
    )


def _written(settings: object) -> bytes:
    # As people write it: a repeated value stands twice, not as an alias.
    dumper = yaml.SafeDumper
    dumper.ignore_aliases = lambda *_: True  # type: ignore[method-assign, assignment]
    return yaml.dump(settings, Dumper=dumper, allow_unicode=True, sort_keys=False).encode() or b"{}"


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a tree of mappings and lists, as its holder and its key there."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *_places(value[key]))]


def _section(random: Random, model: type[BaseModel], share: float) -> dict[str, Any]:
    """Some keys of a section, each with a value that is allowed beside the others."""
    made: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if field.is_required() or random.random() < share:
            given = made | {name: _example(random, field.annotation)}
            with suppress(ValidationError):
                model.model_validate(given)
                made = given
    return made


def _example(random: Random, annotation: Any) -> Any:
    """Something that mostly fits a field."""
    kind, inner = get_origin(annotation), get_args(annotation)
    if kind is Literal:
        return random.choice(inner)
    if kind is dict:
        key = _example(random, inner[0])
        return {key: _example(random, inner[1])}
    if kind in (list, tuple):
        return [_example(random, inner[0]) for _ in range(random.randrange(1, 3))]
    if inner:
        return _example(
            random, random.choice(inner) if kind is not None and type(None) in inner else inner[0]
        )
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _section(random, annotation, 0.6)
    examples: dict[Any, tuple[object, ...]] = {
        int: (1, 2, 5, 100, 600),
        float: (0.1, 0.5, 1.0),
        bool: (True, False),
        str: ("en_core_web_sm", "UTC", "0 3 * * *", "words of a text", "notes.csv", "http://127.0.0.1:1/v1"),
    }
    return random.choice(examples.get(annotation, (None, 1, "a")))


SUBJECT = Subject("settings", cases, attack)
