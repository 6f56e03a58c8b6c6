"""Choose the engines' versions anew and write them down with their hashes: `python -m proofs.media.engines.lock`."""

from proofs.media.engines.environment import FOLDER
from proofs.rig.sdks.lock import lock_wheels

if __name__ == "__main__":
    lock_wheels(FOLDER)
