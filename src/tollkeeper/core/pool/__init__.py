"""The pool of provider accounts: choosing one, and judging its health (circuit breaker)."""
