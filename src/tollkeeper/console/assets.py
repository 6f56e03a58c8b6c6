"""What browsers load beside pages: from this package, under names that change with their content.

Rules of this file
1. A name has the first digits of the content's hash in it, so it may be kept for ever.
2. All of it is in memory, as it is and compressed, from the start.
"""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tollkeeper.console.guard import HEADERS

FOLDER = Path(__file__).parent / "assets"
KINDS: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
FOR_EVER = "public, max-age=31536000, immutable"


class Asset(msgspec.Struct, frozen=True):
    name: str
    kind: str
    content: bytes
    # None where that would be no smaller.
    compressed: bytes | None


@cache
def shelf() -> Mapping[str, Asset]:
    """Every asset by the name under which it is served. Style sheets name others, so they come last."""
    found: dict[str, Asset] = {}
    for file in sorted(FOLDER.iterdir(), key=lambda file: (file.suffix == ".css", file.name)):
        if file.suffix in KINDS:
            content = file.read_bytes()
            for other in found.values() if file.suffix == ".css" else ():
                plain = _plain_name(other.name)
                content = content.replace(f"url({plain})".encode(), f"url({other.name})".encode())
            asset = _asset(file, content)
            found[asset.name] = asset
    return found


@cache
def _addresses() -> Mapping[str, str]:
    return {_plain_name(name): f"/assets/{name}" for name in shelf()}


def address_of(name: str) -> str:
    """Where `console.css` is served."""
    return _addresses()[name]


async def serve_asset(request: Request) -> Response:
    asset = shelf().get(request.path_params["name"])
    if asset is None:
        return Response(status_code=404, headers=HEADERS)
    headers = {**HEADERS, "Content-Type": asset.kind, "Cache-Control": FOR_EVER, "Vary": "Accept-Encoding"}
    if asset.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.compressed, headers=headers | {"Content-Encoding": "gzip"})
    return Response(asset.content, headers=headers)


def _asset(file: Path, content: bytes) -> Asset:
    digest = hashlib.sha256(content).hexdigest()[:12]
    compressed = gzip.compress(content, mtime=0)
    smaller = compressed if len(compressed) < len(content) * 0.9 else None
    return Asset(f"{file.stem}.{digest}{file.suffix}", KINDS[file.suffix], content, smaller)


def _plain_name(name: str) -> str:
    stem, _, suffix = name.split(".")
    return f"{stem}.{suffix}"
