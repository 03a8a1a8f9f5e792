"""The C11 source of a routine: a function per nest or group of nests, and the entry that calls them in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from counterfoil.compile.bodies import prepared, write_group
from counterfoil.compile.buffers import Buffers, offset
from counterfoil.compile.emit import Function
from counterfoil.compile.expressions import Operators
from counterfoil.compile.fills import absorbed
from counterfoil.compile.fuse import groups
from counterfoil.compile.literals import number
from counterfoil.compile.nests import Nest, items_of
from counterfoil.compile.prelude import HEAD, helpers
from counterfoil.compile.schedule import ordered
from counterfoil.compile.scratch import Span, arranged
from counterfoil_spec.programs.loops import Lowered
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.symbols import Symbol

STACK_BYTES: Final = 1 << 18
"""More scratch than this is not taken from a thread's stack."""

FRAME: Final = """\
struct frame {
    void *const *arguments;
    const i64 *bindings;
    const void *merge;
    const cf_services *services;
    char *scratch;
};
"""
"""What the functions are called with: the entry's arguments, and the routine's scratch."""

SIGNATURE: Final = (
    "void entry(void *const *arguments, const i64 *bindings, const void *merge, const cf_services *services)"
)


def source(segments: Sequence[Lowered], arguments: Sequence[Node], symbols: Sequence[Symbol]) -> str:
    """The C source of kernels run one after the other over a routine's arguments and bindings."""
    try:
        return _written(segments, Buffers(arguments), symbols)
    finally:
        offset.cache_clear()  # what it keeps would keep nodes alive


def _written(segments: Sequence[Lowered], buffers: Buffers, symbols: Sequence[Symbol]) -> str:
    operators = Operators()
    functions: list[Function] = []
    items = [ordered(item) if isinstance(item, Nest) else item for item in absorbed(items_of(segments))]
    for group in groups(items):
        for part in prepared(group) if isinstance(group, list) else [group]:
            function = Function(buffers, symbols, operators)
            if isinstance(part, list):
                write_group(function, part)
            else:
                function.whole(part)
            functions.append(function)
    buffers.offsets, size = arranged(_spans(buffers, functions))
    parts = [HEAD, helpers(operators.used), FRAME]
    calls = []
    for position, function in enumerate(functions):
        name = f"k{position}"
        parts.append(f"static void {name}({', '.join(function.parameters()) or 'void'}) {{\n")
        parts.append("\n".join(function.lines) + "\n}\n")
        parts.append(_share(name, function))
        calls.append(_call(name, function))
    return "".join([*parts, _entry(buffers, size, calls)])


def _spans(buffers: Buffers, functions: Sequence[Function]) -> dict[Node, Span]:
    """From where to where each scratch node is needed; one with margins, from the start."""
    spans: dict[Node, Span] = {}
    for position, function in enumerate(functions):
        for node in (*function.writes, *function.reads):
            if node in buffers.scratch:
                first = -1 if node.is_padded else spans.get(node, (position, position))[0]
                spans[node] = first, position
    return spans


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
        f"    if (services->parallel_for) services->parallel_for(share_{name}, f, {extent}, {grain});\n"
        f"    else {name}({arguments});\n"
    )


def _entry(buffers: Buffers, size: int, calls: Sequence[str]) -> str:
    """The entry: scratch on the stack, where it is large on the heap; its margins; then the calls."""
    on_heap = size > STACK_BYTES
    memory = "char *scratch = __builtin_malloc" if on_heap else "_Alignas(64) char scratch"
    room = f"({size + 64})" if on_heap else f"[{max(size, 1)}]"
    lines = [f"{SIGNATURE};\n{SIGNATURE} {{\n    {memory}{room};\n"]
    if on_heap:
        lines.append("    if (!scratch) __builtin_trap();\n")
    place = "scratch + (-(u64)scratch & 63)" if on_heap else "scratch"
    lines.append(f"    struct frame frame = {{arguments, bindings, merge, services, {place}}}, *f = &frame;\n")
    lines.append("    (void)f;\n")
    for node in buffers.scratch:
        if node.is_padded:
            elements = max(1, node.nbytes * 8 // node.dtype.bits)
            lines.append(f"    for (i64 i = 0; i < {elements}; i++) ")
            lines.append(f"({buffers.pointer(node)})[i] = {number(node.margin, node.dtype)};\n")
    return "".join([*lines, *calls, *(["    __builtin_free(scratch);\n"] if on_heap else []), "}\n"])
