"""How the words of names are spelt."""


def is_capital(word: str) -> bool:
    """Whether a word begins with a capital, or with one soon after (iPhone)."""
    head = word[:3]
    return word[:1].isalpha() and head != head.lower() and word != "I"
