"""What the gateway answers is what its OpenAPI file says."""

import json
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest
from jsonschema.validators import Draft202012Validator

from tools.documented.scene import Scene
from tools.reference import FOLDER

# The deployment is made with the first of them.
pytestmark = pytest.mark.timeout(900)

DOCUMENT: dict[str, Any] = json.loads((FOLDER / "openapi.json").read_text())
CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
ASKED: list[tuple[str, str, object]] = [
    ("GET", "/v1/models", None),
    ("GET", "/v1/models/{model}", None),
    ("GET", "/v2/account/balance", None),
    ("GET", "/v2/token/balance", None),
    ("GET", "/v2/calls/{id}", None),
    ("GET", "/v1/dashboard/billing/subscription", None),
    ("GET", "/v1/dashboard/billing/usage", None),
    ("GET", "/prices.json", None),
    ("POST", "/v1/chat/completions", CHAT),
    ("POST", "/v1/messages", CHAT | {"max_tokens": 20}),
    ("POST", "/v1/messages/count_tokens", CHAT),
    ("POST", "/v1/responses", {"model": "gpt-4o", "input": "Hello"}),
    ("POST", "/v1/embeddings", {"model": "text-embedding-3-small", "input": "Hello"}),
    ("POST", "/v1/images/generations", {"model": "dall-e-2", "prompt": "A lighthouse"}),
    ("POST", "/v2/quote", CHAT),
    ("POST", "/api/token", {"api_key": "sk-…"}),
]
REFUSED: list[tuple[str, str, object, str]] = [
    ("POST", "/v1/chat/completions", {"model": "gpt-4o"}, "400"),
    ("POST", "/v1/messages", CHAT | {"model": "none", "max_tokens": 9}, "404"),
    ("GET", "/v2/calls/{id}", None, "404"),
]


@pytest.mark.parametrize(("method", "path", "body"), ASKED, ids=[f"{method} {path}" for method, path, _ in ASKED])
def test_an_answer_is_as_the_file_says(method: str, path: str, body: object, scene: Scene) -> None:
    status, answer = ask(scene, method, path.replace("{model}", "gpt-4o").replace("{id}", scene.call_id), body)
    assert status == "200", answer
    assert problems(method, path, status, answer) == []
    sent = DOCUMENT["paths"][path][method.lower()].get("requestBody")
    if sent:
        assert list(validator(sent["content"]["application/json"]["schema"]).iter_errors(body)) == []


@pytest.mark.parametrize(("method", "path", "body", "status"), REFUSED, ids=[row[1] for row in REFUSED])
def test_a_refusal_is_as_the_file_says(method: str, path: str, body: object, status: str, scene: Scene) -> None:
    found, answer = ask(scene, method, path.replace("{id}", "none"), body)
    assert found == status
    assert problems(method, path, status, answer) == []


def ask(scene: Scene, method: str, path: str, body: object) -> tuple[str, object]:
    told = None if body is None else json.dumps(body, ensure_ascii=False).replace("sk-…", scene.key).encode()
    headers = {"Authorization": f"Bearer {scene.key}", "Content-Type": "application/json"}
    connection = HTTPConnection(scene.base.removeprefix("http://"), timeout=60)
    with closing(connection):
        connection.request(method, path, told, headers)
        answer = connection.getresponse()
        return str(answer.status), json.load(answer)


def problems(method: str, path: str, status: str, answer: object) -> list[str]:
    response = DOCUMENT["paths"][path][method.lower()]["responses"][status]
    if "$ref" in response:
        response = DOCUMENT["components"]["responses"][response["$ref"].rpartition("/")[2]]
    schema = next(iter(response["content"].values()))["schema"]
    return [problem.message for problem in validator(schema).iter_errors(answer)]


def validator(schema: object) -> Draft202012Validator:
    return Draft202012Validator({"allOf": [schema], "components": DOCUMENT["components"]})
