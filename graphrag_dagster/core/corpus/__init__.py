"""Files, documents and text units."""
