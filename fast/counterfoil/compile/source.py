"""The C11 source of a routine: a function per nest or group of nests, and the entry that calls them in order."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil.compile.bodies import write_group
from counterfoil.compile.buffers import Buffers
from counterfoil.compile.emit import Function
from counterfoil.compile.expressions import Operators
from counterfoil.compile.fills import absorbed
from counterfoil.compile.fuse import groups
from counterfoil.compile.literals import number
from counterfoil.compile.nests import Nest, items_of
from counterfoil.compile.prelude import HEAD, helpers
from counterfoil.compile.schedule import ordered
from counterfoil_spec.programs.loops import Lowered
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.symbols import Symbol

SIGNATURE = "void entry(void *const *arguments, const i64 *bindings, const void *merge, const cf_services *services)"


def source(segments: Sequence[Lowered], arguments: Sequence[Node], symbols: Sequence[Symbol]) -> str:
    """The C source of kernels run one after the other over a routine's arguments and bindings."""
    buffers, operators = Buffers(arguments), Operators()
    functions: list[Function] = []
    items = [ordered(item) if isinstance(item, Nest) else item for item in absorbed(items_of(segments))]
    for group in groups(items):
        function = Function(buffers, symbols, operators)
        if isinstance(group, list):
            write_group(function, group)
        else:
            function.statements((group,))
        functions.append(function)
    parts = [HEAD, helpers(operators.used), _frame(buffers)]
    calls = []
    for position, function in enumerate(functions):
        name = f"k{position}"
        parts.append(f"KERNEL void {name}({', '.join(function.parameters()) or 'void'}) {{\n")
        parts.append("\n".join(function.lines) + "\n}\n")
        parts.append(_share(name, function))
        calls.append(_call(name, function))
    return "".join([*parts, _entry(buffers, calls)])


def _frame(buffers: Buffers) -> str:
    """What the functions are called with: the entry's arguments, and the routine's scratch."""
    scratch = [
        f"    _Alignas(64) {buffers.ctype(node)} {name}[{_elements(node)}];\n" for node, name in buffers.scratch.items()
    ]
    return (
        f"struct scratch {{\n{''.join(scratch) or '    char none;' + chr(10)}}};\n"
        "struct frame {\n    void *const *arguments;\n    const i64 *bindings;\n    const void *merge;\n"
        "    const cf_services *services;\n    struct scratch *scratch;\n};\n"
    )


def _share(name: str, function: Function) -> str:
    """The function that a thread calls for its share of a nest."""
    if function.shared is None:
        return ""
    arguments = ", ".join([*function.arguments(), "first", "last"])
    return (
        f"static void share_{name}(void *state, i64 first, i64 last) {{\n"
        f"    const struct frame *f = state;\n    {name}({arguments});\n}}\n"
    )


def _call(name: str, function: Function) -> str:
    if function.shared is None:
        return f"    {name}({', '.join(function.arguments())});\n"
    extent, grain = function.shared
    arguments = ", ".join([*function.arguments(), "0", str(extent)])
    return (
        f"    if (services && services->parallel_for) services->parallel_for(share_{name}, f, {extent}, {grain});\n"
        f"    else {name}({arguments});\n"
    )


def _entry(buffers: Buffers, calls: Sequence[str]) -> str:
    lines = [
        f"{SIGNATURE};\n{SIGNATURE} {{\n",
        "    struct scratch scratch;\n",
        "    struct frame frame = {arguments, bindings, merge, services, &scratch}, *f = &frame;\n",
        "    (void)f;\n",
    ]
    for node, name in buffers.scratch.items():
        if node.is_padded:
            lines.append(f"    for (i64 i = 0; i < {_elements(node)}; i++) ")
            lines.append(f"scratch.{name}[i] = {number(node.margin, node.dtype)};\n")
    return "".join([*lines, *calls, "}\n"])


def _elements(node: Node) -> int:
    return max(1, node.nbytes * 8 // node.dtype.bits)
