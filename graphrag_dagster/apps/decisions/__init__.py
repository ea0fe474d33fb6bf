"""People decide which names are one entity."""
