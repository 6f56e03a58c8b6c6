"""The calls of prove-privacy: there is no call to which no canary is sent."""

from random import SystemRandom

from proofs.privacy.canaries import Canaries
from proofs.privacy.canary_targets import MEDIA, Targets
from proofs.privacy.every_call import every_call
from tollkeeper.app.providers import VENDORS
from tollkeeper.edge.routes import ROUTES

NAMES = (*VENDORS, *(kind.value for kind in MEDIA))


def some_targets() -> Targets:
    return Targets(
        models={name: f"model-{name}" for name in NAMES},
        account_id=1,
        email="a@example.com",
        password="",
        key="sk-a",
        poor_account_id=2,
        poor_key="sk-b",
    )


def test_canaries_go_to_every_route_that_takes_a_body() -> None:
    canaries = Canaries(SystemRandom())
    calls = list(every_call(some_targets(), canaries, VENDORS))
    marker = canaries.marker.encode()
    called = {call.path for call in calls if call.method == "POST" and marker in call.body}
    assert {route.path for route in ROUTES if route.method == "POST"} <= called


def test_every_model_is_asked() -> None:
    bodies = [call.body for call in every_call(some_targets(), Canaries(SystemRandom()), VENDORS)]
    assert [name for name in NAMES if not any(f"model-{name}".encode() in body for body in bodies)] == []
