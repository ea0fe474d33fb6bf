"""Which names are one entity: names, candidates, features, vetoes, weights, clusters."""
