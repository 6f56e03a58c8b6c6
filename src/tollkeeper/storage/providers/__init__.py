"""Provider accounts in PostgreSQL."""
