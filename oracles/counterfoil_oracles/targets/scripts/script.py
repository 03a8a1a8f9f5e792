"""Writing a finding as a Python script of a library's own calls: how each command is written is said by the adapter.

The script ends with exit code 1 where it shows the finding again, with 0 where it does not.
"""

from __future__ import annotations

import keyword
import math
import re
import struct
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.targets.verdicts import Finding
from counterfoil_spec.commands import Command, Step, Trace, decode_number
from counterfoil_spec.protocol import Value
from counterfoil_spec.rules import registry

Arguments = Mapping[str, Any]
Template = str | Callable[[Arguments], str]

_TAKEN: Final = frozenset(
    {"struct", "np", "jnp", "jax", "torch", "warnings", "bits", "donating", "memory", "placed", "seen", "error"}
)
"""Names that scripts use themselves."""

_NAN: Final = struct.pack(">d", math.nan).hex()
_READS: Final = ("array.to_values", "array.get")


class NotWritten(Exception):
    """No template says how a command is written."""


@dataclass(frozen=True)
class Script:
    """How a library's programs are written.

    ``templates``: for each command the Python expression or statement: a format string over the arguments, which come
    as Python text, or a function of them that gives the text; "" for a command of which nothing is written. ``kernels``
    the same by a kernel's name, over ``dst``, ``sources`` joined by commas, and the parameters. ``head``: the imports,
    and ``bits(x)``, which gives an array's elements as the protocol writes them.
    """

    head: str
    templates: Mapping[str, Template]
    kernels: Mapping[str, Template] = field(default_factory=dict)
    refusals: str = "Exception"


def written(script: Script, trace: Trace, finding: Finding) -> str:
    """The script; NotWritten where a command has no template, or what was seen cannot be seen from a script."""
    lines = [line for step in trace.steps[:-1] if (line := _line(script, step.command))]
    title = textwrap.wrap(f"{finding.case}: {finding.words}", 110)
    doc = "\n".join(f"# {line}" for line in [*title, "exit code 1: it shows itself again; 0: it does not"])
    body = "\n".join([*lines, "", *_shown(script, trace.steps[-1], finding)])
    head = script.head.replace("\n", "\nimport struct\n", 1) if "struct.unpack" in body else script.head
    return "\n".join([doc, head, body]) + "\n"


def _shown(script: Script, step: Step, finding: Finding) -> Sequence[str]:
    """The last lines: the step at fault, and whether it shows what was seen."""
    seen, last = finding.seen, step.command
    if isinstance(seen, Value) and _is_elements(seen.value):
        return _elements(script, step, finding, seen.value)
    if isinstance(seen, Value) and finding.rule is None:
        raise NotWritten(f"what {last.do} answers")
    accepted = isinstance(seen, Value)
    statement = registry()[finding.rule].statement if finding.rule is not None and accepted else finding.words
    told = f"accepted, and refused it should be: {finding.rule}: {statement}" if accepted else f"refused: {statement}"
    return [
        "try:",
        f"    {_line(script, last)}",
        f"except {script.refusals} as error:",
        '    print(f"{type(error).__name__}: {error}")',
        f"    raise SystemExit({0 if accepted else 1})",
        f"print({told!r})" if accepted else 'print("accepted")',
        f"raise SystemExit({1 if accepted else 0})",
    ]


def _is_elements(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"dtype", "bits"}


def _elements(script: Script, step: Step, finding: Finding, value: Any) -> Sequence[str]:
    """Whether an array holds again what it held."""
    last, looked = step.command, finding.looked or step.command
    texts = [value["bits"]] if isinstance(value["bits"], str) else value["bits"]
    lines = [] if looked is last or last.do in _READS else [_line(script, last)]
    if step.outcome is not None and rule_of_outcome(last, step.outcome) is not None:
        lines = _let(script, lines)
    return [
        *lines,
        f"seen = bits({_expression(script, looked)})",
        f"print({finding.words!r})",
        'print("seen:", seen)',
        f"raise SystemExit(1 if seen == {texts!r} else 0)",
    ]


def _let(script: Script, lines: Sequence[str]) -> list[str]:
    """Lines that the library may refuse, as the rules do; what they leave is looked at afterwards."""
    tried = ["try:", *(f"    {line}" for line in lines)]
    caught = [f"except {script.refusals} as error:", '    print(f"refused: {type(error).__name__}: {error}")']
    return tried + caught if lines else []


def _line(script: Script, command: Command) -> str:
    text = _expression(script, command)
    return f"{identifier(command.bind)} = {text}" if command.bind is not None and text else text


def _expression(script: Script, command: Command) -> str:
    arguments: dict[str, Any] = dict(command.args)
    template: Template | None = script.templates.get(command.do)
    if command.do == "kernel":
        template = script.kernels.get(str(arguments.pop("name")))
    if template is None:
        raise NotWritten(command.do)
    if callable(template):
        return template(arguments)
    return template.format_map({key: literal(value) for key, value in arguments.items()})


def identifier(name: str) -> str:
    """A name of a trace as Python's."""
    text = re.sub(r"\W", "_", name)
    return f"{text}_" if keyword.iskeyword(text) or text in _TAKEN or not text.isidentifier() else text


def literal(value: Any) -> str:
    """An argument as Python text."""
    match value:
        case {"ref": str(name)}:
            return identifier(name)
        case list():
            return "[" + ", ".join(literal(entry) for entry in value) + "]"
        case {"odd": _}:
            raise NotWritten("an argument that no caller should pass")
    number = decode_number(value)
    if isinstance(number, complex):
        return f"complex({_real(number.real)}, {_real(number.imag)})"
    return _real(number) if isinstance(number, float) else repr(number)


def _real(value: float) -> str:
    if value == value:
        return repr(value) if value - value == 0 else f'float("{value}")'
    bits = struct.pack(">d", value).hex()
    return 'float("nan")' if bits == _NAN else f'struct.unpack(">d", bytes.fromhex("{bits}"))[0]'


# --- what the libraries' programs have in common ---------------------------------------------------------------------


def source(args: Arguments) -> str:
    """A kernel's first source."""
    return literal(args["sources"][0])


def indexed(args: Arguments) -> str:
    """One element of an array."""
    return f"{literal(args['array'])}[{', '.join(str(at) for at in args['index']) or '()'}]"


def ranges(entries: Sequence[Sequence[int]]) -> str:
    """A slice's ranges (start, count, step) as Python's."""
    return f"[{', '.join(_range(*entry) for entry in entries)},]" if entries else "[()]"


def _range(start: int, count: int, step: int) -> str:
    stop = start + count * step
    return f"{start}:{'' if step < 0 and stop < 0 else stop}:{step}"


def contiguous(args: Arguments) -> str:
    """The C-contiguous layout of a shape: shape, strides, offset."""
    strides = [1]
    for extent in reversed(args["shape"][1:]):
        strides.insert(0, strides[0] * extent)
    return f"({args['shape']}, {strides[: len(args['shape'])]}, 0)"


def strided(args: Arguments) -> str:
    """The layout that is named: shape, strides, offset."""
    return f"({literal(args['shape'])}, {literal(args['strides'])}, {literal(args.get('offset', 0))})"


def viewed(args: Arguments) -> str:
    """The bytes of a buffer that a view has."""
    return f"{literal(args['buffer'])}[{args['first']} : {args['first'] + args['nbytes']}]"


def dtyped(template: str, spell: Callable[[str], str]) -> Template:
    """A template with the dtype as a library spells it."""

    def text(args: Arguments) -> str:
        words = {name: literal(value) for name, value in args.items()}
        return template.format_map(words | {"dtype": spell(args["dtype"])})

    return text
