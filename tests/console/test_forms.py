"""How what people send is read: fields up to a bound, and JSON of a script with its token in a header."""

import pytest

from tests.console.browser import ORIGIN, Browser

AS_JSON = {"origin": ORIGIN, "content-type": "application/json"}
LARGE = 70_000


async def test_fields_beyond_their_bound_are_not_read_where_json_may_be_longer(signed_in: Browser) -> None:
    token = (await signed_in.get("/chat")).hidden()["form_token"]
    assert (await signed_in.post("/chat", form_token=token, order="x" * LARGE)).status == 413
    headers = AS_JSON | {"x-form-token": token}
    read = await signed_in.send("POST", "/chat", body=b"x" * LARGE, headers=headers)
    assert (read.status, "trouble" in read.text) == (422, True)


@pytest.mark.parametrize("token", [{}, {"x-form-token": "0" * 64}])
async def test_json_without_the_sessions_token_is_not_taken(signed_in: Browser, token: dict[str, str]) -> None:
    await signed_in.get("/chat")
    answer = await signed_in.send("POST", "/chat", body=b"{}", headers=AS_JSON | token)
    assert answer.status == 403


async def test_forms_with_files_are_read_only_where_a_page_takes_them(signed_in: Browser) -> None:
    """Reading them takes longer, and any page could be sent one."""
    headers = {"content-type": "multipart/form-data; boundary=edge", "origin": ORIGIN}
    body = b'--edge\r\ncontent-disposition: form-data; name="order"\r\n\r\nx\r\n--edge--\r\n'
    assert (await signed_in.send("POST", "/chat", body=body, headers=headers)).status == 400
    assert (await signed_in.send("POST", "/chat", body=body + b"x" * LARGE, headers=headers)).status == 413
