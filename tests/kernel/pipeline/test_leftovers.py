import gc
import weakref

from graphrag_dagster.kernel.pipeline.garbage_collection import (
    collect,
    collect_only_new_objects,
    defer_collection,
)


class Node:
    def __init__(self) -> None:
        self.itself = self


def test_what_a_step_leaves_in_cycles_is_collected_in_the_block_only() -> None:
    gc.disable()
    try:
        outside = weakref.ref(Node())
        collect()
        assert outside() is not None
        with collect_only_new_objects():
            inside = weakref.ref(Node())
            collect()
            assert inside() is None
        assert gc.get_freeze_count() == 0
    finally:
        gc.enable()


def test_the_collector_begins_late_and_then_works_as_often_as_for_a_run() -> None:
    before, callbacks = gc.get_threshold(), [*gc.callbacks]
    try:
        defer_collection()
        late = gc.get_threshold()
        gc.collect(0)
        assert gc.get_threshold()[0] < late[0]
        assert gc.callbacks == callbacks
    finally:
        gc.set_threshold(*before)
        gc.callbacks[:] = callbacks
