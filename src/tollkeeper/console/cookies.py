"""Cookies: the session's, the stranger's, and what people like.

Rules of this file
1. Over HTTPS names begin with `__Host-`: no other host, and no plain page, can set or read them.
2. Over plain HTTP browsers refuse such names, so there are others, and pages say that the way is not safe.
3. None can be read by a script, and none comes along when another site posts to us.
"""

from starlette.requests import Request
from starlette.responses import Response

SECURE_PREFIX = "__Host-"
PLAIN_SUFFIX = "-unsafe"
SESSION = "tollkeeper"
STRANGER = "tollkeeper-stranger"
LANGUAGE = "tollkeeper-language"
THEME = "tollkeeper-theme"
YEAR_SECONDS = 365 * 24 * 3600


class Cookies:
    def __init__(self, *, secure: bool) -> None:
        self._secure = secure

    def name(self, name: str) -> str:
        return f"{SECURE_PREFIX}{name}" if self._secure else f"{name}{PLAIN_SUFFIX}"

    def read(self, request: Request, name: str) -> str:
        return request.cookies.get(self.name(name), "")

    def write(self, response: Response, name: str, value: str, *, seconds: int | None = None) -> None:
        """For so long; without it, until the browser is closed."""
        response.set_cookie(
            self.name(name), value, max_age=seconds, path="/", secure=self._secure, httponly=True, samesite="lax"
        )

    def drop(self, response: Response, name: str) -> None:
        response.delete_cookie(self.name(name), path="/", secure=self._secure, httponly=True, samesite="lax")
