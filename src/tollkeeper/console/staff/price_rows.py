"""Tiers and tools on the form of a price: rows of fields with the same names, as many as there are and some empty ones.

Rules of this file
1. Only rows that are others than now are asked for, so that the rest stays to the last digit.
2. A tier or a tool that is no longer among the rows ends. An empty row is none. A form without any rows, empty ones
   included, says nothing of them.
"""

from typing import Any

from tollkeeper.accounts.price_usd import NONE
from tollkeeper.console.forms import Form
from tollkeeper.office.price_form import PriceForm

EMPTY_ROWS = 2
TIER_FIELDS = ("tier_above", "tier_unit", "tier_cached", "tier_output")
TOOL_FIELDS = ("tool_name", "tool_usd")
# What one row has in its fields.
FieldTexts = tuple[str, ...]
# As people write and read lengths: 200,000.
GROUPING = str.maketrans("", "", ", _")


def tier_rows(sent: Form, form: PriceForm, *, is_sent: bool) -> list[FieldTexts]:
    """Length, input, cached input and output, as they are typed."""
    now: list[FieldTexts] = [(f"{tier.above_tokens:,}", tier.unit, tier.cached, tier.output) for tier in form.tiers]
    return _with_empty(_sent(sent, TIER_FIELDS) if is_sent else now, len(TIER_FIELDS))


def tool_rows(sent: Form, form: PriceForm, *, is_sent: bool) -> list[FieldTexts]:
    """Name, and USD for a use."""
    now: list[FieldTexts] = [(tool.name, tool.usd) for tool in form.tools]
    return _with_empty(_sent(sent, TOOL_FIELDS) if is_sent else now, len(TOOL_FIELDS))


def changed_tiers(sent: Form, form: PriceForm) -> list[dict[str, Any]]:
    """As `usd.tiers` of a change has them. What cannot be read is left to it to refuse."""
    if not (form.has_per_call and sent.every("tier_above")):
        return []
    now = {str(tier.above_tokens): (tier.unit, tier.cached, tier.output) for tier in form.tiers}
    rows = [(length.translate(GROUPING), *figures) for length, *figures in _sent(sent, TIER_FIELDS)]
    found = [_tier(*row) for row in rows if row[0] and now.get(row[0]) != row[1:]]
    ended = now.keys() - {row[0] for row in rows}
    return found + [{"above_tokens": length, "unit": None} for length in sorted(ended)]


def changed_tools(sent: Form, form: PriceForm) -> dict[str, str | None]:
    """As `parts.tools_usd` of a change has them. A tool without a price ends."""
    if not (form.has_per_call and sent.every("tool_name")):
        return {}
    now = {tool.name: tool.usd for tool in form.tools}
    rows = {name: usd for name, usd in _sent(sent, TOOL_FIELDS) if name}
    found: dict[str, str | None] = {name: usd or None for name, usd in rows.items() if now.get(name, "") != usd}
    return found | dict.fromkeys(now.keys() - rows.keys())


def _tier(length: str, unit: str, cached: str, output: str) -> dict[str, Any]:
    return {"above_tokens": length, "unit": unit, "output": output or None, "cached": cached or NONE}


def _sent(form: Form, names: tuple[str, ...]) -> list[FieldTexts]:
    """The rows that have anything in them."""
    return [row for row in zip(*map(form.every, names), strict=False) if any(row)]


def _with_empty(rows: list[FieldTexts], width: int) -> list[FieldTexts]:
    return rows + [("",) * width] * EMPTY_ROWS
