"""Checks: what a proof looked at, whether it holds, and what was seen where it does not."""

from collections.abc import Iterable

import msgspec

from proofs.rig.proof import say


class Check(msgspec.Struct, frozen=True):
    name: str
    holds: bool
    detail: str = ""
    # Whether it depends on how busy the machine is.
    timed: bool = False


def failed(checks: Iterable[Check], *, timed: bool = True) -> list[Check]:
    """Those that do not hold, each printed. `timed`: whether those that depend on the machine count."""
    found = [check for check in checks if not check.holds and (timed or not check.timed)]
    for check in found:
        say(f"FAILED {check.name}: {check.detail}")
    return found
