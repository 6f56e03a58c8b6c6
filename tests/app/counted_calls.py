"""A gateway inside this process, and what one call through it takes: functions, tasks, timers, futures, callbacks.

Real stores and a real provider; only the server is left out. The event loop is asyncio's own, which counts what it is
asked for; its own functions are left out, as the loop that serves is compiled.
"""

import asyncio
import asyncio.base_events
import selectors
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import msgspec

from proofs.rig.measuring.measured_orders import MODEL
from tests.conftest import PROVIDER_KEY, Stores, variables
from tests.customers import DEAR_OUTPUT, Customers
from tollkeeper.app.gateway import gateway
from tollkeeper.app.office import office
from tollkeeper.server.application import Application
from tollkeeper.settings import Settings, load
from tools import asked
from tools.accounts import add_accounts, without_limits
from tools.asked import Asked
from tools.simulator import Simulator

# The loop's own, and what watches for this.
LEFT_OUT = (str(Path(asyncio.base_events.__file__).parent), selectors.__file__, asked.__file__, __file__)
CLIENT = ("127.0.0.1", 40_000)
PATH = "/v1/chat/completions"


class Counts(msgspec.Struct):
    """Of all calls together."""

    functions: Counter[CodeType] = msgspec.field(default_factory=Counter)
    tasks: int = 0
    timers: int = 0
    futures: int = 0
    callbacks: int = 0


class CountingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        super().__init__()
        self.counts = Counts()

    def create_task(self, *arguments: Any, **named: Any) -> asyncio.Task[Any]:
        self.counts.tasks += 1
        return super().create_task(*arguments, **named)

    def call_at(self, *arguments: Any, **named: Any) -> asyncio.TimerHandle:  # type: ignore[override]  # passed on
        self.counts.timers += 1
        return super().call_at(*arguments, **named)

    def create_future(self) -> asyncio.Future[Any]:
        self.counts.futures += 1
        return super().create_future()

    def call_soon(self, *arguments: Any, **named: Any) -> asyncio.Handle:  # type: ignore[override]  # passed on
        self.counts.callbacks += 1
        return super().call_soon(*arguments, **named)


def counting(counts: Counts) -> Callable[[FrameType, str, object], None]:
    """For `sys.setprofile`: every function of Python that is entered, and generators each time that they go on."""

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and not frame.f_code.co_filename.startswith(LEFT_OUT):
            counts.functions[frame.f_code] += 1

    return note


class NoPort:
    """Where nobody listens."""

    def close(self) -> None:
        raise AssertionError("it is not open")

    abort = close


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Application]:
    """The application, begun as a server begins it."""
    application = gateway(settings)
    async with application.life(NoPort()):
        yield application


async def posted(application: Application, path: str, key: str, body: bytes) -> tuple[int, bytes]:
    """Status and body of an answer."""
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {key}".encode())]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    request = Asked("POST", path.encode(), headers, [body], peer=CLIENT)
    await application.answer(request)
    return request.status, request.text


async def in_a_gateway(stores: Stores, act: Callable[[Application, str], Coroutine[Any, Any, None]]) -> None:
    """Act with a gateway and the key of a customer of it."""
    with Simulator(key=PROVIDER_KEY) as simulator:
        named = await variables(stores)
        await add_accounts(named, simulator.base, PROVIDER_KEY, 1)
        await without_limits(named["TOLLKEEPER_DATABASE_URL"])
        async with office(load(named)) as desk:
            customers = Customers(desk)
            await customers.a_model(model_id=MODEL, price=DEAR_OUTPUT)
            customer = await customers.a_customer(usd="1000")
        async with running(load(named)) as application:
            await act(application, customer.key)
        await stores.drop(named["TOLLKEEPER_DATABASE_URL"])


async def counted(loop: CountingLoop, calls: int, one: Callable[[], Any]) -> Counts:
    """What so many calls take, one after the other."""
    loop.counts = counts = Counts()
    sys.setprofile(counting(counts))
    try:
        for _ in range(calls):
            await one()
    finally:
        sys.setprofile(None)
    return counts
