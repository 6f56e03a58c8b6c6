"""Small programs for developers: services for tests, proofs, the demo, generated reference pages."""
