"""What every answer carries, and what every form must.

Rules of this file
1. Scripts, styles, pictures and fonts come from this very address, and nothing stands in the page itself. Pictures in
   the style sheet (`data:`) are the one exception. No script makes HTML, or another script, from a text (Trusted
   Types): none of ours needs to, and there is no policy by which one could.
2. A form counts only if the browser says that it comes from our own page, and if it has the visitor's token.
3. Where a browser says where a request comes from (Sec-Fetch-Site), that decides. Older ones say the origin; `null` is
   what pages with `no-referrer` send, and is taken over plain HTTP only, where browsers send nothing better.
"""

from collections.abc import Mapping

from starlette.requests import Request

from tollkeeper.console.desks import Site

SOURCES = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(SOURCES),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
STRICT_TRANSPORT = "max-age=31536000"


def headers_for(site: Site, *, no_referrer: bool) -> Mapping[str, str]:
    """The headers of a page: nobody keeps it."""
    own = {
        **HEADERS,
        "Cache-Control": "no-store",
        # `no-referrer` everywhere would make browsers hide the origin of forms, too.
        "Referrer-Policy": "no-referrer" if no_referrer else "same-origin",
    }
    return own | {"Strict-Transport-Security": STRICT_TRANSPORT} if site.is_secure else own


def comes_from_us(request: Request, site: Site) -> bool:
    """Whether a form was sent from a page of ours, by what the browser says."""
    fetched = request.headers.get("sec-fetch-site")
    if fetched is not None:
        return fetched == "same-origin"
    origin = request.headers.get("origin")
    ours = site.origin or f"http://{request.headers.get('host', '')}"
    return origin == ours or (origin == "null" and not site.is_secure)
