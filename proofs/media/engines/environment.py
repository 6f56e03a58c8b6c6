"""The engines' environment: made from its lock alone, in `.venv/engines`, and again only when the lock has changed."""

from pathlib import Path

from proofs.rig.project import PROJECT
from proofs.rig.sdks.environments import Virtualenv, make

FOLDER = Path(__file__).parent
ROOM = PROJECT / ".venv" / "engines"
# Whole paths, because neither the lock nor the room is among the SDKs'.
ENVIRONMENT = Virtualenv(str(ROOM), script=FOLDER / "server.py", lock=str(FOLDER / "requirements.txt"))


def make_engines() -> None:
    make(ENVIRONMENT)


def command() -> list[str]:
    """What starts the server; it wants the project on its path."""
    return ENVIRONMENT.command(ROOM)
