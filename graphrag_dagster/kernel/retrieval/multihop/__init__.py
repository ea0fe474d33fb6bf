"""Multi-hop retrieval: from unit to unit, by what is still unanswered."""
