"""What starts runs: sensors, schedules and freshness."""
