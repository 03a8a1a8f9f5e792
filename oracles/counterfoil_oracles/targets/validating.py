"""Holding every message against the protocol's JSON Schema, for whoever writes a target."""

from __future__ import annotations

import json
from typing import Any, Final

from counterfoil_oracles.targets.target import HarnessBroken
from counterfoil_spec.protocol import schema

_SHOWN: Final = 200


class Validator:
    """Called with each line; raises HarnessBroken for one that does not fit, naming where."""

    def __init__(self) -> None:
        import jsonschema

        requests, replies = schema()["anyOf"]
        definitions = schema()["$defs"]
        self._requests: Any = jsonschema.Draft202012Validator({**requests, "$defs": definitions})
        self._replies: Any = jsonschema.Draft202012Validator({**replies, "$defs": definitions})

    def __call__(self, direction: str, line: bytes) -> None:
        """One line of a direction: request or reply."""
        validator = self._requests if direction == "request" else self._replies
        try:
            message = json.loads(line)
        except ValueError as error:
            raise HarnessBroken(f"a {direction} is no JSON: {error}: {line[:_SHOWN]!r}") from None
        if not isinstance(message, dict):
            raise HarnessBroken(f"a {direction} is no JSON object: {line[:_SHOWN]!r}")
        errors = sorted(validator.iter_errors(message), key=lambda error: len(error.absolute_path), reverse=True)
        if errors:
            raise HarnessBroken(f"a {direction} does not fit the schema: {errors[0].message[:_SHOWN]}")
