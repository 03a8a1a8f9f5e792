"""The fast road: a target in this process, whose answers are Python objects and no JSON.

``Adapter`` is what a Python target is easily written with: a method for each command it does. What it raises is told
apart: ``Declines`` a refusal, ``NotImplementedError`` something it does not do, ``MemoryError`` a broken harness,
anything else a failure.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from counterfoil_oracles.targets.target import HarnessBroken, legible
from counterfoil_spec.commands import references
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.protocol import (
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

_OUTCOMES: Final = (Value, Refusal, Skipped, Errored)


class PythonTarget(Protocol):
    """What ``package.module:factory`` gives. It may be an ``Adapter``, or anything with these methods."""

    def start(self) -> Identity: ...
    def profile(self, profile: Profile) -> str | None: ...
    def run(self, step: TargetStep) -> TargetOutcome: ...
    def reset(self) -> None: ...
    def stop(self) -> None: ...


class Declines(Exception):
    """A target's refusal: by a rule's id, or in its own words."""

    def __init__(self, message: str = "", rule: str | None = None, **subjects: Any) -> None:
        super().__init__(message)
        self.outcome = Refusal(rule=rule, message=None if rule else message, subjects=subjects or None)


class Direct:
    """A Python target as the checker asks it."""

    def __init__(self, target: PythonTarget) -> None:
        self._target = target
        try:
            self.identity: Identity = target.start()
        except (Exception, SystemExit) as error:
            raise HarnessBroken(f"the target does not start: {_told(error)}") from error
        if not isinstance(self.identity, Identity):
            raise HarnessBroken(f"the target does not say who it is: {legible(repr(self.identity), 80)}")

    def adopt(self, profile: Profile) -> str | None:
        """Ask it to keep to a profile."""
        try:
            return self._target.profile(profile)
        except (Exception, SystemExit) as error:
            raise HarnessBroken(f"the target broke the harness: {_told(error)}") from error

    def run(self, steps: Sequence[TargetStep], fresh: bool) -> list[TargetOutcome]:
        """Each step in turn; an exception that escapes the target breaks the harness."""
        try:
            if fresh:
                self._target.reset()
            outcomes = [self._target.run(step) for step in steps]
        except (Exception, SystemExit) as error:
            raise HarnessBroken(f"the target broke the harness: {_told(error)}") from error
        wrong = [outcome for outcome in outcomes if not isinstance(outcome, _OUTCOMES)]
        if wrong:
            raise HarnessBroken(f"the target broke the harness: {legible(repr(wrong[0]), 80)} is no outcome")
        return outcomes

    def close(self) -> None:
        """Stop it; how it fails to is nobody's concern any more."""
        with contextlib.suppress(Exception, SystemExit):
            self._target.stop()


def made(factory: Callable[[], Any]) -> Direct:
    """The target that a factory makes; HarnessBroken where it makes none."""
    try:
        target = factory()
    except (Exception, SystemExit) as error:
        raise HarnessBroken(f"the factory makes no target: {_told(error)}") from error
    return Direct(target)


def imported(name: str) -> Direct:
    """The target that ``package.module:factory`` makes; HarnessBroken if there is none."""
    module, colon, factory = name.partition(":")
    try:
        made = getattr(importlib.import_module(module), factory)() if colon else None
    except (Exception, SystemExit) as error:
        raise HarnessBroken(f"{name} makes no target: {_told(error)}") from error
    if made is None or not all(hasattr(made, word) for word in ("start", "run", "reset")):
        raise HarnessBroken(f"{name} makes no target: package.module:factory is wanted")
    return Direct(made)


def _told(error: BaseException) -> str:
    return legible(f"{type(error).__name__}: {error}")


class Adapter:
    """A Python target written as one method for each command: ``from_values(self, dtype, shape, values)`` and so on.

    A command's dots are underscores in the method's name. References among the arguments come as the objects earlier
    steps made, numbers as Python's. A method returns the object to bind, or the value of the outcome. ``refuses`` are
    the exceptions by which the library under test refuses; ``patterns`` tell the rule that its words mean: (the start
    of the command's name, a regular expression, the rule), the first that matches.
    """

    name = "target"
    version = "0"
    language = "Python"
    chapters: Sequence[str] = ()
    dtypes: Sequence[str] = ()
    refuses: tuple[type[Exception], ...] = ()
    patterns: Sequence[tuple[str, str, str]] = ()
    makes: frozenset[str] = frozenset()
    may_make: frozenset[str] = frozenset()
    script: Any = None
    """How its commands are written in the library's own words (``targets.scripts.script.Script``), for snippets."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    def start(self) -> Identity:
        """Who it is, and the commands for which it has a method."""
        return Identity(
            protocol=1, name=str(self.name), version=str(self.version), language=self.language,
            chapters=list(self.chapters), dtypes=list(self.dtypes), commands=sorted(self.commands()), rules="messages",
        )  # fmt: skip

    def commands(self) -> Iterable[str]:
        """The names of the commands it does: its methods marked with ``command``."""
        for attribute in dir(type(self)):
            method = getattr(type(self), attribute, None)
            if callable(method) and hasattr(method, "command"):
                yield method.command

    def profile(self, profile: Profile) -> str | None:
        """It keeps to any profile."""
        return None

    def reset(self) -> None:
        """Forget every name."""
        self.names.clear()

    def stop(self) -> None:
        """Nothing is left to do."""
        self.names.clear()

    def run(self, step: TargetStep) -> TargetOutcome:
        """One step."""
        method = self._methods().get(step.do)
        if method is None:
            return Skipped(f"{self.name} has no {step.do}")
        missing = [name for name in references(step.args) if name not in self.names]
        if missing:
            return Skipped(f"{missing[0]} was never made")
        try:
            made = method(self, **{key: self.taken(value) for key, value in step.args.items()})
        except Declines as refusal:
            return refusal.outcome
        except NotImplementedError as error:
            return Skipped(str(error) or f"{self.name} does not do that")
        except self.refuses as error:
            return self.refused(step, f"{type(error).__name__}: {error}")
        except MemoryError:
            raise  # it grew past its bounds: that breaks the harness, and is no answer to this command
        except Exception as error:
            return Errored(f"{type(error).__name__}: {error}")
        return self._bound(step, made)

    def taken(self, data: Any) -> Any:
        """An argument as the methods get it."""
        match data:
            case {"ref": name}:
                return self.names[name]
            case {"float": bits}:
                return struct.unpack(">d", bytes.fromhex(bits))[0]
            case {"int": digits}:
                return int(digits)
            case {"complex": [real, imaginary]}:
                return complex(self.taken(real), self.taken(imaginary))
            case list():
                return [self.taken(entry) for entry in data]
            case dict():
                return {key: self.taken(value) for key, value in data.items()}
        return data

    def refused(self, step: TargetStep, words: str) -> Refusal:
        """A refusal in the library's words, by the rule they mean where a pattern tells it."""
        for command, pattern, rule in self.patterns:
            if step.do.startswith(command) and re.search(pattern, words):
                return Refusal(rule=rule, message=words)
        return Refusal(message=words)

    def _methods(self) -> dict[str, Callable[..., Any]]:
        found = type(self).__dict__.get("_table")
        if found is None:
            found = {getattr(type(self), name).command: getattr(type(self), name) for name in dir(type(self))
                     if hasattr(getattr(type(self), name, None), "command")}  # fmt: skip
            type(self)._table = found  # type: ignore[attr-defined]
        return dict(found)

    def _bound(self, step: TargetStep, made: Any) -> TargetOutcome:
        if step.do not in self.makes | self.may_make:
            return Value(made)
        if made is not None and step.bind is not None:
            self.names[step.bind] = made
        return Value(made is not None if step.do in self.may_make else None)


def command(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks a method of an Adapter as what does that command."""

    def marked(method: Callable[..., Any]) -> Callable[..., Any]:
        method.command = name  # type: ignore[attr-defined]
        return method

    return marked


def elements(dtype: Dtype, codes: Iterable[int]) -> dict[str, Any]:
    """Elements as an outcome's value: their bits."""
    return {"dtype": dtype.name, "bits": [element_bits(dtype, code) for code in codes]}
