"""The only SQL and the only Redis of the project."""
