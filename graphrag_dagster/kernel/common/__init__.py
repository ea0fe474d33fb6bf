"""What all rooms use: ids, progress, processes, safe printing, stable scores."""
