"""What prove-start is made of: a wheel in a clean environment, its demo, and a stranger who does what it says."""
