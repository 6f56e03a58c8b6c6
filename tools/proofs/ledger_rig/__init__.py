"""The rig of prove-ledger: an upstream with its own truth, workers that can be killed, and what is measured on them."""
