"""Authentication, limits and error responses."""
