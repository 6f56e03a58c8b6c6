"""The four addresses, by TLS through the balancer, as callers reach them; and no other."""

import http.client
import ssl

from proofs.rig.checks import Check
from proofs.rig.proof import Run, say
from proofs.run.house import AGENTS, BACKUP, BILLING, MAIN, House

# What each of them answers to somebody with a key. A name that is not ours is misdirected.
WANTED = (
    (MAIN, "/v1/models", 200),
    (BACKUP, "/v1/models", 200),
    (BILLING, "/", 200),
    (AGENTS, "/v2/account/balance", 200),
    ("other.example.com", "/v1/models", 421),
)


def answer(_: Run, house: House) -> list[Check]:
    found = [(host, path, _status(house, host, path)) for host, path, _ in WANTED]
    say(", ".join(f"{host} {status}" for host, _, status in found))
    return [Check("the four addresses answer by TLS, and no other", tuple(found) == WANTED, str(found))]


def _status(house: House, host: str, path: str) -> int:
    tls = ssl.create_default_context(cafile=str(house.balancer.certificate))
    # The certificate is for the four; whoever asks for another name is not told so before.
    tls.check_hostname = False
    connection = http.client.HTTPSConnection("127.0.0.1", house.balancer.tls_port, timeout=30, context=tls)
    try:
        connection.request("GET", path, headers={"Host": host, "Authorization": f"Bearer {house.customers[0].key}"})
        return connection.getresponse().status
    finally:
        connection.close()
