"""List the proofs."""

from proofs import names

print(*names())
