"""Choose the engines' versions anew and write them down with their hashes: `python -m tools.proofs.engines.lock`."""

from tools.proofs.engines.environment import FOLDER
from tools.proofs.sdks.lock import lock_wheels

if __name__ == "__main__":
    lock_wheels(FOLDER)
