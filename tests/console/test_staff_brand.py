"""The brand on pages: the operator's name, colours, logo and legal pages, and nothing unescaped."""

import base64
import re
from collections.abc import AsyncIterator

import pytest
from starlette.applications import Starlette

from tests.console.browser import ORIGIN, Answer, Browser
from tests.console.test_staff_pages import staff_browser
from tests.people import People
from tollkeeper.console.desks import Desks
from tollkeeper.console.markdown import rendered
from tollkeeper.core.people.logins import Role
from tollkeeper.office.brand import BrandWish, change_brand

# One grey pixel.
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==")
PLAIN = dict.fromkeys(("name", "support", "accent_light", "accent_dark", "logo_png", "imprint", "terms", "privacy"), "")


@pytest.fixture
async def visitor(application: Starlette, people: People, desks: Desks) -> AsyncIterator[Browser]:
    yield await staff_browser(application, people, Role.OPERATOR)
    await change_brand(desks.office, BrandWish(**PLAIN), desks.office.operator)


async def upload(visitor: Browser, **fields: str | bytes) -> Answer:
    """As a browser sends a form with a file."""
    page = await visitor.get("/staff/brand")
    token = re.search(r'action="/staff/brand".*?name="form_token" value="([^"]+)"', page.text, re.DOTALL)
    assert token
    parts = []
    for name, value in {"form_token": token[1], **fields}.items():
        file = '; filename="logo.png"\r\nContent-Type: image/png' if isinstance(value, bytes) else ""
        content = value if isinstance(value, bytes) else value.encode()
        head = f'--edge\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode()
        parts.append(head + content + b"\r\n")
    headers = {"content-type": "multipart/form-data; boundary=edge", "origin": ORIGIN}
    return await visitor.send("POST", "/staff/brand", body=b"".join(parts) + b"--edge--\r\n", headers=headers)


async def test_customers_see_the_operators_name_colours_logo_and_legal_pages(
    visitor: Browser, browser: Browser
) -> None:
    sent = await upload(
        visitor,
        name="Ada & Co",
        support="help@example.com",
        accent_light="#0b6b3a",
        accent_dark="#6fd39b",
        logo_png=PNG,
        imprint="# Who we are\n\nAda & Co\n<script>alert(1)</script>",
    )
    assert sent.goes_to == "/staff/brand?done=brand-changed", sent.text
    door = await browser.get("/sign-in")
    assert "· Ada &amp; Co</title>" in door.text
    assert "Tollkeeper" not in door.text
    assert 'href="/legal/imprint"' in door.text
    assert "/legal/terms" not in door.text
    assert 'href="mailto:help@example.com"' in door.text
    style, logo = re.search(r"/assets/brand\.\w+\.css", door.text), re.search(r"/assets/logo\.\w+\.png", door.text)
    assert style
    assert logo
    sheet = await browser.get(style[0])
    assert "--tblr-primary: #0b6b3a" in sheet.text
    assert "immutable" in dict(sheet.headers)["cache-control"]
    picture = await browser.get(logo[0])
    assert dict(picture.headers)["content-type"] == "image/png"
    assert "immutable" not in dict((await browser.get("/assets/brand.000000000000.css")).headers)["cache-control"]
    legal = await browser.get("/legal/imprint")
    assert "<h2>Who we are</h2>" in legal.text
    assert "&lt;script&gt;alert(1)" in legal.text
    assert (await browser.get("/legal/terms")).status == 404


async def test_without_a_brand_there_is_no_style_sheet_logo_or_foot(visitor: Browser, browser: Browser) -> None:
    door = await browser.get("/sign-in")
    assert "/assets/brand." not in door.text
    assert 'class="foot"' not in door.text
    assert (await browser.get("/assets/brand.000000000000.css")).status == 404
    assert (await visitor.get("/staff/brand")).status == 200


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("accent_light", "#ffee00", "too hard to read"),
        ("logo_png", b"<svg/>", "must be a PNG"),
        ("support", "javascript:alert(1)", "Write support as"),
    ],
)
async def test_what_cannot_be_shown_is_refused_and_the_form_keeps_what_was_sent(
    visitor: Browser, browser: Browser, field: str, value: str | bytes, words: str
) -> None:
    answer = await upload(visitor, **{"name": "Not yet", field: value})
    assert answer.status == 422
    assert words in answer.text
    assert 'value="Not yet"' in answer.text
    assert "Not yet" not in (await browser.get("/sign-in")).text


async def test_the_logo_stays_until_another_comes_or_it_is_taken_away(visitor: Browser, browser: Browser) -> None:
    await upload(visitor, logo_png=PNG)
    await upload(visitor, name="Ada", logo_png=b"")
    assert "/assets/logo." in (await browser.get("/sign-in")).text
    await upload(visitor, no_logo="true")
    assert "/assets/logo." not in (await browser.get("/sign-in")).text


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# A\ntext\nmore\n\nnext", "<h2>A</h2>\n<p>text<br>more</p>\n<p>next</p>"),
        ("- a\n- **b**\n1. c", "<ul><li>a</li><li><strong>b</strong></li></ul>\n<ol><li>c</li></ol>"),
        ("[x](https://a.example/?a=1&b)", '<p><a href="https://a.example/?a=1&amp;b" rel="noopener">x</a></p>'),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ('[x](https://a"onclick=alert)', "<p>"),
        ("<b>&\"'", "<p>&lt;b&gt;&amp;&#34;&#39;</p>"),
    ],
    ids=["headings", "lists", "link", "script link", "quote in a link", "html"],
)
def test_legal_texts_are_plain_markdown_with_everything_escaped(text: str, html: str) -> None:
    found = str(rendered(text))
    assert found.startswith(html)
    assert '"onclick' not in found


@pytest.mark.parametrize("charset", ["punycode", "bogus"])
async def test_what_a_part_says_of_its_charset_is_not_believed(
    application: Starlette, people: People, charset: str
) -> None:
    """Some charsets of Python's take minutes to read, and others are none."""
    visitor = await staff_browser(application, people, Role.OPERATOR)
    token = (await visitor.get("/staff/brand")).hidden()["form_token"]
    fields = {"form_token": token, "name": "Ada " + "a-" * 2_000}
    parts = [
        f'--edge\r\ncontent-disposition: form-data; name="{name}"\r\n'
        f"content-type: text/plain; charset={charset}\r\n\r\n{value}\r\n"
        for name, value in fields.items()
    ]
    headers = {"content-type": "multipart/form-data; boundary=edge", "origin": ORIGIN}
    body = ("".join(parts) + "--edge--\r\n").encode()
    answer = await visitor.send("POST", "/staff/brand", body=body, headers=headers)
    assert answer.status == 422
    assert "Ada a-a-" in answer.text
