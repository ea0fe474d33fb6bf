"""Multi-hop retrieval: from text unit to text unit, by what is still unanswered."""
