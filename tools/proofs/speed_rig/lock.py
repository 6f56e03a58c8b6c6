"""Write down anew what LiteLLM brings along, with its hashes: `python -m tools.proofs.speed_rig.lock`.

LiteLLM itself stays at the release that `litellm/requirements.in` names: it is raised by hand, to one some weeks old.
"""

from tools.proofs.sdks.lock import lock_wheels
from tools.proofs.speed_rig.peers import FOLDER

if __name__ == "__main__":
    lock_wheels(FOLDER)
