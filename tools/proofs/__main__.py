"""List the proofs."""

from tools.proofs import names

print(*names())
