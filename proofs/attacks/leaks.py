"""Leaks: secrets of the operator and of customers, looked for in what the processes wrote and in what callers heard."""

import base64
from collections.abc import Iterable, Sequence
from pathlib import Path

from proofs.attacks.search import Tried
from proofs.attacks.target import Target


def leaks(target: Target, tried: Sequence[Tried]) -> list[str]:
    """Where which of them was found."""
    found = [f"an answer of {one.tried.way.name}" for one in tried if one.heard.leaked]
    for log in (target.node.log, target.simulator.log):
        found += [f"{log.name}: {kind}" for kind in _found_in(log, target)]
    return found


def _found_in(log: Path, target: Target) -> Iterable[str]:
    written = log.read_bytes()
    yield from ("a secret of the operator" for secret in target.secrets if _is_in(secret, written))
    # A key's beginning is told as a hint; its end is not.
    tails = {customer.key.encode()[-24:] for customer in target.customers}
    words = set(written.replace(b'"', b" ").split())
    yield from ("a customer's key" for word in words if word[-24:] in tails)


def _is_in(secret: bytes, written: bytes) -> bool:
    return secret in written or base64.b64encode(secret).rstrip(b"=")[:-1] in written
