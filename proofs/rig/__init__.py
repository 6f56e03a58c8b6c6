"""What several proofs use: stores, customers, callers, evidence, judging, measuring."""
