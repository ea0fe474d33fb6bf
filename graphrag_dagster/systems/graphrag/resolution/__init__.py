"""Entity resolution: names, candidates, features, vetoes, weights, clusters."""
