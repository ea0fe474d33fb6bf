import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from graphrag_dagster.automation.corpora_sensor import GONE_TICKS, FolderCursor, Seen, corpora_sensor
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.pipeline.corpus_changes import cheap_fingerprint, content_fingerprint
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.dagster_keys import PARTITION_TAG
from support.corpora import write_corpus


class Watch:
    """The sensor, tick by tick, as the daemon would let it tick: partitions and cursor are kept."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance = instance
        self.cursor: str | None = None
        self.keys: list[str] = []

    def tick(self) -> list[str]:
        with dg.build_sensor_context(
            instance=self.instance,
            cursor=self.cursor,
            resources={"graphrag_corpora": CorpusStore(), "graphrag_warehouse": Warehouse()},
        ) as context:
            found = corpora_sensor(context)
        assert isinstance(found, dg.SensorResult)
        self.cursor = found.cursor
        for request in found.dynamic_partitions_requests or ():
            if isinstance(request, dg.AddDynamicPartitionsRequest):
                self.instance.add_dynamic_partitions("corpus", list(request.partition_keys))
            else:
                for name in request.partition_keys:
                    self.instance.delete_dynamic_partition("corpus", name)
        self.keys += [str(request.run_key) for request in found.run_requests or ()]
        return [str(request.partition_key) for request in found.run_requests or ()]

    def partitions(self) -> list[str]:
        return list(self.instance.get_dynamic_partitions("corpus"))


@pytest.fixture
def watch(home: Path) -> Iterator[Watch]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Watch(instance)


def settle(watch: Watch) -> None:
    assert [watch.tick(), watch.tick()][0] == []
    assert watch.tick() == []
    watch.keys.clear()


def test_a_new_folder_counts_once_it_stays_the_same(watch: Watch, home: Path) -> None:
    assert watch.tick() == []
    folder = write_corpus(home / "corpora")
    assert watch.tick() == []
    (folder / "late.txt").write_text("Still being copied.", encoding="utf-8")
    assert watch.tick() == []
    assert watch.partitions() == []
    assert watch.tick() == ["coast"]
    assert watch.partitions() == ["coast"]
    assert watch.tick() == []


def test_a_change_is_requested_once_and_going_back_is_a_change_too(watch: Watch, home: Path) -> None:
    folder = write_corpus(home / "corpora")
    settle(watch)
    letter = folder / "institute" / "letter.txt"
    text, times = letter.read_text(encoding="utf-8"), letter.stat()
    letter.write_text("Piet Lund wrote nothing.", encoding="utf-8")
    assert [watch.tick(), watch.tick(), watch.tick()] == [[], ["coast"], []]
    letter.write_text(text, encoding="utf-8")
    os.utime(letter, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert [watch.tick(), watch.tick(), watch.tick()] == [[], ["coast"], []]
    (folder / "corpus.yaml").write_text("text_units: {size: 300}", encoding="utf-8")
    assert [watch.tick(), watch.tick(), watch.tick()] == [[], ["coast"], []]
    letter.unlink()
    assert [watch.tick(), watch.tick(), watch.tick()] == [[], ["coast"], []]
    assert len(set(watch.keys)) == 4


def test_a_touched_file_is_no_change(watch: Watch, home: Path) -> None:
    folder = write_corpus(home / "corpora")
    settle(watch)
    os.utime(folder / "news" / "strike.md", (1, 1))
    (folder / ".hidden").write_text("x", encoding="utf-8")
    (folder / "news" / "~$strike.docx").write_text("x", encoding="utf-8")
    assert [watch.tick(), watch.tick(), watch.tick()] == [[], [], []]


def test_a_change_waits_for_the_run_that_is_under_way(watch: Watch, home: Path) -> None:
    folder = write_corpus(home / "corpora")
    settle(watch)
    run = watch.instance.create_run_for_job(
        dg.job(name="index")(lambda: None),
        tags={PARTITION_TAG: "coast"},
        status=dg.DagsterRunStatus.STARTED,
    )
    (folder / "new.txt").write_text("A new document.", encoding="utf-8")
    assert [watch.tick(), watch.tick(), watch.tick()] == [[], [], []]
    watch.instance.report_run_canceled(run)
    assert watch.tick() == ["coast"]


def test_a_removed_folder_takes_its_partition_along_later_and_nothing_else(
    watch: Watch, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_corpus(home / "corpora")
    settle(watch)
    made = Warehouse().file("coast")
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_bytes(b"kept")
    shutil.move(folder, home / "elsewhere")
    for _ in range(GONE_TICKS - 1):
        assert watch.tick() == []
        assert watch.partitions() == ["coast"]
    assert watch.tick() == []
    assert watch.partitions() == []
    assert made.read_bytes() == b"kept"
    shutil.move(home / "elsewhere", folder)
    assert [watch.tick(), watch.tick()] == [[], ["coast"]]


def test_a_root_or_a_folder_that_is_not_mounted_removes_nothing(watch: Watch, home: Path) -> None:
    write_corpus(home / "corpora")
    far = write_corpus(home / "far", "shore")
    CorpusStore().register(far)
    settle(watch)
    shutil.move(far, home / "unmounted shore")
    assert [watch.tick() for _ in range(GONE_TICKS + 1)] == [[]] * (GONE_TICKS + 1)
    shutil.move(home / "corpora", home / "unmounted")
    assert [watch.tick() for _ in range(GONE_TICKS + 1)] == [[]] * (GONE_TICKS + 1)
    assert sorted(watch.partitions()) == ["coast", "shore"]


@pytest.mark.parametrize("corpora", [["coast"], ["coast", "shore"]])
@pytest.mark.parametrize("left", [[], ["lost+found"], ["no corpus: its name"]])
def test_an_empty_mount_point_removes_nothing(
    corpora: list[str], left: list[str], watch: Watch, home: Path
) -> None:
    for name in corpora:
        write_corpus(home / "corpora", name)
    settle(watch)
    mounted = (home / "corpora").rename(home / "elsewhere")
    (home / "corpora").mkdir()
    for name in left:
        (home / "corpora" / name).touch()
    assert [watch.tick() for _ in range(GONE_TICKS + 1)] == [[]] * (GONE_TICKS + 1)
    assert sorted(watch.partitions()) == corpora
    shutil.rmtree(home / "corpora")
    mounted.rename(home / "corpora")
    assert [watch.tick(), watch.tick()] == [[], []]
    assert sorted(watch.partitions()) == corpora


def test_a_folder_that_suddenly_lists_nothing_removes_no_partition(watch: Watch, home: Path) -> None:
    for name in ("coast", "shore"):
        write_corpus(home / "corpora", name)
    settle(watch)
    for name in ("coast", "shore"):
        shutil.move(home / "corpora" / name, home / name)
    assert [watch.tick() for _ in range(GONE_TICKS + 1)] == [[]] * (GONE_TICKS + 1)
    assert sorted(watch.partitions()) == ["coast", "shore"]


def test_a_lost_cursor_requests_only_what_is_not_published(coast: Path, watch: Watch, home: Path) -> None:
    write_corpus(home / "corpora", "shore")
    watch.instance.add_dynamic_partitions("corpus", ["coast", "shore"])
    assert [watch.tick(), watch.tick(), watch.tick()] == [[], ["shore"], []]


def test_what_is_no_cursor_is_as_good_as_none() -> None:
    for cursor in (None, "", "no JSON", "[]", '{"coast": 3}', '{"coast": [1, 2, 3, 4, 5, 6, 7]}'):
        assert FolderCursor.read(cursor) == FolderCursor()
    memory = FolderCursor({"coast": Seen("a")}, [1, 2])
    assert FolderCursor.read(memory.written()) == memory


def test_fingerprints_tell_names_from_contents(home: Path) -> None:
    folder, corpora = home / "corpora" / "coast", CorpusStore()
    folder.mkdir()

    def fingerprints(name: str, text: str) -> tuple[str, str]:
        for file in folder.iterdir():
            file.unlink()
        (folder / name).write_text(text, encoding="utf-8")
        os.utime(folder / name, (1, 1))
        return cheap_fingerprint(corpora, "coast"), content_fingerprint(corpora, "coast")

    one = fingerprints("a.txt", "text")
    assert all(old != new for old, new in zip(one, fingerprints("b.txt", "text"), strict=True))
    cheap, content = fingerprints("a.txt", "TEXT")
    assert (cheap == one[0], content == one[1]) == (True, False)
    assert fingerprints("corpus.yaml", "engine: llm")[1] != fingerprints("corpus.yaml", "{}")[1]
    with pytest.raises(GraphragError):
        cheap_fingerprint(corpora, "none")
