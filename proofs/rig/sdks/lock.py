"""Choose the SDKs' versions anew and write them down with their hashes: `python -m proofs.rig.sdks.lock`.

With names of environments: those alone, `python -m proofs.rig.sdks.lock pydantic-ai`.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

from proofs.rig.sdks.environments import (
    AGENTS,
    HERE,
    NODE,
    NPM,
    NPM_QUIETLY,
    SDKS,
    UV,
    Environment,
    NodeModules,
    make,
    run,
)

UV_COMPILE = (UV, "pip", "compile", "--quiet", "--upgrade", "--universal", "--python-version", "3.11")
UV_FORM = ("--generate-hashes", "--no-header", "--no-emit-index-url", "--no-emit-find-links")
NPM_LOCK = (*NPM, "install", "--package-lock-only", *NPM_QUIETLY)


def lock_wheels(folder: Path) -> None:
    run([*UV_COMPILE, *UV_FORM, "requirements.in", "--output-file", "requirements.txt"], cwd=folder)


def lock_npm(folder: Path) -> None:
    """The folder's .npmrc keeps the registry's address out of the lock."""
    make(NODE)
    wanted = json.loads((folder / "package.json").read_text())["dependencies"]
    # In a place of its own: npm would rather keep what is already locked or installed.
    with tempfile.TemporaryDirectory() as place:
        for name in ("package.json", ".npmrc"):
            shutil.copy(folder / name, place)
        run([*NPM_LOCK, *(f"{name}@latest" for name in wanted)], cwd=Path(place))
        shutil.copy(Path(place) / "package.json", folder)
        locked = json.loads((Path(place) / "package-lock.json").read_text())
        # Whom to thank is not needed for installing, and is an address.
        for package in locked["packages"].values():
            package.pop("funding", None)
        (folder / "package-lock.json").write_text(json.dumps(locked, indent=2) + "\n")


def lock(environment: Environment) -> None:
    (lock_npm if isinstance(environment, NodeModules) else lock_wheels)(HERE / environment.name)


if __name__ == "__main__":
    every = {NODE.name: NODE, **SDKS, **AGENTS}
    for name in sys.argv[1:] or every:
        lock(every[name])
