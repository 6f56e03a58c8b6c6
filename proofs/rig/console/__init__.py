"""A whole deployment for people, with browsers: what the proofs about pages share."""
