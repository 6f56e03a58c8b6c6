"""PostgreSQL itself: connections, change feed, snapshots, micro-batches, audit trail, migrations, stored functions."""
