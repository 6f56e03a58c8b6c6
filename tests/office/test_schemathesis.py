"""Requests of every kind to the operator API, made from the document that it publishes: right ones and wrong ones, with
a key of every scope. No answer is a fault of ours, every status is documented, and every answer has its form.

`SCHEMATHESIS_EXAMPLES=200` sends more of them, others each time.
"""

import os
from http.client import HTTPConnection
from typing import Any
from urllib.request import urlopen

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks

from tests.command_line import tollkeeper
from tests.office.serving import Served
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import Act
from tollkeeper.office.table import ACTS
from tollkeeper.office.wire import PREFIX

pytestmark = pytest.mark.not_quick

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "0"))
FEW = 6
# Most are sent by somebody who may do it.
SCOPES = st.sampled_from([*[Scope.EVERYTHING] * 5, *Scope])
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
CHECKS: Any = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]


@pytest.fixture(scope="module")
def published(served: Served) -> Any:
    """The document, and a customer to be acted upon: account 1."""
    assert tollkeeper(served.settings, "account", "create", "Ada").stdout == "account 1\n"
    with urlopen(f"{served.base}{PREFIX}/openapi.json", timeout=20) as answer:  # noqa: S310 (our own console)
        return schemathesis.openapi.from_dict(msgspec.json.decode(answer.read()))


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.name)
def test_whatever_is_sent_is_answered_as_the_document_says(served: Served, published: Any, act: Act[Any, Any]) -> None:
    operation = published[act.path][act.method]

    def by(mode: GenerationMode) -> st.SearchStrategy[tuple[GenerationMode, Any]]:
        return st.tuples(st.just(mode), operation.as_strategy(generation_mode=mode))

    @settings(
        max_examples=EXAMPLES or FEW,
        derandomize=not EXAMPLES,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(sent=st.one_of(*map(by, MODES)), scope=SCOPES, on_account=st.booleans())
    def send(sent: tuple[GenerationMode, Any], scope: Scope, on_account: bool) -> None:
        mode, case = sent
        # A wrong request must stay wrong.
        if on_account and mode is GenerationMode.POSITIVE and "account" in act.in_path:
            case.path_parameters["account"] = 1
        headers = {"Authorization": f"Bearer {served.keys[scope]}"}
        answer = case.call(base_url=f"{served.base}{PREFIX}", headers=headers)
        case.validate_response(answer, checks=CHECKS, headers=headers)

    send()


@pytest.mark.parametrize("name", ["a%0Ab", "a%0A"])
def test_a_line_break_in_a_name_is_answered_in_the_form_of_the_api(served: Served, name: str) -> None:
    headers = {"Authorization": f"Bearer {served.keys[Scope.READ]}"}
    connection = HTTPConnection("localhost", served.port, timeout=20)
    connection.request("GET", f"{PREFIX}/groups/{name}", headers=headers)
    answer = connection.getresponse()
    assert (answer.status, msgspec.json.decode(answer.read())["error"]["code"]) == (404, "not_found")
    connection.close()
