"""The outside world: the warehouse, the corpora on disk, language engines."""
