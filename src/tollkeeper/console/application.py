"""The console as an ASGI application: its routes are the rows of the table."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from starlette.applications import Starlette
from starlette.convertors import register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from tollkeeper.console.admin.application import PREFIX
from tollkeeper.console.admin.routes import EverythingBelow
from tollkeeper.console.assets import shelf
from tollkeeper.console.branding import serve_brand_or_asset
from tollkeeper.console.desks import Desks, Site
from tollkeeper.console.guard import headers_for
from tollkeeper.console.pages import Page
from tollkeeper.console.paths import RowNumber, own_path
from tollkeeper.console.respond import endpoint, error_page, open_visit
from tollkeeper.console.staff.table import STAFF
from tollkeeper.console.table import PAGES
from tollkeeper.console.visit import House
from tollkeeper.core.client_ip import is_on_this_machine

register_url_convertor("int", RowNumber())

Life = Callable[[Starlette], AbstractAsyncContextManager[None]]


def console(
    desks: Desks,
    site: Site,
    *,
    life: Life | None = None,
    pages: Sequence[Page] = (*PAGES, *STAFF),
    admin: ASGIApp | None = None,
) -> Starlette:
    """`life` opens and closes what the desks work with. `admin`: the operator API."""
    house = House(desks, site, {page.path for page in pages if page.method == "GET"})
    shelf()
    routes: list[BaseRoute] = [
        Route("/livez", _live),
        Route("/readyz", partial(_ready, desks)),
        Route("/assets/{name}", partial(serve_brand_or_asset, desks, site)),
    ]
    routes += [Route(page.path, endpoint(house, page), methods=[page.method]) for page in pages]
    if admin is not None:
        routes.append(EverythingBelow(PREFIX, admin))

    async def no_such_page(request: Request, problem: Exception) -> Response:
        status = problem.status_code if isinstance(problem, HTTPException) else 500
        response = _without_slash(request) if status == 404 else None
        response = response or error_page(open_visit(house, request), status)
        response.headers.update(headers_for(site, no_referrer=False))
        return response

    application = Starlette(routes=routes, lifespan=life, exception_handlers={HTTPException: no_such_page})
    # It would lead to the address that the Host header names, by the scheme behind the proxy, and a form along with it.
    application.router.redirect_slashes = False
    return application


def _without_slash(request: Request) -> Response | None:
    """`/keys/` is `/keys`, at whatever address the visitor is."""
    path = own_path(request.url.path.rstrip("/"))
    is_other = request.method == "GET" and request.url.path.endswith("/") and path != "/"
    return RedirectResponse(path, 308) if is_other else None


async def _live(_: Request) -> Response:
    return PlainTextResponse("ok\n", headers={"Cache-Control": "no-store"})


async def _ready(desks: Desks, request: Request) -> Response:
    """Whether the database can be used; and to whoever asks on this machine, why not."""
    trouble = await desks.why_not_ready()
    peer = request.client.host if request.client else ""
    told = trouble if is_on_this_machine(peer, lambda name: name in request.headers) else "out of reach"
    status, text = (503, told) if trouble else (200, "ok")
    return PlainTextResponse(f"{text}\n", status, headers={"Cache-Control": "no-store"})
