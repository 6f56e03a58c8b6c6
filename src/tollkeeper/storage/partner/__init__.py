"""The partner plan in PostgreSQL."""
