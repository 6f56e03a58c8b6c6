"""The brand as pages use it: its name, and its style sheet and logo under names that change with their content."""

import hashlib
from functools import lru_cache

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tollkeeper.console.assets import FOR_EVER, serve_asset
from tollkeeper.console.desks import Desks, Site
from tollkeeper.console.guard import HEADERS
from tollkeeper.core.brand import Brand, style_sheet, support_link

LOGO = "image/png"
STYLES = "text/css; charset=utf-8"
LEGAL_TITLES = {"imprint": "Imprint", "terms": "Terms", "privacy": "Privacy"}


class Branding(msgspec.Struct, frozen=True, kw_only=True):
    """What templates know of the brand."""

    name: str
    # Addresses; empty where there is none.
    style_sheet: str
    logo: str
    support: str
    support_link: str
    # Names of the legal pages that there are.
    legal: tuple[str, ...]


@lru_cache(8)
def branding_of(brand: Brand, usual_name: str) -> Branding:
    return Branding(
        name=brand.name or usual_name,
        style_sheet=_address("brand", "css", style_sheet(brand).encode()),
        logo=_address("logo", "png", brand.logo),
        support=brand.support,
        support_link=support_link(brand.support) if brand.support else "",
        legal=tuple(brand.legal),
    )


async def serve_brand_or_asset(desks: Desks, site: Site, request: Request) -> Response:
    """A file of the brand, or one of our own. One that was just changed is not kept under its former name."""
    name = request.path_params["name"]
    if not name.startswith(("brand.", "logo.")):
        return await serve_asset(request)
    brand = await desks.brand.look()
    now = branding_of(brand, site.name)
    is_logo = name.startswith("logo.")
    content = brand.logo if is_logo else style_sheet(brand).encode()
    if not content:
        return Response(status_code=404, headers=HEADERS)
    is_current = f"/assets/{name}" in (now.logo, now.style_sheet)
    kept = {"Content-Type": LOGO if is_logo else STYLES, "Cache-Control": FOR_EVER if is_current else "no-store"}
    return Response(content, headers={**HEADERS, **kept})


def _address(stem: str, ending: str, content: bytes) -> str:
    return f"/assets/{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{ending}" if content else ""
