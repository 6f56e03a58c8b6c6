"""A malicious provider: what it does to whoever reads its answers, each by a direction in the caller's message.

One table for each place where it can be done: the forms of each vendor (where the output hides), `changes` and `usage`
(bytes of an answer), `streams` (the acts of a stream), `heads` (any answer's head), `instead` (what comes in place of
an answer). Ordinary answers never come here.
"""
