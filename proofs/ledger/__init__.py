"""What prove-ledger is made of: an upstream with its own truth, workers that can be killed, and measuring."""
