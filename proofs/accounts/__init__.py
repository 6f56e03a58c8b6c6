"""What prove-accounts is made of: races for things given once, a ring of accounts, rewards revoked, numbers by hand."""
