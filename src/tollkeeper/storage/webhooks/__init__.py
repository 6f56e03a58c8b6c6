"""Webhooks and what is on its way to them, in PostgreSQL."""
