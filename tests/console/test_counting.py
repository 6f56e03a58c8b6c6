"""The console's requests, counted around the whole application."""

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from tollkeeper.console.counting import CountedPages, PageFigures
from tollkeeper.metrics.text import lines_of


async def well(_: Request) -> Response:
    return PlainTextResponse("ok")


async def broken(_: Request) -> Response:
    raise ValueError("on purpose")


@pytest.fixture
def figures() -> PageFigures:
    return PageFigures()


@pytest.fixture
def visitor(figures: PageFigures) -> TestClient:
    application = Starlette(routes=[Route("/", well), Route("/broken", broken), Route("/livez", well)])
    application.add_middleware(CountedPages, figures=figures)
    return TestClient(application, raise_server_exceptions=False)


async def test_requests_are_counted_by_status_and_those_of_balancers_are_not(
    figures: PageFigures, visitor: TestClient
) -> None:
    for path in ("/", "/", "/nowhere", "/broken", "/livez"):
        visitor.get(path)
    lines = lines_of(await figures.collect(), 0)
    told = [line.rpartition(" ")[2] for line in lines["tollkeeper_console_requests_total"].splitlines()]
    assert told == ["0", "2", "0", "1", "1"]
    assert lines["tollkeeper_console_request_seconds"].splitlines()[-1].endswith(" 4")
