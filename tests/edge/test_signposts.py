"""What is told to whoever asks for an endpoint that is not there, and in which protocol's words."""

import pytest

from tollkeeper.core.addresses import Address, AddressBook
from tollkeeper.core.errors import EndpointNotFound, NotFound, ResponsesNotStored
from tollkeeper.edge.refusals import ANTHROPIC, LISTED
from tollkeeper.edge.routes import ROUTES, RouteTable

TABLE = RouteTable(ROUTES, AddressBook({}))


@pytest.mark.parametrize(
    ("method", "path", "told"),
    [
        ("POST", "/v1/messages/batches", "Calls are answered at once here: use POST /v1/messages."),
        ("GET", "/v1/messages/batches/msgbatch_1", "Calls are answered at once here: use POST /v1/messages."),
        ("GET", "/v1/messages/msg_1", "Of Anthropic's Messages there are POST /v1/messages and POST"),
        ("POST", "/v1/messages/", "Ask for /v1/messages, in small letters and without a slash at its end."),
        ("POST", "/v1/responses/", "Ask for /v1/responses, in small letters and without a slash at its end."),
        ("GET", "/v1/responses/resp_1", "Responses are not stored here"),
        ("POST", "/v1/responses/compact", "Responses are not stored here"),
    ],
)
def test_what_was_asked_and_what_is_there_instead_are_named(method: str, path: str, told: str) -> None:
    with pytest.raises(NotFound) as missed:
        TABLE.find(Address.MAIN, path, method)
    assert missed.value.message.startswith(f"There is no endpoint {method} {path} here. {told}")
    assert missed.value.message.endswith("Nothing was charged.")


def test_only_what_lies_below_responses_is_one_that_others_store() -> None:
    for path, kind in [("/v1/responses/resp_1", ResponsesNotStored), ("/v1/responses/", EndpointNotFound)]:
        with pytest.raises(NotFound) as missed:
            TABLE.find(Address.MAIN, path, "GET")
        assert type(missed.value) is kind


@pytest.mark.parametrize(
    ("path", "style"), [("/v1/messages/batches", ANTHROPIC), ("/v1/v1/messages", LISTED), ("/v1/nothing", LISTED)]
)
def test_unknown_paths_take_a_key_from_either_header(path: str, style: object) -> None:
    assert TABLE.style(Address.MAIN, path) is style
    assert TABLE.style(Address.MAIN, path).key_header == b"x-api-key"
