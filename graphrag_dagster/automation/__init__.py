"""What starts runs: sensors and a schedule."""
