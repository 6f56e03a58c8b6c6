"""The wheel, built from the checkout, in an environment that has nothing else but the locked dependencies."""

import sys
from pathlib import Path

from proofs.rig.project import PROJECT
from proofs.rig.sdks.environments import UV, UV_INSTALL, UV_VENV, run


def build(folder: Path) -> Path:
    """With what is installed; nothing is fetched."""
    run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder])
    [wheel] = folder.glob("*.whl")
    return wheel


def install(wheel: Path, room: Path) -> Path:
    """Where its programs are."""
    run([*UV_VENV, room])
    run([*UV_INSTALL, "--python", room, "--requirement", PROJECT / "requirements" / "runtime.txt"])
    run([UV, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", room, wheel])
    return room / "bin"
