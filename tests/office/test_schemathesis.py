"""Requests of every kind to the operator API, made from the document that it publishes (tools.api_cases).

`SCHEMATHESIS_EXAMPLES=200` sends more of them, others each time.
"""

import os
from http.client import HTTPConnection
from typing import Any

import msgspec
import pytest

from tests.command_line import tollkeeper
from tests.office.serving import Served
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import Act
from tollkeeper.office.table import ACTS
from tollkeeper.office.wire import PREFIX
from tools.api_cases import ApiCases

pytestmark = pytest.mark.not_quick

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "0"))
FEW = 6


@pytest.fixture(scope="module")
def published(served: Served) -> ApiCases:
    """The document, and a customer to be acted upon: account 1."""
    assert tollkeeper(served.settings, "account", "create", "Ada").stdout == "account 1\n"
    return ApiCases(served.base, served.keys)


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.name)
def test_whatever_is_sent_is_answered_as_the_document_says(published: ApiCases, act: Act[Any, Any]) -> None:
    statuses: list[int] = []
    published.send(act, EXAMPLES or FEW, statuses.append, by_chance=bool(EXAMPLES))
    assert statuses


@pytest.mark.parametrize("name", ["a%0Ab", "a%0A"])
def test_a_line_break_in_a_name_is_answered_in_the_form_of_the_api(served: Served, name: str) -> None:
    headers = {"Authorization": f"Bearer {served.keys[Scope.READ]}"}
    connection = HTTPConnection("localhost", served.port, timeout=20)
    connection.request("GET", f"{PREFIX}/groups/{name}", headers=headers)
    answer = connection.getresponse()
    assert (answer.status, msgspec.json.decode(answer.read())["error"]["code"]) == (404, "not_found")
    connection.close()
