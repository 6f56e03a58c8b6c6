"""A program of staff: it shows an operator key and speaks JSON, in the same process."""

from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.applications import Starlette

from tests.console.browser import Answer, Browser
from tollkeeper.console.admin.application import PREFIX
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.desks import Office
from tollkeeper.office.operator_keys import NewOperatorKeyWish, create_operator_key

OWNER = Actor("a test", Role.OPERATOR)


class StaffClient:
    def __init__(self, application: Starlette, key: str) -> None:
        self._browser = Browser(application)
        self.key = key

    async def get(self, path: str, **query: object) -> Answer:
        return await self.send("GET", f"{path}?{urlencode(query)}" if query else path)

    async def post(self, path: str, **fields: Any) -> Answer:
        """`once`: its idempotency key."""
        once = fields.pop("once", "")
        return await self.send("POST", path, fields, once=once)

    async def send(self, method: str, path: str, body: object = None, *, once: str = "") -> Answer:
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        if once:
            headers["idempotency-key"] = once
        sent = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        return await self._browser.send(method, PREFIX + path, body=sent, headers=headers)


def told(answer: Answer) -> Any:
    """What an answer that went well says."""
    assert answer.status == 200, answer.text
    return msgspec.json.decode(answer.text)


def refused(answer: Answer) -> tuple[int, str]:
    """The status of a refusal, and its code."""
    return answer.status, msgspec.json.decode(answer.text)["error"]["code"]


async def a_key(office: Office, name: str, *scopes: Scope, **more: Any) -> str:
    """The text of a new operator key."""
    made = await create_operator_key(office, NewOperatorKeyWish(name=name, scopes=list(scopes), **more), OWNER)
    return made.key
