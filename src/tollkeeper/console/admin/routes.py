"""Addresses of acts, matched as they were sent: a name in a path may have a slash in it (%2F), as models have."""

import re
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.routing import Match, Mount, Route
from starlette.types import ASGIApp, Scope


class ActRoute(Route):
    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Starlette looks at the path after it was decoded, where a slash of a name is one like any other."""
        sent = scope["raw_path"].decode("latin-1")
        below = scope.get("root_path", "")
        found = self.path_regex.match(sent.removeprefix(below)) if sent.startswith(below) else None
        if found is None:
            return Match.NONE, {}
        child: dict[str, Any] = {
            "endpoint": self.endpoint,
            "path_params": {name: _decoded(text) for name, text in found.groupdict().items()},
        }
        return Match.FULL if scope["method"] in (self.methods or ()) else Match.PARTIAL, child


class EverythingBelow(Mount):
    """Starlette's own lets a path with a line break in a name (%0A) through to whoever comes next."""

    def __init__(self, path: str, app: ASGIApp) -> None:
        super().__init__(path, app)
        self.path_regex = re.compile(self.path_regex.pattern, re.DOTALL)


def _decoded(text: str) -> str:
    """What is no UTF-8 leaves halves of characters behind, which whoever reads the wish refuses."""
    return unquote_to_bytes(text.encode("latin-1")).decode("utf-8", "surrogateescape")
