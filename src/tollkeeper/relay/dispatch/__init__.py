"""Sending a call to provider accounts: attempts, failover, providers' refusals."""
