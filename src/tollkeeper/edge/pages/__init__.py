"""What people see of the gateway itself, without a session: the front page, and balances by key."""
