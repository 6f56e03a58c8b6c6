"""What processes cost: cores of their own, callers that cost little, and the kernel's counts."""
