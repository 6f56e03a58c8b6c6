"""The rig of prove-accounts: races for things given once, a ring of accounts, rewards revoked, and numbers by hand."""
