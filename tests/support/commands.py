"""The command line as tests run it; the fixture ``run`` gives it."""

from collections.abc import Callable

#: Arguments → exit code, output, errors.
Run = Callable[..., tuple[int, str, str]]
