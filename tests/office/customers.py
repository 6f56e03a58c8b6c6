"""Customers for tests of the office, and lists of them."""

from typing import Any

import asyncpg

from tests.office.staff import StaffClient, told


async def an_account(client: StaffClient, name: str = "Ada Lovelace") -> int:
    number: int = told(await client.post("/accounts", name=name))["account"]
    return number


async def a_customers_key(client: StaffClient, account: int) -> int:
    """Its number."""
    number: int = told(await client.post(f"/accounts/{account}/keys", name="k", reason="a test"))["key"]
    return number


async def a_login(owner: asyncpg.Connection, account: int, email: str, role: str = "customer") -> None:
    await owner.execute(
        "insert into login (account_id, email, person, password, role)"
        " values ($1, $2, sha256(convert_to($2, 'UTF8')), '$argon2id$', $3)",
        account,
        email,
        role,
    )


async def found_by(client: StaffClient, search: str) -> list[int]:
    return [row["account"] for row in told(await client.get("/accounts", search=search))["data"]]


async def every_row(client: StaffClient, path: str, **query: object) -> list[Any]:
    """All pages of a list, two rows each."""
    rows: list[Any] = []
    after = ""
    while True:
        page = told(await client.get(path, limit=2, after=after, **query))
        rows += page["data"]
        if page["next"] is None:
            return rows
        assert len(page["data"]) == 2
        after = page["next"]
