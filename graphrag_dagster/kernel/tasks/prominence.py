"""Ratings that are computed, not judged."""


def rating_of(prominence: float) -> float:
    """Return the rating, 0…10, of a report by the prominence of its community, 0…1."""
    return round(10 * min(max(prominence, 0.0), 1.0), 1)
