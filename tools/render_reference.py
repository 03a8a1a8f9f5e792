"""Writes the reference pages of the site: rules, operations, kernels, dtypes, formats, the Python surface, commands.

python tools/render_reference.py            writes docs/reference/*.md, which are not kept in the repository
python tools/render_reference.py DIRECTORY  writes them there
"""

from __future__ import annotations

import contextlib
import enum
import inspect
import io
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from unittest import mock

import counterfoil
import counterfoil.testing
import counterfoil_reference
from counterfoil_oracles import cli, examples
from counterfoil_spec import commands, context_interface, interface, protocol, tensors, vectors
from counterfoil_spec.answers import DOOR_ORDER
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import KERNELS, Family, Kernel
from counterfoil_spec.rules import CHAPTERS, Rule, operations, registry
from counterfoil_spec.theorems import THEOREMS

ROOT: Final = Path(__file__).resolve().parent.parent
OUTPUT: Final = ROOT / "docs" / "reference"
LAWS: Final[Mapping[str, Sequence[str]]] = tomllib.loads((ROOT / "tests" / "laws.toml").read_text())

ABOUT: Final = {
    "arguments": "What every operation asks of its arguments before it looks at anything else.",
    "dtypes": "Element formats, the values they take, and how a value is stored.",
    "layouts": "Shape, strides and offset: which positions an array reaches.",
    "moves": "Reshape, broadcast, permute, slice and window: new layouts over the same elements.",
    "arrays": "A dtype and a layout over a buffer: making, reading, writing, handing out.",
    "memory": "Devices, buffers, files, and the work that waits for them.",
    "claims": "Holding memory, and donating it.",
    "door": "What is asked of a kernel's operands, in one order.",
    "kernels": "What the kernels compute.",
    "programs": "Nodes, assignments and computations as values.",
    "contexts": "Roots, backends and what a context is.",
    "compile": "What may not be compiled, and what may not be linked.",
    "run": "What may not be run, given what happened before.",
    "gradients": "Contributions to a gradient: none lost, none twice.",
    "release": "Letting go of what a context holds.",
    "transfers": "Values into a context, out of it, and from one to another.",
    "observability": "Which nodes the host can read, and why not the others.",
    "placement": "Where a node lives: nowhere, in a routine, in the context.",
    "planning": "What a compiled routine may leave out, fuse or share.",
    "frontend": "Building programs from tensors.",
}


def main(argv: Sequence[str]) -> None:
    """Write every page into the directory named, or into docs/reference."""
    write(Path(argv[0]) if argv else OUTPUT)


def write(directory: Path, texts: Mapping[str, str] | None = None) -> None:
    """Write every page, as it is now or as it was given, and remove those that are none any more."""
    directory.mkdir(parents=True, exist_ok=True)
    written = pages() if texts is None else texts
    for stale in {path.stem for path in directory.glob("*.md")} - written.keys():
        (directory / f"{stale}.md").unlink()
    for name, text in written.items():
        (directory / f"{name}.md").write_text(text)


def pages() -> dict[str, str]:
    """The text of each page by its name."""
    lines = {
        "rules": rules(), "operations": operations_page(), "kernels": kernels(), "dtypes": dtypes(),
        "theorems": theorems(),
        "surface": surface(), "commands": command_line(), "trace-commands": trace_commands(),
        "protocol-schema": schema_page("The protocol's schema", PROTOCOL_SCHEMA, protocol.schema()),
        "vectors-schema": schema_page("The vectors' schema", VECTORS_SCHEMA, vectors.schema()),
        "target-header": target_header(),
    }  # fmt: skip
    lines |= {f"rules-{chapter}": chapter_page(chapter) for chapter in CHAPTERS}
    return {name: "\n".join(page) + "\n" for name, page in lines.items()}


# --- rules -----------------------------------------------------------------------------------------------------------


def rules() -> Iterator[str]:
    """The chapters, with how many rules each has."""
    yield from ("# Rules", "", "A *refusal* is raised; a *law* is a statement that every result satisfies. A rule is")
    yield from ("*planned* while it is stated and not yet enforced. `counterfoil explain RULE` prints one.", "")
    yield from ("| chapter | about | refusals | laws | planned |", "|---|---|---|---|---|")
    for chapter in CHAPTERS:
        found = [rule for rule in registry().values() if rule.chapter == chapter]
        active = [rule.kind for rule in found if rule.status == "active"]
        counts = active.count("refusal"), active.count("law"), len(found) - len(active)
        yield f"| [{chapter}](rules-{chapter}.md) | {ABOUT[chapter]} | {' | '.join(map(str, counts))} |"
    yield from (
        "",
        "## Sources",
        "",
        "`seed:LINE` is a line of the documentation of Raven's `Nx_array`, `context:LINE`",
    )
    yield from ("one of OCANNL's `Context` ([sources](../sources.md)); a letter with a number is a decision of ours.")
    yield from ("", "```{toctree}", ":hidden:", "", *(f"rules-{chapter}" for chapter in CHAPTERS), "```")


def chapter_page(chapter: str) -> Iterator[str]:
    """Every rule of a chapter."""
    yield from (f"# Rules: {chapter}", "", ABOUT[chapter])
    for rule in registry().values():
        if rule.chapter == chapter:
            yield from ("", f"({rule.id})=", f"## {rule.id}", "", plain(rule.statement), "", *_facts(rule))
            yield from _examples(rule)


def _facts(rule: Rule) -> Iterator[str]:
    facts = {"Why": plain(rule.why), "Way out": plain(rule.fix)}
    if rule.kind == "refusal":
        facts["Raises"] = f"`{rule.raises}`: {plain(rule.message)}"
        facts["Names"] = ", ".join(f"`{name}`" for name in rule.names) or "the operands"
        facts["Order"] = _order(rule)
        facts["Looked for by"] = ", ".join(_place(name, ids, rule.id) for name, ids in operations().items())
        facts["Looked for by"] = re.sub("(, )+", ", ", facts["Looked for by"]).strip(", ")
    supporting = [theorem.id for theorem in THEOREMS if rule.id in theorem.supports]
    facts["Theorems"] = ", ".join(f"[`{theorem}`](#theorem/{theorem})" for theorem in supporting)
    facts["Held by"] = ", ".join(f"`{test}`" for test in LAWS.get(rule.id, ()))
    facts |= {"Sources": ", ".join(rule.seed), "Kind": f"{rule.kind}, {rule.status}"}
    return (f"- **{name}.** {text}" for name, text in facts.items() if text)


def _order(rule: Rule) -> str:
    """The rule's place at the door, or outside of it."""
    places = {answer.rule: at for at, answer in enumerate(DOOR_ORDER, 1)}
    if rule.id in places:
        return f"{places[rule.id]} of {len(DOOR_ORDER)} at the door"
    own = "as each operation lists it"
    return f"{rule.order} outside the door (lower is looked for first)" if rule.order else own


def _place(operation: str, ids: Sequence[str], rule_id: str) -> str:
    """The operation and the place in its order, or nothing where it does not look for the rule."""
    return f"`{operation}` ({ids.index(rule_id) + 1} of {len(ids)})" if rule_id in ids else ""


def _examples(rule: Rule) -> Iterator[str]:
    """A refused and an accepted program, run on the reference as they are told."""
    told = list(examples.lines(rule.id, counterfoil_reference))
    if told:
        yield from ("", "```text", *told, "```")


def operations_page() -> Iterator[str]:
    """The refusals of each operation, in the order in which they are looked for."""
    yield from ("# Operations and what they refuse", "")
    yield "In the order in which each looks: the first that applies is the answer. Every operation also refuses"
    yield "`arguments/wrong-type` and `arguments/not-integer` of its arguments, before anything else."
    for name, ids in operations().items():
        yield from ("", f"## `{name}`", "", *(f"{at}. {_rule_link(rule)}" for at, rule in enumerate(ids, 1)))


def theorems() -> Iterator[str]:
    """The theorems in words, with the rules they support and the mistakes that are refuted."""
    yield from (
        "# Theorems",
        "",
        "[Read a proof](../how-to/read-a-proof.md) says how to take them. `counterfoil prove` puts",
    )
    yield "them to z3, and each *wrong twin*, which must be refuted."
    for theorem in THEOREMS:
        yield from ("", f"(theorem/{theorem.id})=", f"## {theorem.id}", "", plain(theorem.statement), "")
        yield from (plain(" ".join(theorem.argument.split())), "")
        yield f"- **Supports.** {', '.join(map(_rule_link, theorem.supports))}"
        yield from (f"- **Wrong twin.** {plain(twin.mistake)}" for twin in theorem.twins)


def _rule_link(rule_id: str) -> str:
    return f"[`{rule_id}`](#{rule_id})"


# --- kernels, dtypes -------------------------------------------------------------------------------------------------


def kernels() -> Iterator[str]:
    """The table K1."""
    yield from ("# Kernels", "", "A call is `name(dst, *sources, **parameters)`: `dst` is written, sources are read.")
    yield from (plain(str(inspect.getdoc(Family)).split("\n\n")[1].replace("\n", " ")), "")
    yield "A source outside of *loads* is `door/wrong-dtype`. *Bound*: how many units in the last place a result may be"
    yield "off, computed in float32 and in float64; `once`: the exact result, rounded once; `gamma`: the bound of sums"
    yield from ("([numbers](../explanation/numbers.md)). *Declines*: a destination identical to a source.", "")
    yield from ("| kernel | family | loads | writes | bound | declines |", "|---|---|---|---|---|---|")
    for kernel in KERNELS.values():
        writes = f"`{kernel.result.name}`" if kernel.result else _written(kernel)
        declines = "yes" if kernel.declines_identical else ""
        yield (
            f"| `{kernel.name}` | {kernel.family.value} | {_loads(kernel)} | {writes} | {_bound(kernel)} | {declines} |"
        )


def _loads(kernel: Kernel) -> str:
    kinds = {
        kind: [d for d in Dtype.all if d.kind.name == kind] for kind in dict.fromkeys(d.kind.name for d in Dtype.all)
    }
    whole = [kind.lower() for kind, members in kinds.items() if kernel.domain.issuperset(members)]
    rest = [d.name for d in Dtype.all if d in kernel.domain and d.kind.name.lower() not in whole]
    found = "all" if len(kernel.domain) == len(Dtype.all) else ", ".join([*whole, *rest])
    condition = ", ".join(d.name for d in Dtype.all if d in kernel.condition)
    return f"{found}; first {condition}" if condition else found


def _written(kernel: Kernel) -> str:
    return {Family.CAST: "any", Family.MAP: "its expression's"}.get(kernel.family, "the same")


def _bound(kernel: Kernel) -> str:
    if kernel.ulps:
        return " and ".join(map(str, kernel.ulps))
    return "gamma" if kernel.name in ("sum", "mean", "prod", "matmul", "cumsum", "softmax") else "once"


def dtypes() -> Iterator[str]:
    """The 21 element formats."""
    yield from ("# Dtypes", "", *(plain(part) for part in _paragraphs(sys.modules[Dtype.__module__])[:2]), "")
    yield from ("| dtype | code | kind | bits | alignment | least | greatest |", "|---|---|---|---|---|---|---|")
    for dtype in Dtype.all:
        ends = ("", "") if dtype.kind.name == "COMPLEX" else (str(dtype.min_value), str(dtype.max_value))
        kind = dtype.kind.name.lower()
        yield f"| `{dtype.name}` | {dtype.code} | {kind} | {dtype.bits} | {dtype.alignment} | {' | '.join(ends)} |"
    yield from (
        "",
        "## Float formats",
        "",
        "| format | exponent bits | fraction bits | bias | infinity | NaN | overflow |",
    )
    yield "|---|---|---|---|---|---|---|"
    for dtype in Dtype.all:
        if (form := dtype.float_format) is not None:
            cells = form.exponent_bits, form.fraction_bits, form.bias, _yes(form.has_infinity), _yes(form.has_nan)
            overflow = "saturates" if form.saturates else "infinity"
            yield f"| `{dtype.name}` | {' | '.join(map(str, cells))} | {overflow} |"
    yield from ("", "A complex dtype has two components of its float format, the real part first.")


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


# --- formats ---------------------------------------------------------------------------------------------------------

PROTOCOL_SCHEMA: Final = "../counterfoil-protocol-1.schema.json"
VECTORS_SCHEMA: Final = "../counterfoil-vectors-1.schema.json"


def schema_page(title: str, path: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Each structure of a schema as a table, then the schema itself."""
    about = "[The protocol](../protocol.md) says in words what is asked, and how answers are compared."
    yield from (f"# {title}", "", about)
    for name, definition in schema["$defs"].items():
        yield from ("", f"## {name}", "", plain(str(definition.get("description", "")).replace("\n", " ")))
        required = definition.get("required", ())
        if fields := definition.get("properties"):
            yield from ("", "| field | type | |", "|---|---|---|")
            for field, form in fields.items():
                default = f"default `{json.dumps(form['default'])}`" if "default" in form else "optional"
                yield f"| `{field}` | {_type(form)} | {'required' if field in required else default} |"
    yield from ("", "## The JSON Schema", "", f"```{{literalinclude}} {path}", ":language: json", "```")


def _type(form: Mapping[str, Any]) -> str:
    """A type of a JSON Schema in a table's cell."""
    match form:
        case {"$ref": str(ref)}:
            return ref.rpartition("/")[2]
        case {"anyOf": list(ways)} | {"oneOf": list(ways)}:
            return " or ".join(map(_type, ways))
        case {"enum": list(values)}:
            return " or ".join(f"`{json.dumps(value)}`" for value in values)
        case {"const": value}:
            return f"`{json.dumps(value)}`"
        case {"type": "array"}:
            return f"list of {_type(form.get('items', {}))}"
        case {"type": str(name)}:
            return name
    return "anything"


def trace_commands() -> Iterator[str]:
    """The commands of traces and of the protocol, as their module documents them."""
    yield from (
        "# Commands of traces and of the protocol",
        "",
        "What a step may ask, `do` in JSON, with its arguments.",
    )
    yield from ("Arguments are in braces; what stands behind `->` is the value it answers.", "")
    yield from ("```text", *str(commands.__doc__).splitlines(), "```")


def target_header() -> Iterator[str]:
    """The C header of targets."""
    path = "../../oracles/counterfoil_oracles/targets/counterfoil_target.h"
    yield from ("# counterfoil_target.h", "", "What a C library implements to be checked; ")
    yield "[write a target in C](../how-to/target-in-c.md) has an example. The header is installed with the package:"
    yield from ("`python -c 'import counterfoil_oracles.targets as t; print(t.__path__[0])'` names its folder.", "")
    yield from (f"```{{literalinclude}} {path}", ":language: c", "```")


# --- the Python surface ----------------------------------------------------------------------------------------------

CONTRACTS: Final[Mapping[str, type]] = {
    "Array": interface.ArrayProtocol,
    "Buffer": interface.BufferProtocol,
    "Device": interface.DeviceProtocol,
    "Layout": interface.LayoutProtocol,
    "Context": context_interface.ContextProtocol,
    "Routine": context_interface.RoutineProtocol,
}
"""Classes whose public members are those that both halves have, where the signatures stand too."""


GENERIC: Final = "The kernel ``{}`` into ``out`` or a fresh array; raises what it refuses."
"""What a kernel says of itself whose name says all: such are listed together."""


def surface() -> Iterator[str]:
    """The public names of `counterfoil`, with what each says of itself."""
    yield from ("# The Python surface", "", "`import counterfoil as cf`. What an operation may refuse, and in which")
    yield "order, stands under [operations](operations.md); every refusal is an exception with `rule` and `subjects`."
    for title, names in sections().items():
        yield from ("", f"## {title}")
        generic = [name for name in names if _paragraphs(getattr(counterfoil, name)) == [GENERIC.format(name)]]
        if generic:
            yield from ("", "Into `out` or a fresh array:", "")
            yield from (f"- `{name}{signature(getattr(counterfoil, name))}`" for name in generic)
        for name in names:
            if name not in generic:
                yield from entry(name, getattr(counterfoil, name), CONTRACTS.get(name))
    yield from ("", "## Tensors", "", "In `cf.tensor`.")
    for name in tensors.__all__:
        yield from entry(f"tensor.{name}", getattr(tensors, name))
    yield from ("", "## Tests", "", "In `counterfoil.testing`.")
    yield from entry("conformance_suite", counterfoil.testing.conformance_suite)
    yield from ("", "## Inside, for checkers", "", "In `cf.inspection`.")
    for name, thing in inspect.getmembers(counterfoil.inspection, inspect.isfunction):
        if not name.startswith("_") and thing.__module__ == counterfoil.inspection.__name__:
            yield from entry(name, thing)


def sections() -> dict[str, list[str]]:
    """The public names but modules and dtypes, by what they are."""
    found: dict[str, list[str]] = {
        title: [] for title in (*(f"Class {name}" for name in CONTRACTS), "Functions", "Kernels")
    }
    found |= {"Devices, memory and answers": [], "Programs": [], "Refusals": []}
    for name in counterfoil.__all__:
        thing = getattr(counterfoil, name)
        if not isinstance(thing, (ModuleType, Dtype, str)):
            found[_section(name, thing)].append(name)
    return found


def _section(name: str, thing: Any) -> str:
    if name in CONTRACTS:
        return f"Class {name}"
    if inspect.isclass(thing):
        if issubclass(thing, BaseException):
            return "Refusals"
        programs = thing.__module__.startswith(("counterfoil_spec.programs", "counterfoil.contexts"))
        return "Programs" if programs else "Devices, memory and answers"
    if name in KERNELS:
        return "Kernels"
    return "Programs" if str(getattr(thing, "__module__", "")).startswith("counterfoil_spec.programs") else "Functions"


def entry(name: str, thing: Any, contract: type | None = None) -> Iterator[str]:
    """A name with its signature, what it says of itself, and its public members."""
    yield from ("", f"`{name}{signature(thing)}`", *_defined(_paragraphs(thing)))
    if contract is not None:
        yield ""
        for member in members(contract):
            yield from _member(member, inspect.getattr_static(contract, member), getattr(thing, member, None))
    elif inspect.isclass(thing) and issubclass(thing, enum.Enum):
        yield from ("", "  " + ", ".join(f"`{each.name}`" for each in thing))


def members(contract: type) -> list[str]:
    """The public members of a contract, its parents' too."""
    own = [
        name for kind in reversed(contract.__mro__) for name in [*vars(kind), *vars(kind).get("__annotations__", ())]
    ]
    return [name for name in dict.fromkeys(own) if not name.startswith("_")]


def _member(name: str, promised: Any, built: Any) -> Iterator[str]:
    own = inspect.isfunction(promised)
    texts = _paragraphs(built) if own else []
    if not texts or texts[0].startswith("See "):
        texts = _paragraphs(promised)
    shown = f"`{name}{signature(promised)}`".replace("Protocol", "") if own else f"`{name}`"
    yield f"- {shown}" + (f": {plain(' '.join(texts))}" if texts else "")


class Bare(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def signature(thing: Any) -> str:
    """The signature of a function without `self`; nothing of a class."""
    if inspect.isclass(thing) or not callable(thing):
        return ""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    named = [each.replace(annotation=_bare(each.annotation)) for each in found.parameters.values()]
    kept = [each for each in named if each.name != "self"]
    returned = found.return_annotation
    kept_return = inspect.Signature.empty if returned in ("None", None) else _bare(returned)
    return str(found.replace(parameters=kept, return_annotation=kept_return)).replace(
        "<MemoryKind.DEVICE: 'device'>", "DEVICE"
    )


def _bare(annotation: Any) -> Any:
    return Bare(annotation.strip("'")) if isinstance(annotation, str) else annotation


def _paragraphs(thing: Any) -> list[str]:
    return [part.replace("\n", " ") for part in (inspect.getdoc(thing) or "").split("\n\n") if part]


def _defined(paragraphs: Sequence[str]) -> Iterator[str]:
    """The definition of a term: one item, its paragraphs apart."""
    for at, paragraph in enumerate(paragraphs):
        yield from ([f": {plain(paragraph)}"] if not at else ["", f"  {plain(paragraph)}"])


# --- the command line ------------------------------------------------------------------------------------------------


def command_line() -> Iterator[str]:
    """What every subcommand says of itself."""
    yield from ("# The command line", "", "Results go to standard output; progress goes to standard error, and only")
    yield from ("when that is a terminal. Exit codes:", "", "| code | |", "|---|---|")
    yield from ("| 0 | conforms |", "| 1 | divergence |", "| 2 | usage |", "| 3 | the harness is broken |")
    yield from ("| 4 | nothing ran |", "| 5 | a required part was skipped |")
    for name in subcommands():
        yield from _help_section(f"counterfoil {name}", [name])
    yield from _help_section("counterfoil check --engine dask", ["check", "--engine", "dask"])


def _help_section(title: str, words: Sequence[str]) -> Iterator[str]:
    yield from ("", f"## {title}", "", "```text", *printed_help(words).splitlines(), "```")


def subcommands() -> list[str]:
    """Their names, as `counterfoil --help` lists them."""
    return re.findall(r"^    ([a-z]+)\b", printed_help([]), flags=re.MULTILINE)


def printed_help(words: Sequence[str]) -> str:
    """What `--help` prints, as wide as a page."""
    printed = io.StringIO()
    wide = mock.patch.dict(os.environ, COLUMNS="100")
    with wide, contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        cli.main([*words, "--help"])
    return printed.getvalue()


def plain(text: str) -> str:
    """A text as Markdown takes it: what looks like markup is escaped, but in code."""
    parts = re.split(r"(``.+?``|`[^`]+`)", text)
    return "".join(part if at % 2 else re.sub(r"([\\{<*|\[])", r"\\\1", part) for at, part in enumerate(parts))


if __name__ == "__main__":
    main(sys.argv[1:])
