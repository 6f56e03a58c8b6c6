"""Requests of every kind to the operator API, made by schemathesis from the document that it publishes: right ones and
wrong ones, with a key of every scope. Tests and proofs send them.

Rules of this file
1. No answer is a fault of ours, every status is documented, and every answer has its form.
2. Most are sent by somebody who may do it.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.request import urlopen

import msgspec
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks
from schemathesis.core.parameters import ParameterLocation

from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import Act
from tollkeeper.office.wire import PREFIX

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
WRONG_IS_REFUSED = checks.negative_data_rejection


class ApiCases:
    """An operator API, keys of it, and the document that it publishes."""

    def __init__(self, base: str, keys: Mapping[Scope, str]) -> None:
        self._url = f"{base}{PREFIX}"
        self._keys = keys
        with urlopen(f"{self._url}/openapi.json", timeout=20) as answer:
            self._document = schemathesis.openapi.from_dict(msgspec.json.decode(answer.read()))

    def send(
        self, act: Act[Any, Any], examples: int, heard: Callable[[int], None], *, by_chance: bool, account: int = 1
    ) -> None:
        """Send so many requests for an act; `heard` gets each status. Raise what schemathesis found. `account`: a
        customer who is there, to be acted upon in some of them."""
        operation = self._document[act.path][act.method]

        def by(mode: GenerationMode) -> st.SearchStrategy[tuple[GenerationMode, Any]]:
            return st.tuples(st.just(mode), operation.as_strategy(generation_mode=mode))

        @settings(
            max_examples=examples,
            derandomize=not by_chance,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(sent=st.one_of(*map(by, MODES)), scope=SCOPES, on_account=st.booleans())
        def send(sent: tuple[GenerationMode, Any], scope: Scope, on_account: bool) -> None:
            mode, case = sent
            # A wrong request must stay wrong.
            if on_account and mode is GenerationMode.POSITIVE and "account" in act.in_path:
                case.path_parameters["account"] = account
            headers = {"Authorization": f"Bearer {self._keys[scope]}"}
            answer = case.call(base_url=self._url, headers=headers)
            heard(answer.status_code)
            judged = CHECKS if _is_sent_as_drawn(case) else [each for each in CHECKS if each is not WRONG_IS_REFUSED]
            case.validate_response(answer, checks=judged, headers=headers)

        send()


def _is_sent_as_drawn(case: Any) -> bool:
    """Whether what is wrong with a request goes out with it: headers are ours, and a list of nothing is left out of an
    address."""
    wrong = [place for place, drawn in case.meta.components.items() if drawn.mode is GenerationMode.NEGATIVE]
    nothing = any(value in ([], {}, None) for value in (case.query or {}).values())
    return ParameterLocation.HEADER not in wrong and not nothing
