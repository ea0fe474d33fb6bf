"""Words for numbers."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "question"), counted(1250, "reply", "replies")
    ('1 question', '1,250 replies')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
