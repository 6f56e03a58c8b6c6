"""The book of background jobs in PostgreSQL."""
