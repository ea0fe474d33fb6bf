"""What a person sees of a published corpus: its map, its rows, and the words they rest on."""
