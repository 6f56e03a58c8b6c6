"""What a call was sent is forgotten when it is over, however it ended, and not when the garbage collector comes by."""

import asyncio
import gc

import pytest

from proofs.rig.measuring.measured_orders import MODEL, NUMBER, Order, streamed, whole
from tests.app.counted_calls import PATH, in_a_gateway, posted
from tests.conftest import Stores
from tollkeeper.relay.call import Call
from tollkeeper.server.application import Application

BODY = whole().body.replace(NUMBER, "0" * 16).encode()
NO_SUCH_MODEL = BODY.replace(MODEL.encode(), b"no-such-model")
REFUSED_BY_ALL = BODY.replace(b"[[tokens=16 ", b"[[status=500 ")


@pytest.mark.not_quick
@pytest.mark.parametrize(
    ("body", "status"),
    [(BODY, 200), (NO_SUCH_MODEL, 404), (REFUSED_BY_ALL, 503)],
    ids=["answered", "refused", "failed"],
)
def test_nothing_keeps_the_body_of_a_call_that_is_over(stores: Stores, body: bytes, status: int) -> None:
    async def act(application: Application, key: str) -> None:
        gc.collect()
        gc.disable()
        try:
            found, said = await posted(application, PATH, key, body)
            assert found == status, said
            # Those that nothing refers to any more, too: they have not been collected.
            left = [each for each in gc.get_objects() if isinstance(each, Call)]
            assert [each for each in left if each.claim_when_cut is not None] == []
        finally:
            gc.enable()

    asyncio.run(in_a_gateway(stores, act))


# What else goes on in the process leaves something now and then.
ROUNDS = 5
CALLS = 10


@pytest.mark.not_quick
@pytest.mark.parametrize("order", [whole(), streamed(5)], ids=["whole", "streamed"])
def test_a_call_that_is_over_leaves_no_circles(stores: Stores, order: Order) -> None:
    """The garbage collector would have to find them: it took a tenth of a second for those of a few thousand calls."""

    async def act(application: Application, key: str) -> None:
        left = []
        for number in range(ROUNDS):
            gc.collect()
            gc.disable()
            try:
                for call in range(CALLS):
                    body = order.body.replace(NUMBER, f"{number * CALLS + call:016d}").encode()
                    assert (await posted(application, PATH, key, body))[0] == 200
                left.append(gc.collect())
            finally:
                gc.enable()
        assert min(left[1:]) == 0, left

    asyncio.run(in_a_gateway(stores, act))
