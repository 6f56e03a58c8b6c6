"""Annexes of the rig: modules that it uses where they are there."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from tools.proofs.sdks.casting import PROVIDER_KEY
from tools.proofs.speed_rig.stage import Stage, Subject


def _found(name: str) -> ModuleType | None:
    whole = f"{__package__}.{name}"
    return import_module(whole) if find_spec(whole) else None


_growth, _peers = _found("growth"), _found("peers")
CAN_GROW = _growth is not None


def fill(stage: Stage, *, accounts: int, rows: int) -> list[str]:
    """Grow the books while nothing is measured; the keys of some of the new accounts."""
    assert _growth is not None
    with stage.cores.all_for(stage.beside["postgres"]):
        keys: list[str] = _growth.fill(stage, accounts=accounts, rows=rows)
    return keys


@contextmanager
def peer(stage: Stage) -> Iterator[Subject]:
    assert _peers is not None, "there is no other gateway to measure"
    with ExitStack() as stack:
        with stage.cores.start_measured():
            subject = stack.enter_context(_peers.litellm(stage.upstream, PROVIDER_KEY))
        stage.cores.require_measured(subject.pid)
        yield subject
