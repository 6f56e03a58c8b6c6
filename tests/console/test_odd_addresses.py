"""Addresses that no page of ours has: each is answered in words, with the headers of every page."""

import pytest

from tests.console.browser import Browser

FAR_TOO_LONG = "1" * 5_000


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/usage?key=00000000000000000000999999999999999999999999", 200),
        (f"/usage?key={FAR_TOO_LONG}", 200),
        ("/usage?model=%00", 200),
        ("/usage.csv?model=a%00b", 200),
        (f"/keys/{FAR_TOO_LONG}", 404),
        (f"/top-up/{FAR_TOO_LONG}", 404),
        ("/keys/9999999999999999999", 404),
    ],
    ids=[
        "a key beyond all numbers",
        "a long key",
        "NUL",
        "NUL in CSV",
        "a long number",
        "another",
        "beyond all numbers",
    ],
)
async def test_what_cannot_be_found_is_no_fault_of_ours(signed_in: Browser, path: str, status: int) -> None:
    answer = await signed_in.get(path)
    assert answer.status == status
    assert answer.header("content-security-policy")


async def test_a_session_beyond_all_numbers_is_none(signed_in: Browser) -> None:
    await signed_in.get("/security")
    assert (await signed_in.post("/security/sessions/99999999999999999999999/end")).status == 404


async def test_a_slash_at_the_end_leads_to_the_page_at_the_very_address_that_was_used(signed_in: Browser) -> None:
    answer = await signed_in.send("GET", "/keys/", headers={"host": "evil.example"})
    assert (answer.status, answer.goes_to) == (308, "/keys")
    assert answer.header("content-security-policy")


async def test_a_form_is_not_sent_on_to_another_address(browser: Browser) -> None:
    await browser.get("/sign-in")
    answer = await browser.post("/sign-in/", email="a@example.com", password="a secret of mine")
    assert (answer.status, answer.goes_to) == (404, "")


async def test_another_language_leaves_the_page_as_it_was(signed_in: Browser) -> None:
    page = await signed_in.get("/usage?lang=zh&from=2026-11-01&to=2026-11-02&model=a%2Fb")
    back = page.hidden()["back"]
    assert back == "/usage?from=2026-11-01&to=2026-11-02&model=a%2Fb"
    assert (await signed_in.post("/preferences", language="en", back=back)).goes_to == back


async def test_another_language_does_not_lose_the_link_of_a_mail(browser: Browser) -> None:
    page = await browser.get("/reset?token=abc")
    assert page.hidden()["back"] == "/reset?token=abc"
    refused = await browser.post("/reset", token="abc", new_password="short")
    assert (refused.status, refused.hidden().get("back")) == (422, "/reset?token=abc")


async def test_from_the_answer_to_a_form_another_language_leads_to_the_page_of_the_form(signed_in: Browser) -> None:
    await signed_in.get("/security")
    refused = await signed_in.post("/security/password", old_password="wrong", new_password="a good long password")
    assert (refused.status, refused.hidden()["back"]) == (422, "/security")


async def test_who_signs_in_again_finds_the_page_as_it_was_asked_for(browser: Browser) -> None:
    assert (await browser.get("/usage?model=a%2Fb&done=x")).goes_to == "/sign-in?next=/usage%3Fmodel%3Da%252Fb"
