"""Write down anew what LiteLLM and Portkey bring along, with hashes: `python -m proofs.speed.lock`.

LiteLLM itself stays at the release that `litellm/requirements.in` names: it is raised by hand, to one some weeks old.
"""

from proofs.rig.sdks.lock import lock_npm, lock_wheels
from proofs.speed import litellm_peer, portkey_peer

if __name__ == "__main__":
    lock_wheels(litellm_peer.FOLDER)
    lock_npm(portkey_peer.FOLDER)
