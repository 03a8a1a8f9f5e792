"""C libraries as targets: what implements counterfoil_target.h, loaded through cffi; no JSON in between."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles.targets.target import HarnessBroken
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.protocol import (
    PROTOCOL,
    Errored,
    Identity,
    Profile,
    Refusal,
    Skipped,
    TargetOutcome,
    TargetStep,
    Value,
    element_bits,
)

HEADER: Final = Path(__file__).with_name("counterfoil_target.h")
_NULL, _BOOL, _INTEGER, _FLOAT, _TEXT, _LIST, _TABLE, _REFERENCE, _ELEMENTS, _OTHER = range(10)
_RETURNED, _REFUSED, _SKIPPED, _ERRORED = range(4)
_MOST_ITEMS: Final = 1 << 24
_DEEPEST: Final = 16


def declarations() -> str:
    """The header's types and functions, as cffi reads them."""
    text = HEADER.read_text()
    types = text[text.index("enum cft_kind") : text.index("/* ---- reading arguments")]
    functions = text[text.index("const cft_identity *counterfoil_target_start") : text.index("#ifdef __cplusplus\n}")]
    return types + functions


class Library:
    """A loaded library. It runs in this process: what brings a process down brings this one down."""

    def __init__(self, path: str) -> None:
        import cffi

        self._ffi: Any = cffi.FFI()
        self._ffi.cdef(declarations())
        try:
            library: Any = self._ffi.dlopen(str(Path(path).resolve()))
            found = library.counterfoil_target_start()
        except (OSError, AttributeError) as error:
            raise HarnessBroken(f"{path} is no target: {error}") from None
        if not found or found.protocol != PROTOCOL:
            raise HarnessBroken(f"{path} speaks another protocol than {PROTOCOL}")
        self._lib = library
        self.identity = Identity(
            protocol=PROTOCOL,
            name=self._words(found.name),
            version=self._words(found.version),
            language="C",
            chapters=self._texts(found.chapters),
            dtypes=self._texts(found.dtypes),
            commands=self._texts(found.commands),
        )

    def adopt(self, profile: Profile) -> str | None:
        """A library keeps to any profile: it is asked nothing else."""
        return None

    def run(self, steps: Sequence[TargetStep], fresh: bool) -> list[TargetOutcome]:
        """Each step in turn."""
        if fresh:
            self._lib.counterfoil_target_reset()
        return [self._run(step) for step in steps]

    def close(self) -> None:
        """Stop it."""
        self._lib.counterfoil_target_stop()

    def _run(self, step: TargetStep) -> TargetOutcome:
        kept: list[Any] = []
        asked, outcome = self._ffi.new("cft_step *"), self._ffi.new("cft_outcome *")
        asked.command = self._text(step.do, kept)
        if step.bind is not None:
            asked.bind = self._text(step.bind, kept)
        self._write(self._ffi.addressof(asked, "arguments"), step.args, kept)
        self._lib.counterfoil_target_run(asked, outcome)
        return self._outcome(outcome)

    def _outcome(self, outcome: Any) -> TargetOutcome:
        message = self._words(outcome.message) if outcome.message else ""
        if outcome.kind == _RETURNED:
            return Value(self._read(outcome.value, 0))
        if outcome.kind == _REFUSED:
            rule = self._words(outcome.rule) if outcome.rule else None
            return Refusal(rule=rule, message=message or None if rule else message)
        if outcome.kind == _SKIPPED:
            return Skipped(message)
        if outcome.kind == _ERRORED:
            return Errored(message)
        raise HarnessBroken(f"the target broke the harness: {outcome.kind} is no kind of outcome")

    # --- to C --------------------------------------------------------------------------------------------------------

    def _text(self, text: str, kept: list[Any]) -> Any:
        kept.append(self._ffi.new("char[]", text.encode()))
        return kept[-1]

    def _write(self, into: Any, data: Any, kept: list[Any]) -> None:
        match data:
            case None:
                into.kind = _NULL
            case bool():
                into.kind, into.integer = _BOOL, data
            case int() if -(2**63) <= data < 2**63:
                into.kind, into.integer = _INTEGER, data
            case str():
                into.kind, into.text = _TEXT, self._text(data, kept)
            case {"ref": str(name)}:
                into.kind, into.text = _REFERENCE, self._text(name, kept)
            case {"float": str(bits)}:
                into.kind, into.number = _FLOAT, struct.unpack(">d", bytes.fromhex(bits))[0]
            case list():
                self._write_items(into, _LIST, data, kept)
            case dict() if "odd" not in data and data.keys() != {"int"}:
                self._write_items(into, _TABLE, list(data.values()), kept)
                keys = self._ffi.new("char *[]", [self._text(str(key), kept) for key in data])
                kept.append(keys)
                into.keys = keys
            case _:
                into.kind = _OTHER

    def _write_items(self, into: Any, kind: int, entries: list[Any], kept: list[Any]) -> None:
        items = self._ffi.new("cft_value[]", max(1, len(entries)))
        kept.append(items)
        for at, entry in enumerate(entries):
            self._write(self._ffi.addressof(items, at), entry, kept)
        into.kind, into.count, into.items = kind, len(entries), items

    # --- from C ------------------------------------------------------------------------------------------------------

    def _read(self, value: Any, depth: int) -> Any:
        if depth > _DEEPEST or not 0 <= value.count <= _MOST_ITEMS:
            raise HarnessBroken("the target broke the harness: its value has no end")
        if value.kind == _NULL:
            return None
        if value.kind == _BOOL:
            return bool(value.integer)
        if value.kind == _INTEGER:
            return int(value.integer)
        if value.kind == _FLOAT:
            return {"float": struct.pack(">d", value.number).hex()}
        if value.kind == _TEXT:
            return self._words(value.text)
        if value.kind == _LIST:
            return [self._read(value.items[at], depth + 1) for at in range(value.count)]
        if value.kind == _TABLE:
            return {self._words(value.keys[at]): self._read(value.items[at], depth + 1) for at in range(value.count)}
        if value.kind == _ELEMENTS:
            return self._elements(value)
        raise HarnessBroken(f"the target broke the harness: {value.kind} is no kind of value")

    def _elements(self, value: Any) -> dict[str, Any]:
        name = self._words(value.text)
        dtype = next((found for found in Dtype.all if found.name == name), None)
        if dtype is None:
            raise HarnessBroken(f"the target broke the harness: {name!r} is no dtype")
        words = self._ffi.unpack(value.bits, 2 * value.count) if value.count else []
        mask = (1 << dtype.bits) - 1
        codes = [(words[at] | words[at + 1] << 64) & mask for at in range(0, len(words), 2)]
        return {"dtype": name, "bits": [element_bits(dtype, code) for code in codes]}

    def _words(self, text: Any) -> str:
        return self._ffi.string(text).decode(errors="replace") if text else ""

    def _texts(self, texts: Any) -> list[str]:
        found: list[str] = []
        while texts and texts[len(found)]:
            found.append(self._words(texts[len(found)]))
        return found


def loaded(path: str) -> Library:
    """The target that a shared library is; HarnessBroken where it is none."""
    return Library(path)
