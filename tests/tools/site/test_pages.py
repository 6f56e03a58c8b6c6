"""Pages of the repository as pages of the site."""

from pathlib import PurePosixPath

from tools.site.pages import CHINESE, ENGLISH, SiteFile, fitting

PLACES = {
    "README.md": (ENGLISH, "project/readme.md"),
    "docs/guides/sdks.md": (ENGLISH, "guides/sdks.md"),
    "docs/decisions/README.md": (ENGLISH, "decisions/index.md"),
    "docs/pictures/home.png": (ENGLISH, "pictures/home.png"),
    "docs/zh/sdks.md": (CHINESE, "sdks.md"),
    "docs/zh/start.md": (CHINESE, "start.md"),
}
FILES = {
    PurePosixPath(source): SiteFile(PurePosixPath(source), language, PurePosixPath(place))
    for source, (language, place) in PLACES.items()
}


def fitted(source: str, text: str) -> str:
    return fitting(FILES[PurePosixPath(source)], text, FILES)


def test_links_lead_to_where_the_pages_lie_in_the_site() -> None:
    assert fitted("README.md", "[SDKs](docs/guides/sdks.md#refusals)") == "[SDKs](../guides/sdks.md#refusals)"
    assert fitted("docs/guides/sdks.md", "[why](../decisions)") == "[why](../decisions/index.md)"
    assert fitted("README.md", '<img src="docs/pictures/home.png">') == '<img src="../pictures/home.png">'


def test_a_link_to_a_file_that_is_not_in_the_site_becomes_text() -> None:
    assert fitted("docs/guides/sdks.md", "see [`test_x`](../../tests/test_x.py).") == "see `test_x`."


def test_chinese_pages_link_to_english_ones_as_they_are_built() -> None:
    assert fitted("docs/zh/start.md", "[SDK](sdks.md)") == "[SDK](sdks.md)"
    assert fitted("docs/zh/start.md", "[vendors](../guides/sdks.md#a)") == "[vendors](../guides/sdks.html#a)"


def test_links_in_code_and_links_to_other_servers_stay() -> None:
    for text in ("```\n[x](README.md)\n```", "`[x](y.md)`", "[x](https://example.com/y.md)", "[x](#below)"):
        assert fitted("docs/guides/sdks.md", text) == text


def test_lines_of_chinese_are_joined_without_a_space() -> None:
    assert fitted("docs/zh/start.md", "额度是\n预付的。\n\n下一段") == "额度是预付的。\n\n下一段"
    assert fitted("README.md", "额度是\n预付的。") == "额度是\n预付的。"


def test_a_list_that_follows_text_at_once_is_a_list_in_the_site_too() -> None:
    assert fitted("README.md", "These:\n* one\n  more\n* two") == "These:\n\n* one\n  more\n* two"
    assert fitted("README.md", "```\ntext\n* no list\n```") == "```\ntext\n* no list\n```"
