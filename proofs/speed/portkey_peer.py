"""Portkey's gateway before the same upstream, as its package on npm starts it: one process, no console.

It asks nobody for a key, keeps no books, counts no quota and writes no log; the caller says in every request which
provider is meant and where, and its key goes on to that one. Compiled JavaScript against interpreted Python.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proofs.rig.project import PROJECT
from proofs.rig.sdks.environments import NODE, NODE_PROGRAM, NPM, NPM_QUIETLY, NodeModules, make, run
from proofs.speed.contestants import Subject
from proofs.speed.peer_process import running, warm_up
from tools.node import clean_environment
from tools.services.process import free_port

FOLDER = Path(__file__).parent / "portkey"
ROOM = PROJECT / ".venv" / "peers" / "portkey"
PROGRAM = ROOM / "node_modules" / "@portkey-ai" / "gateway" / "build" / "start-server.js"


class GatewayPackage(NodeModules, frozen=True):
    """Its lock and its room are not among the SDKs'."""

    def make(self, room: Path) -> None:
        shutil.rmtree(room, ignore_errors=True)
        shutil.copytree(FOLDER, room)
        run([*NPM, "ci", *NPM_QUIETLY], cwd=room)


PACKAGE = GatewayPackage(str(ROOM), lock=str(FOLDER / "package-lock.json"))


@contextmanager
def portkey(upstream: str, provider_key: str) -> Iterator[Subject]:
    """It in front of `upstream`, from start to stop; callers have the provider's key."""
    make(NODE)
    make(PACKAGE)
    port = free_port()
    command = [str(NODE_PROGRAM), str(PROGRAM), f"--port={port}", "--headless"]
    with running(command, clean_environment() | {"NODE_ENV": "production"}, port, lives_at="/") as pid:
        meant = {"x-portkey-provider": "openai", "x-portkey-custom-host": upstream}
        subject = Subject("portkey", port, pid, headers=meant)
        warm_up(subject, provider_key)
        yield subject
