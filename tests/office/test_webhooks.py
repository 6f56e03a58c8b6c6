"""Webhooks at the office: made with a secret that is shown once, changed, tested, removed; on record."""

import asyncpg
import pytest

from tests.office.staff import StaffClient, refused, told

URL = "https://hooks.example.com/in?token=secret"


async def test_a_webhook_is_made_changed_and_removed_on_record(
    owner_client: StaffClient, owner: asyncpg.Connection
) -> None:
    made = told(await owner_client.post("/webhooks", url=URL, note="pager"))
    webhook, path = made["webhook"], f"/webhooks/{made['webhook']['id']}"
    assert made["secret"].startswith("whsec_")
    assert webhook["url"].startswith("https://hooks.example.com/…")
    assert webhook["is_on"]
    assert "provider.out" in webhook["kinds"]
    assert told(await owner_client.get("/webhooks"))["data"] == [webhook]
    changed = told(await owner_client.send("PATCH", path, {"kinds": ["books.not_clean"], "is_on": False}))
    assert (changed["kinds"], changed["is_on"]) == (["books.not_clean"], False)
    assert changed["off_because"] == "staff switched it off"
    assert refused(await owner_client.post(f"{path}/test")) == (422, "refused")
    assert told(await owner_client.send("PATCH", path, {"is_on": True}))["is_on"]
    other = told(await owner_client.post(f"{path}/rotate-secret"))
    assert other["secret"] != made["secret"]
    assert other["webhook"]["former_secret_until"] is not None
    assert told(await owner_client.send("DELETE", f"{path}?reason=unused")) == {"changed": True}
    assert refused(await owner_client.get(path)) == (404, "not_found")
    rows = await owner.fetch("select action, detail::text as detail from audit where subject ~ '^webhook' order by id")
    acts = ["webhook.add", "webhook.change", "webhook.change", "webhook.rotate_secret", "webhook.remove"]
    assert [row["action"] for row in rows] == acts
    assert not any("secret" in row["detail"] or "whsec" in row["detail"] for row in rows)


async def test_a_test_event_is_on_its_way_and_can_be_sent_again(owner_client: StaffClient) -> None:
    made = told(await owner_client.post("/webhooks", url=URL))["webhook"]
    numbers = [told(await owner_client.post(f"/webhooks/{made['id']}/test"))["delivery"] for _ in range(3)]
    first = told(await owner_client.get(f"/webhooks/{made['id']}/deliveries", limit=2))
    second = told(await owner_client.get(f"/webhooks/{made['id']}/deliveries", limit=2, after=first["next"]))
    assert [each["id"] for page in (first, second) for each in page["data"]] == numbers[::-1]
    assert first["data"][0]["kind"] == "webhook.test"
    assert told(await owner_client.post(f"/deliveries/{numbers[0]}/again")) == {"changed": True}
    assert refused(await owner_client.post("/deliveries/77777/again")) == (404, "not_found")
    assert refused(await owner_client.get("/webhooks/7777/deliveries")) == (404, "not_found")


@pytest.mark.parametrize(
    "wish",
    [
        {"url": "http://hooks.example.com/"},
        {"url": "https://10.0.0.1/"},
        {"url": "https://localhost/"},
        {"url": "https://169.254.169.254/"},
        {"url": URL, "note": "a\nb"},
    ],
    ids=str,
)
async def test_what_cannot_be_called_is_refused(owner_client: StaffClient, wish: dict[str, str]) -> None:
    assert refused(await owner_client.post("/webhooks", **wish)) == (422, "refused")


async def test_there_are_at_most_twenty(owner_client: StaffClient) -> None:
    for _ in range(20):
        told(await owner_client.post("/webhooks", url=URL))
    assert refused(await owner_client.post("/webhooks", url=URL)) == (422, "refused")
