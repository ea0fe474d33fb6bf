"""Context packing, report assembly and citations."""
