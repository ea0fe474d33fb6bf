"""Entity linking: which of many names a question means."""
