"""The fleet: two nodes of two workers behind HAProxy, a PostgreSQL pair, Redis under Sentinel; its load and faults."""
