"""How operators name the parts of a price, in every command that takes them."""

from decimal import Decimal
from typing import Any

import pytest
from typer.testing import CliRunner

from tollkeeper.cli import app
from tollkeeper.cli.price_options import OPTIONS, parts_in
from tollkeeper.cli.speak import Mistake
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.ports.catalog.prices import NewParts, NewTier

CENT = UNITS_PER_USD // 100


def read(**given: Any) -> NewParts:
    return parts_in(dict.fromkeys(OPTIONS) | given)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param(
            {"written_5m": "1.25", "written_1h": "none", "image_input": "0"},
            {"written_5m": Decimal("1.25"), "written_1h": None, "image_input": Decimal(0)},
            id="multipliers",
        ),
        pytest.param({"per_call": "0.01"}, {"per_call": CENT}, id="a call"),
        pytest.param({"per_call": "none"}, {"per_call": None}, id="no call"),
        pytest.param(
            {"tool": ["web_search=0.01", "code=0", "other=none"]},
            {"tools": {"web_search": CENT, "code": 0, "other": None}},
            id="tools",
        ),
        pytest.param(
            {"tier": ["200000=2.5", "300000=3/6", "400000=4/6/0.1", "9=none"]},
            {
                "tiers": {
                    200_000: NewTier(model=Decimal("2.5")),
                    300_000: NewTier(model=Decimal(3), completion=Decimal(6)),
                    400_000: NewTier(model=Decimal(4), completion=Decimal(6), cached=Decimal("0.1")),
                    9: None,
                }
            },
            id="tiers",
        ),
    ],
)
def test_parts_are_read(given: dict[str, Any], parts: dict[str, Any]) -> None:
    assert read(**given) == NewParts(**parts)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"written_5m": "dear"}, "'dear' is not a multiplier"),
        ({"audio_output": "-1"}, "'-1' is not a multiplier"),
        ({"per_call": "-0.01"}, "not a positive amount"),
        ({"per_call": "0.0000000000001"}, "more decimals"),
        ({"tool": ["web_search"]}, "write web_search=0.01"),
        ({"tool": ["a=1", "a=2"]}, "stands there twice"),
        ({"tier": ["200k=2"]}, "'200k' is not a length"),
        ({"tier": ["-5=2"]}, "'-5' is not a length"),
        ({"tier": ["200000=1/2/3/4"]}, "more than three"),
        ({"tier": ["200000="]}, "'' is not a multiplier"),
    ],
)
def test_what_cannot_be_read_is_a_mistake(given: dict[str, Any], told: str) -> None:
    with pytest.raises(Mistake, match=told):
        read(**given)


@pytest.mark.parametrize("command", [("price", "enter"), ("price", "preview"), ("model", "add")], ids=" ".join)
def test_every_command_has_the_same_options(command: tuple[str, str]) -> None:
    # A mistake in the last of them is found before anything is done.
    given = ["--written-5m", "1.25", "--per-call", "0.01", "--tool", "web_search=0.01", "--tier", "long=2"]
    done = CliRunner().invoke(app, [*command, "m", *given])
    assert (done.exit_code, "'long' is not a length of input" in done.output) == (1, True)
