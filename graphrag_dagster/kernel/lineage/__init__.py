"""Where rows come from, and what rests on a document."""
