"""What is set up beside the stage while nothing is measured: another gateway."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager

from proofs.rig.customers import PROVIDER_KEY
from proofs.speed.contestants import Stage, Subject
from proofs.speed.litellm_peer import litellm
from proofs.speed.portkey_peer import portkey

PEERS: Mapping[str, Callable[[str, str], AbstractContextManager[Subject]]] = {"litellm": litellm, "portkey": portkey}


@contextmanager
def peer(name: str, stage: Stage) -> Iterator[Subject]:
    with ExitStack() as stack:
        with stage.cores.start_measured():
            subject = stack.enter_context(PEERS[name](stage.upstream, PROVIDER_KEY))
        stage.cores.require_measured(subject.pid)
        yield subject
