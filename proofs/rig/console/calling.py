"""Calls by the `openai` package with keys from the console's pages, and where they are seen afterwards."""

from decimal import Decimal

import msgspec
from openai import APIStatusError, OpenAI

from proofs.rig.console.place import Place
from proofs.rig.console.visitor import Visitor
from proofs.rig.patience import came_true

UNITS_PER_USD = 500_000 * 1_000_000
# Of a model token, in units: as the models of the place are entered.
MULTIPLIERS = {"gpt-4o": 1_250_000, "gpt-4o-mini": 75_000}
COMPLETION = 4
SEEN_WITHIN_SECONDS = 10.0


class Call(msgspec.Struct, frozen=True):
    request_id: str
    model: str
    input_tokens: int
    output_tokens: int

    @property
    def charge(self) -> int:
        """What it costs in units, reckoned without the product."""
        return MULTIPLIERS[self.model] * (self.input_tokens + COMPLETION * self.output_tokens)


def usd_of(units: int) -> str:
    """`0.0003075`: to the last unit, as pages write it."""
    text = f"{Decimal(units) / UNITS_PER_USD:f}"
    whole, _, decimals = text.partition(".")
    return f"{int(whole):,}.{decimals.ljust(2, '0')}"


def client(place: Place, key: str) -> OpenAI:
    return OpenAI(base_url=f"{place.node.base}/v1", api_key=key, max_retries=0)


def called(place: Place, key: str, *, model: str = "gpt-4o", words: int = 5) -> Call:
    """A call that must be answered."""
    messages = [{"role": "user", "content": f"Hello [[tokens={words}]]"}]
    raw = client(place, key).chat.completions.with_raw_response.create(model=model, messages=messages)  # type: ignore[arg-type]
    usage = raw.parse().usage
    assert usage is not None
    return Call(raw.headers["x-request-id"], model, usage.prompt_tokens, usage.completion_tokens)


def refused_with(place: Place, key: str, model: str) -> int:
    """The status that a call gets; 200 is an answer."""
    try:
        called(place, key, model=model, words=1)
    except APIStatusError as refusal:
        return refusal.status_code
    return 200


def in_usage(visitor: Visitor, request_id: str) -> dict[str, str]:
    """What the usage page says of a call, once it is settled."""

    def is_there() -> bool:
        visitor.go(f"/usage?id={request_id}")
        return visitor.page.locator("table.calls tbody tr").count() == 1

    assert came_true(is_there, within_seconds=SEEN_WITHIN_SECONDS), "the call is not in the usage log"
    return lines(visitor)[0]


def lines(visitor: Visitor) -> list[dict[str, str]]:
    """The calls of the open usage page, with exact amounts."""
    found = []
    for row in visitor.page.locator("table.calls tbody tr").all():
        tokens = [each.inner_text().replace(",", "") for each in row.locator("td.count").all()]
        found.append(
            {
                "id": (row.locator("td.when a").get_attribute("href") or "").rpartition("/")[2],
                "model": row.locator("td.model").inner_text().strip(),
                "key": row.locator("td.key").inner_text().strip(),
                "input": tokens[0],
                "cached": tokens[1],
                "output": tokens[2],
                "ended": row.locator("td.ended").inner_text().strip(),
                "usd": (row.locator("td.usd span").get_attribute("title") or "").removeprefix("$"),
            }
        )
    return found
