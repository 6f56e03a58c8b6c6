"""The gateway's pages have the console's colours, and read what browsers send."""

import re
from pathlib import Path

import pytest

from tollkeeper.core.errors import GatewayError, MalformedBody, MissingParameter
from tollkeeper.edge.pages.balance import key_in

SOURCE = Path(__file__).parents[3] / "src" / "tollkeeper"
TOKEN = re.compile(r"(--[a-z0-9-]+): ?(#[0-9a-f]{3,6})")


def themes(file: Path, dark: str) -> tuple[dict[str, str], dict[str, str]]:
    """The tokens of light and of dark; `dark` is how the rule of the latter begins."""
    text = file.read_text()
    begin = text.index(dark)
    return dict(TOKEN.findall(text[:begin])), dict(
        TOKEN.findall(text[begin:].partition("\n}")[0].partition("\nbody")[0])
    )


def test_colours_that_both_name_are_the_same_in_both_themes() -> None:
    console = themes(SOURCE / "console" / "assets" / "console.css", '[data-bs-theme="dark"]')
    gateway = themes(SOURCE / "edge" / "pages" / "assets" / "pages.css", "@media (prefers-color-scheme: dark)")
    for ours, theirs in zip(gateway, console, strict=True):
        shared = ours.keys() & theirs.keys()
        assert len(shared) >= 5
        assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}


@pytest.mark.parametrize(
    ("body", "key"),
    [(b"api_key=sk-a", "sk-a"), (b"api_key=+sk-a%0D%0A", "sk-a"), (b"x=1&api_key=sk-a&api_key=sk-b", "sk-a")],
)
def test_a_key_is_taken_out_of_a_form_without_the_space_around_it(body: bytes, key: str) -> None:
    assert key_in(body) == key


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (b"", MissingParameter),
        (b"api_key=+", MissingParameter),
        (b'{"api_key": "sk-a"}', MissingParameter),
        (b"\xff", MalformedBody),
        (b"a=1&b=1&c=1&d=1&e=1", MalformedBody),
    ],
)
def test_a_form_without_a_key_is_refused(body: bytes, refusal: type[GatewayError]) -> None:
    with pytest.raises(refusal):
        key_in(body)
