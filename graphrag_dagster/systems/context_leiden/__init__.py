"""Context-Aware Leiden: communities that also show nodes from outside that resemble them."""
