"""Rate limits in Redis, and bans and restrictions in PostgreSQL."""
