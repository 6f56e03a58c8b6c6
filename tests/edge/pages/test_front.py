"""The front page names what the gateway serves."""

import re
from collections.abc import Sequence

import pytest

from tollkeeper.edge.pages.pages import GatewayPages
from tollkeeper.edge.pages.site import GatewaySite
from tollkeeper.edge.routes import ROUTES
from tollkeeper.look.words import LANGUAGES
from tollkeeper.ports.customers.lots import LotRecord

SITE = GatewaySite(name="Tollkeeper", main_url="https://main.test", cut_seconds=100, longest_seconds=600)
# It makes nothing: a question about another call.
COUNTED = "/v1/messages/count_tokens"
CALLS = {route.path for route in ROUTES if route.method == "POST" and route.path.startswith("/v1/")} - {COUNTED}
SHOWN = re.compile(r"<code>(/v1/[a-z/]+)</code>")


class NoLots:
    async def of_key(self, key_id: int) -> Sequence[LotRecord]:
        return ()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_front_page_names_every_call_of_the_route_table(language: str) -> None:
    page = GatewayPages(SITE, NoLots()).front[language].body.decode()
    assert set(SHOWN.findall(page)) == CALLS
    assert "Anthropic" in page
