"""The gate against programs that the frontend took back (context:45, context:49, context:128)."""

from __future__ import annotations

from counterfoil_spec.programs.assignments import Accumulate, Code, Row, leaves
from counterfoil_spec.programs.comps import Comp, by_uid
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import refuse
from counterfoil_spec.tensors.session import session_fault


def check_program(operation: str, comp: Comp) -> None:
    """Refuse compile/tainted-session, then compile/discarded-node for the first node the comp mentions, by uid."""
    nodes = by_uid([*mentioned(comp.code), *comp.embedded])
    why = session_fault(nodes)
    if why is not None:
        raise refuse("compile/tainted-session", operation=operation, why=why)
    for node in nodes:
        check_kept(operation, node)


def check_kept(operation: str, node: Node) -> None:
    """Refuse compile/discarded-node: the session was rewound past it."""
    if node.discarded:
        raise refuse("compile/discarded-node", operation=operation, node=node.label)


def mentioned(code: Code) -> dict[Node, None]:
    """The nodes that assignments name: targets, operands (of the merge buffer too), parents of rows and of views."""
    named: dict[Node, None] = {}
    for leaf in leaves(code):
        named[leaf.target] = None
        if isinstance(leaf, Accumulate):
            named |= dict.fromkeys(operand.node for operand in leaf.operands)
        elif isinstance(leaf.definition, Row):
            named[leaf.definition.parent] = None
    named |= dict.fromkeys(node.slice_of[0] for node in list(named) if node.slice_of is not None)
    return named
