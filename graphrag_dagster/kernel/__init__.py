"""The shared basis of any graph-RAG system; it refers to no particular one."""
