import gc
import weakref

from graphrag_dagster.orchestration.leftovers import collect, collecting_what_is_new


class Node:
    def __init__(self) -> None:
        self.itself = self


def test_what_a_step_leaves_in_cycles_is_collected_in_the_block_only() -> None:
    gc.disable()
    try:
        outside = weakref.ref(Node())
        collect()
        assert outside() is not None
        with collecting_what_is_new():
            inside = weakref.ref(Node())
            collect()
            assert inside() is None
        assert gc.get_freeze_count() == 0
    finally:
        gc.enable()
