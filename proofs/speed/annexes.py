"""What is set up beside the stage while nothing is measured: full books, and another gateway."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from proofs.rig.customers import PROVIDER_KEY
from proofs.speed import growth, peers
from proofs.speed.contestants import Stage, Subject


def fill(stage: Stage, *, accounts: int, rows: int) -> list[str]:
    """Grow the books; the keys of some of the new accounts."""
    with stage.cores.all_for(stage.beside["postgres"]):
        return growth.fill(stage, accounts=accounts, rows=rows)


@contextmanager
def peer(stage: Stage) -> Iterator[Subject]:
    with ExitStack() as stack:
        with stage.cores.start_measured():
            subject = stack.enter_context(peers.litellm(stage.upstream, PROVIDER_KEY))
        stage.cores.require_measured(subject.pid)
        yield subject
