"""Money, times and browsers as people read them."""

from datetime import UTC, datetime

import pytest

from tollkeeper.console.figures import browser, exact, moment, usd
from tollkeeper.console.paths import own_path
from tollkeeper.console.seals import Seals
from tollkeeper.core.money.amounts import UNITS_PER_USD

CENT = UNITS_PER_USD // 100


@pytest.mark.parametrize(
    ("amount", "used", "text"),
    [
        (0, False, "$0.00"),
        (1, False, "<$0.01"),
        (CENT - 1, True, "<$0.01"),
        (CENT, False, "$0.01"),
        (2 * CENT - 1, False, "$0.01"),
        (2 * CENT - 1, True, "$0.02"),
        (1_234_567 * CENT, False, "$12,345.67"),
        (-CENT, True, "-$0.01"),
    ],
)
def test_money_has_two_decimals_and_is_never_shown_as_nothing(amount: int, used: bool, text: str) -> None:
    assert usd(amount, used=used) == text


def test_the_exact_amount_is_told_to_its_last_unit() -> None:
    assert exact(1) == "$0.000000000002"
    assert exact(-UNITS_PER_USD) == "-$1.00"
    assert exact(1_200 * UNITS_PER_USD + CENT // 10) == "$1,200.001"


def test_a_moment_says_its_zone() -> None:
    at = datetime(2026, 11, 9, 14, 5, tzinfo=UTC)
    assert moment(at, "en") == '<time datetime="2026-11-09T14:05:00+00:00">9 Nov 2026, 14:05 UTC</time>'
    assert "2026年11月9日 14:05 UTC" in moment(at, "zh")


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML) Chrome/150.0 Safari/537.36", "Chrome, Linux"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 20_0 like Mac OS X) Version/20.0 Safari/604.1", "Safari, iPhone"),
        ("curl/8.1", "curl"),
        ("a test", ""),
    ],
)
def test_a_browser_is_told_by_what_it_calls_itself(agent: str, told: str) -> None:
    assert browser(agent) == told


@pytest.mark.parametrize("path", ["/", "/usage?model=gpt-4o&day=2026-11-09", "/keys/17"])
def test_our_own_paths_are_taken(path: str) -> None:
    assert own_path(path) == path


@pytest.mark.parametrize(
    "path", ["", "//x", "/\\x", "https://x", "/a b", "/%0d%0ax: y\r\n", "javascript:x", "/" + "a" * 500]
)
def test_others_lead_home(path: str) -> None:
    assert own_path(path) == "/"


def test_what_is_sealed_is_for_one_visitor_and_one_purpose() -> None:
    seals = Seals(b"a secret of the test's own")
    sealed = seals.seal("words", visitor="a", purpose="p")
    assert "words" not in sealed
    assert seals.opened(sealed, visitor="a", purpose="p") == "words"
    assert seals.opened(sealed, visitor="b", purpose="p") is None
    assert seals.opened(sealed, visitor="a", purpose="q") is None
    assert Seals(b"another").opened(sealed, visitor="a", purpose="p") is None
    assert seals.opened("\N{SNOWMAN}", visitor="a", purpose="p") is None


def test_a_stranger_without_a_cookie_has_no_token() -> None:
    seals = Seals(b"a secret of the test's own")
    assert not seals.is_form_token("", seals.form_token(""))
