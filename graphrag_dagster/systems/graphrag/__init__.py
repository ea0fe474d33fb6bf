"""Microsoft GraphRAG ("From Local to Global"), and the base that other systems build on."""
