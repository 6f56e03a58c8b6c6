"""Answers are shown by a real browser: Markdown becomes elements, and nothing else does, whatever a model says.

The page of these tests has no content security policy: the renderer has to do without its help.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from tollkeeper.console.assets import FOLDER

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = [
    pytest.mark.not_quick,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium"),
]
PAGE = """<!doctype html><body><div id="place"></div>
<template id="code-block"><div><span></span><button data-copy=""></button><pre><code></code></pre></div></template>"""
ELEMENTS = {
    *(
        "P",
        "STRONG",
        "EM",
        "DEL",
        "CODE",
        "PRE",
        "DIV",
        "SPAN",
        "BUTTON",
        "A",
        "UL",
        "OL",
        "LI",
        "BR",
        "HR",
        "BLOCKQUOTE",
    ),
    *("H3", "H4", "H5", "H6", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD"),
}
ATTRIBUTES = {"href", "rel", "target", "class", "data-copy", "start", "hidden"}
# Everything that the renderer made, and whether anything of what was said has run.
FOUND = """() => ({
    elements: [...document.querySelectorAll("#place *")].map((each) => each.tagName),
    attributes: [...document.querySelectorAll("#place *")].flatMap((each) => each.getAttributeNames()),
    addresses: [...document.querySelectorAll("#place [href], #place [src]")].map((each) => each.href),
    rels: [...document.querySelectorAll("#place a")].map((each) => each.rel + " " + each.target),
    ran: window.ran ?? 0,
})"""

RUN = "window.ran=1"
HOSTILE = [
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<body onload={RUN}>",
    f"<details open ontoggle={RUN}>x</details>",
    f"<a href='javascript:{RUN}'>x</a>",
    f"<math><mtext></form><form><mglyph><style></math><img src onerror={RUN}>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<template><script>{RUN}</script></template>",
    f"<style>@import 'javascript:{RUN}';</style>",
    f"<link rel=stylesheet href='data:text/css,*{{}}' onload={RUN}>",
    f"<base href='javascript:{RUN}//'>",
    f"<object data='javascript:{RUN}'></object>",
    f"<embed src='javascript:{RUN}'>",
    f"<form action='javascript:{RUN}'><button>x</button></form>",
    f"<input autofocus onfocus={RUN}>",
    f"<video><source onerror={RUN}></video>",
    f"<audio src=x onerror={RUN}></audio>",
    f"<marquee onstart={RUN}>x</marquee>",
    f"<meta http-equiv=refresh content='0;url=javascript:{RUN}'>",
    f"<textarea></textarea><script>{RUN}</script>",
    f"<!--><script>{RUN}</script>-->",
    f"<![CDATA[<script>{RUN}</script>]]>",
    f"[x](javascript:{RUN})",
    f"[x](JaVaScRiPt:{RUN})",
    f"[x]( javascript:{RUN})",
    f"[x](java\tscript:{RUN})",
    f"[x](java&#x09;script:{RUN})",
    f"[x](\x01javascript:{RUN})",
    f"[x](data:text/html,<script>{RUN}</script>)",
    "[x](data:text/html;base64,PHNjcmlwdD4)",
    f"[x](vbscript:{RUN})",
    "[x](file:///etc/passwd)",
    "[x](blob:https://evil.example/1)",
    "[x](//evil.example/x)",
    "[x](/security/sessions/end-all)",
    f"[x](<javascript:{RUN}>)",
    f"![x](javascript:{RUN})",
    "![x](https://evil.example/seen.png)",
    f'![x](https://evil.example/" onerror="{RUN})',
    f'[x](https://evil.example/" onclick="{RUN})',
    f'[x](https://evil.example "t" onclick={RUN})',
    f"<javascript:{RUN}>",
    f'<https://evil.example/"onclick={RUN}>',
    f"https://evil.example/'onclick={RUN}'",
    f'```"><script>{RUN}</script>\ncode\n```',
    f"```html\n<script>{RUN}</script>\n```",
    f"`<script>{RUN}</script>`",
    f"# <img src=x onerror={RUN}>",
    f"> <img src=x onerror={RUN}>",
    f"- <img src=x onerror={RUN}>",
    f"| <img src=x onerror={RUN}> | b |\n|--|--|\n| <script>{RUN}</script> | [x](javascript:{RUN}) |",
    f"**<img src=x onerror={RUN}>** *[x](javascript:{RUN})* ~~<svg onload={RUN}>~~",
    f"[**<img src=x onerror={RUN}>**](https://evil.example)",
    f"[![x](javascript:{RUN})](javascript:{RUN})",
    f"\\<script>{RUN}\\</script>",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f"<img src=x onerror={RUN}",
    "__proto__ constructor [__proto__](constructor:prototype)",
]
SLOW = [
    "[" * 60_000,
    "**a " * 20_000,
    "`" * 60_000,
    "`a" * 30_000,
    "> " * 20_000 + "x",
    "- " * 20_000,
    "|" * 50_000 + "\n|--|",
    "![" * 30_000,
    "_" * 60_000,
    "<http://" * 10_000,
    "\\" * 60_000,
    "~~~" * 20_000,
    "#" * 60_000,
    "a_b_" * 20_000,
    "# x" + " " * 5_000 + "x",
    "a | b\n" + " " * 5_000 + "-" + " " * 5_000 + "x",
]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = browser.new_page()
        found.set_content(PAGE)
        found.add_script_tag(path=FOLDER / "markdown.js")
        yield found
        browser.close()


def render(page: Page, *texts: str) -> str:
    """One text after the other into the same place, as an answer grows; what people see in the end."""
    page.evaluate("texts => texts.forEach((text) => renderMarkdown(document.getElementById('place'), text))", texts)
    return str(page.evaluate("document.getElementById('place').innerHTML"))


def growing(text: str) -> list[str]:
    return [text[:end] for end in range(1, len(text) + 1)]


@pytest.mark.parametrize("said", HOSTILE)
def test_what_a_model_says_never_runs_and_leads_nowhere_unsafe(page: Page, said: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for texts in ([said], growing(said), [f"Here: {said} and on"]):
        render(page, "", *texts)
        found = page.evaluate(FOUND)
        assert set(found["elements"]) <= ELEMENTS
        assert set(found["attributes"]) <= ATTRIBUTES
        assert all(address.startswith(("https://evil.example", "mailto:")) for address in found["addresses"])
        assert set(found["rels"]) <= {"noopener noreferrer nofollow _blank"}
        assert found["ran"] == 0
    assert asked == []


SHOWN = {
    "**bold** and *lean* and ~~gone~~": "<p><strong>bold</strong> and <em>lean</em> and <del>gone</del></p>",
    "`a < b` and ``a`b``": "<p><code>a &lt; b</code> and <code>a`b</code></p>",
    "snake_case_name stays, 2 * 3 * 4 too": "<p>snake_case_name stays, 2 * 3 * 4 too</p>",
    "*a **b** c*": "<p><em>a <strong>b</strong> c</em></p>",
    "# One\nTwo": "<h3>One</h3><p>Two</p>",
    "- a\n- b\n  - c\n\nd": "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><p>d</p>",
    "3. a\n4. b\n   - c": '<ol start="3"><li>a</li><li>b<ul><li>c</li></ul></li></ol>',
    "> a\n> b": "<blockquote><p>a\nb</p></blockquote>",
    "a\n\n---\n\nb": "<p>a</p><hr><p>b</p>",
    "one  \ntwo": "<p>one  <br>two</p>",
    "\\*not lean\\*": "<p>*not lean*</p>",
}


@pytest.mark.parametrize(("said", "shown"), SHOWN.items(), ids=SHOWN)
def test_markdown_is_shown_as_it_is_meant(page: Page, said: str, shown: str) -> None:
    assert render(page, "", said) == shown
    assert render(page, "", *growing(said)) == shown


def test_links_are_links_and_pictures_are_links_too(page: Page) -> None:
    rest = 'rel="noopener noreferrer nofollow" target="_blank"'
    shown = render(
        page, "", "[a](https://a.example/b_c_d) ![p](http://a.example/p.png) https://a.example/x. <mailto:a@b.example>"
    )
    assert shown == (
        f'<p><a href="https://a.example/b_c_d" {rest}>a</a> <a href="http://a.example/p.png" {rest}>p</a> '
        f'<a href="https://a.example/x" {rest}>https://a.example/x</a>. '
        f'<a href="mailto:a@b.example" {rest}>mailto:a@b.example</a></p>'
    )


def test_code_is_shown_as_it_was_said_and_can_be_copied(page: Page) -> None:
    shown = render(page, "", "```python\nif a < b:\n\n    **c**\n```\nAfter")
    assert "<span>python</span>" in shown
    assert "<code>if a &lt; b:\n\n    **c**</code>" in shown
    assert shown.endswith("<p>After</p>")
    assert page.evaluate("document.querySelector('#place button').dataset.copy") == "if a < b:\n\n    **c**"


def test_a_table_has_rows_and_sides(page: Page) -> None:
    shown = render(page, "", "| a | b |\n|:-:|--:|\n| 1 | **2** |\n| 3 |")
    assert '<th class="cell-mid">a</th><th class="cell-end">b</th>' in shown
    assert '<td class="cell-end"><strong>2</strong></td>' in shown
    assert shown.count("<td") == 4


@pytest.mark.parametrize("said", SLOW, ids=lambda said: said[:8])
def test_no_text_keeps_the_browser_busy(page: Page, said: str) -> None:
    begun = time.monotonic()
    render(page, "", said)
    assert time.monotonic() - begun < 10
