"""The OpenAPI document of the HTTP API."""

import json
from typing import Any

import msgspec
from openapi_spec_validator import OpenAPIV31SpecValidator

from tollkeeper.edge.routes import ROUTES
from tools.openapi.document import described, document, openapi_document
from tools.openapi.operations import PATHS
from tools.reference import FOLDER, operator_document


def test_the_document_is_valid_by_the_standard() -> None:
    assert list(OpenAPIV31SpecValidator(_document()).iter_errors()) == []


def test_the_published_file_is_what_the_code_says() -> None:
    written = (FOLDER / "openapi.json").read_text()
    assert written == "".join(openapi_document()) + "\n", "run 'make docs'"


def test_the_operator_apis_document_is_valid_and_published() -> None:
    written = (FOLDER / "operator-openapi.json").read_text()
    assert written == "".join(operator_document()) + "\n", "run 'make docs'"
    assert list(OpenAPIV31SpecValidator(json.loads(written)).iter_errors()) == []


def test_every_route_for_programs_is_described_and_nothing_else() -> None:
    assert {route.path for route in described()} == PATHS.keys()
    told = {(path, method.upper()) for path, methods in _document()["paths"].items() for method in methods}
    assert told == {(route.path, route.method) for route in described()}
    assert {route.path for route in ROUTES} - PATHS.keys() == {
        *("/", "/en", "/zh", "/balance", "/en/balance", "/zh/balance"),
        *("/pages.css", "/favicon.ico", "/robots.txt"),
    }


def test_parameters_that_nobody_takes_are_not_listed() -> None:
    listed = _document()["components"]["schemas"]["ChatCompletionRequest"]["properties"]
    assert "model" in listed
    assert "api_base" not in listed


def test_every_refusal_is_told_with_its_words() -> None:
    assert "`insufficient_account_quota`: The account's balance is too small" in json.dumps(_document())


def _document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(msgspec.json.encode(document()))
    return found
