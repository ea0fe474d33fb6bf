"""Context-Aware Leiden: nodes attached to a community that they resemble and are no members of."""
