"""The brand at the office: what is said changes, on record; the rest stays."""

import base64

import asyncpg
import pytest

from tests.office.staff import StaffClient, refused, told


async def test_the_brand_is_changed_in_parts_and_on_record(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    assert told(await owner_client.get("/brand"))["name"] == ""
    told(await owner_client.post("/brand", name="Ada", imprint="# Ada"))
    changed = told(await owner_client.post("/brand", accent_light="#0559A8"))
    assert (changed["name"], changed["imprint"], changed["accent_light"]) == ("Ada", "# Ada", "#0559a8")
    assert told(await owner_client.get("/brand")) == changed
    told(await owner_client.post("/brand", name="Ada"))
    rows = await owner.fetch("select detail::text as detail from audit where action = 'brand.change' order by id")
    assert [row["detail"] for row in rows] == ['{"name": "Ada", "imprint_length": 5}', '{"accent_light": "#0559a8"}']
    assert await owner.fetchval("select count(*) from change where kind = 'brand'") == 2


@pytest.mark.parametrize(
    "wish",
    [
        {"accent_light": "#ffffff"},
        {"accent_dark": "#000000"},
        {"logo_png": "not base64"},
        {"logo_png": base64.b64encode(b"<svg/>").decode()},
        {"support": "ftp://x"},
        {"name": "a\u202eb"},
    ],
    ids=str,
)
async def test_what_cannot_be_a_brand_is_refused(owner_client: StaffClient, wish: dict[str, str]) -> None:
    assert refused(await owner_client.post("/brand", **wish)) == (422, "refused")
