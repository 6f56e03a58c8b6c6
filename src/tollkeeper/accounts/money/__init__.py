"""Use-cases of quota: codes, lots, top-ups, the faucet, statements."""
