"""The compile's gate against programs the frontend took back (context:45, context:49, context:128)."""

from __future__ import annotations

from counterfoil_reference.contexts.linking import mentioned
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
