"""Logins in PostgreSQL: passwords, sessions, second factors, lockouts, and the outbox of mails."""
