"""The operator API as an ASGI application: its routes are the rows of the office's table."""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tollkeeper.console.admin.asking import Asker, asker_of
from tollkeeper.console.admin.draining import drained
from tollkeeper.console.admin.once import answer_once, digest_of
from tollkeeper.console.admin.openapi import openapi_json
from tollkeeper.console.admin.refusals import judged
from tollkeeper.console.admin.routes import ActRoute
from tollkeeper.console.admin.wishes import idempotency_key, read_wish
from tollkeeper.console.turns import Turns
from tollkeeper.core.client_ip import Network
from tollkeeper.core.request_id import uuid7
from tollkeeper.office.act import Act
from tollkeeper.office.desks import Office
from tollkeeper.office.table import ACTS
from tollkeeper.office.wire import PREFIX, REPLAYED, AdminError, ErrorAnswer
from tollkeeper.ports.operators import RequestBook
from tollkeeper.steady import without_content

__all__ = ["PREFIX", "AdminDesk", "admin"]

REQUEST_ID = "x-request-id"
HEADERS: Mapping[str, str] = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
OF_HTTP = {404: "There is nothing at this address.", 405: "This address does not take this method."}
INTERNAL = (
    "Something went wrong here, and it was written down. If this was to change something, look before you repeat."
)

log = logging.getLogger(__name__)


class AdminDesk(msgspec.Struct, frozen=True):
    """What all requests share. `database_words`: a refusal of the database's in words, if it was one."""

    office: Office
    requests: RequestBook
    trusted_proxies: tuple[Network, ...]
    database_words: Callable[[Exception], str | None]
    turns: Turns


def admin(desk: AdminDesk, acts: Sequence[Act[Any, Any]] = ACTS) -> Starlette:
    routes: list[BaseRoute] = [Route("/openapi.json", partial(_document, openapi_json(acts)))]
    routes += [ActRoute(act.path, partial(_answer, desk, act), methods=[act.method]) for act in acts]
    made = Starlette(routes=routes, exception_handlers={HTTPException: _no_such_route})
    made.router.redirect_slashes = False
    return made


async def _document(document: bytes, _: Request) -> Response:
    return Response(document, media_type="application/json", headers={"Cache-Control": "public, max-age=300"})


async def _answer(desk: AdminDesk, act: Act[Any, Any], request: Request) -> Response:
    request_id = new_request_id()
    try:
        asker = await asker_of(request, desk.office, desk.trusted_proxies)
        asker.require(act.scope)
        async with desk.turns.of(asker.key.id):
            return await (_once if act.moves_money else _do)(desk, act, request, asker, request_id)
    except Exception as problem:  # One request must not end the others.
        return await _after_body(request, _refusal(desk, act, problem, request_id))


async def _do(desk: AdminDesk, act: Act[Any, Any], request: Request, asker: Asker, request_id: str) -> Response:
    wish = await read_wish(act, request, once="")
    result = await act(desk.office, wish, asker.actor)
    return json_answer(200, msgspec.json.encode(result), request_id)


async def _once(desk: AdminDesk, act: Act[Any, Any], request: Request, asker: Asker, request_id: str) -> Response:
    key = idempotency_key(request)
    wish = await read_wish(act, request, once=f"{asker.actor.name}:{key}")

    async def make() -> tuple[int, bytes]:
        return 200, msgspec.json.encode(await act(desk.office, wish, asker.actor))

    who, digest = asker.actor.name, digest_of(act.name, wish)
    status, answer, replayed = await answer_once(desk.requests, who, key, digest, make)
    response = json_answer(status, answer, request_id)
    if replayed:
        response.headers[REPLAYED] = "true"
    return response


def _refusal(desk: AdminDesk, act: Act[Any, Any], problem: Exception, request_id: str) -> Response:
    found = judged(problem)
    if found is None and (words := desk.database_words(problem)):
        found = 422, "refused", words
    if found is None:
        log.error("%s failed, request %s: %s", act.name, request_id, without_content(problem))
        found = 500, "internal_error", INTERNAL
    return error_answer(*found, request_id)


async def _no_such_route(request: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    code = {404: "not_found", 405: "method_not_allowed"}.get(status, "internal_error")
    response = error_answer(status, code, OF_HTTP.get(status, INTERNAL), new_request_id())
    if isinstance(problem, HTTPException) and problem.headers:
        response.headers.update(problem.headers)
    return await _after_body(request, response)


async def _after_body(request: Request, response: Response) -> Response:
    """Once its body was read; where that is too much to read, it says that the connection ends."""
    if not await drained(request):
        response.headers["Connection"] = "close"
    return response


def error_answer(status: int, code: str, message: str, request_id: str) -> Response:
    answer = msgspec.json.encode(ErrorAnswer(AdminError(code, message, request_id)))
    response = json_answer(status, answer, request_id)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def json_answer(status: int, body: bytes, request_id: str) -> Response:
    return Response(body, status, {**HEADERS, REQUEST_ID: request_id}, media_type="application/json")


def new_request_id() -> str:
    return str(uuid7(time.time_ns() // 1_000_000, os.urandom(10)))
