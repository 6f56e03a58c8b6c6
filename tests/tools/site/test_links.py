"""What is found wrong with a built site."""

from pathlib import Path

import pytest

from tools.site.links import problems

PAGE = (
    '<h1 id="top">Page</h1><a href="other.html#there">other</a><img src="a.png"><a href="https://example.com/x">x</a>'
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "other.html").write_text(
        '<h1 id="there">Other</h1><a href="index.html#top">back</a><a href="#there">up</a>'
    )
    (tmp_path / "a.png").write_bytes(b"")
    return tmp_path


def test_a_site_whose_links_all_lead_somewhere_has_no_problems(site: Path) -> None:
    assert problems(site) == []


@pytest.mark.parametrize(
    ("added", "told"),
    [
        ('<a href="gone.html">x</a>', "index.html: dead link: gone.html"),
        ('<a href="other.html#gone">x</a>', "index.html: no such heading: other.html#gone"),
        ('<a href="#gone">x</a>', "index.html: no such heading: #gone"),
        ('<img src="gone.png">', "index.html: dead link: gone.png"),
        ('<script src="https://cdn.example/x.js"></script>', "index.html: fetches https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="//fonts.example/css">', "index.html: fetches //fonts.example/css"),
        ('<pre class="mermaid">', "index.html: has a diagram whose script would come from another server"),
    ],
)
def test_what_leads_nowhere_or_is_fetched_elsewhere_is_told(site: Path, added: str, told: str) -> None:
    (site / "index.html").write_text(PAGE + added)
    assert problems(site) == [told]


def test_a_style_that_fetches_a_font_elsewhere_is_told(site: Path) -> None:
    (site / "site.css").write_text("@font-face { src: url(https://fonts.example/a.woff2) }")
    assert problems(site) == ["site.css: fetches https://fonts.example/a.woff2"]
