"""Write down anew what LiteLLM brings along, with its hashes: `python -m proofs.speed.lock`.

LiteLLM itself stays at the release that `litellm/requirements.in` names: it is raised by hand, to one some weeks old.
"""

from proofs.rig.sdks.lock import lock_wheels
from proofs.speed.peers import FOLDER

if __name__ == "__main__":
    lock_wheels(FOLDER)
