"""Sessions: which tensors' code nobody consumed yet, display ids, and closures to rewind to.

A tensor belongs to the session that was current when it was made. One session is the default;
``with Session():`` makes another the current one.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Generator, Iterable, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.values import words

if TYPE_CHECKING:
    from counterfoil_spec.tensors.tensor import CodeState, Tensor


@dataclass
class _Checkpoint:
    """What a rewind goes back to: roots and display ids as they were, and what was made and changed since."""

    forward_roots: dict[int, Tensor]
    backprop_roots: dict[int, Tensor]
    next_id: int
    nodes: list[Node] = field(default_factory=list)
    states: list[tuple[Tensor, CodeState, CodeState]] = field(default_factory=list)


class Session:
    """The bookkeeping of a frontend. Display ids start at 0 in each.

    ``forward_roots`` and ``backprop_roots``, by display id: tensors whose code no other code embeds and nobody took.
    ``fault``: why the session is tainted (an exception left a closure), None if it is not.
    """

    def __init__(self) -> None:
        self.forward_roots: dict[int, Tensor] = {}
        self.backprop_roots: dict[int, Tensor] = {}
        self.fault: str | None = None
        self._next_id = 0
        self._open_closures = 0
        self._checkpoint: _Checkpoint | None = None
        self._tokens: list[Token[Session]] = []

    def __enter__(self) -> Session:
        self._tokens.append(_CURRENT.set(self))
        return self

    def __exit__(self, *exception: object) -> None:
        _CURRENT.reset(self._tokens.pop())

    def next_id(self) -> int:
        """The display id of the next tensor."""
        self._next_id += 1
        return self._next_id - 1

    def node(
        self,
        label: str,
        shape: Sequence[int],
        dtype: Dtype,
        *,
        literal: Sequence[float] | None = None,
        padding: Sequence[tuple[int, int]] | None = None,
        margin: float = 0.0,
    ) -> Node:
        """A node of this session; refuses what Node refuses."""
        return self.adopt(Node(label, shape, dtype, literal=literal, padding=padding, margin=margin))

    def adopt(self, node: Node) -> Node:
        """Count a node among this session's: a rewind past here discards it."""
        _SESSIONS[node] = self
        if self._checkpoint is not None:
            self._checkpoint.nodes.append(node)
        return node

    def remember(self, tensor: Tensor) -> None:
        """Keep the states of a tensor's code, which are about to change, for a rewind."""
        if self._checkpoint is not None:
            self._checkpoint.states.append((tensor, tensor.forward_state, tensor.backprop_state))

    @contextlib.contextmanager
    def closure(self) -> Generator[Session]:
        """A checkpoint before and, if all goes well, after. An exception inside taints the session and goes on.

        A closure inside another is part of it. Programs of a tainted session are refused: compile/tainted-session.
        """
        if not self._open_closures:
            self._set_checkpoint()
        self._open_closures += 1
        try:
            yield self
        except BaseException as error:
            self.fault = self.fault or words(error)
            raise
        finally:
            self._open_closures -= 1
        if not self._open_closures:
            self._set_checkpoint()

    def rewind_to_last_closure(self) -> None:
        """Go back to where the failed (or open) closure began, else to where the last one ended; taint is lifted.

        Nodes made since are discarded (context:128), code taken or embedded since is whole again. Nothing happens
        where there was no closure.
        """
        past = self._checkpoint
        if past is None:
            return
        for node in past.nodes:
            node.discarded = True
        for tensor, forward, backprop in reversed(past.states):
            tensor.forward_state, tensor.backprop_state = forward, backprop
        self.forward_roots, self.backprop_roots = past.forward_roots, past.backprop_roots
        self._next_id = past.next_id
        self.fault = None
        self._set_checkpoint()

    def _set_checkpoint(self) -> None:
        """Mark this point; a tainted session keeps the mark of what tainted it."""
        if self.fault is None:
            self._checkpoint = _Checkpoint(dict(self.forward_roots), dict(self.backprop_roots), self._next_id)


_SESSIONS: Final[weakref.WeakKeyDictionary[Node, Session]] = weakref.WeakKeyDictionary()
_CURRENT: Final[ContextVar[Session]] = ContextVar("session", default=Session())  # noqa: B039 (one per process is meant)


def current_session() -> Session:
    """The session that tensors are made in now."""
    return _CURRENT.get()


def closure() -> contextlib.AbstractContextManager[Session]:
    """``closure`` of the current session."""
    return current_session().closure()


def rewind_to_last_closure() -> None:
    """``rewind_to_last_closure`` of the current session."""
    current_session().rewind_to_last_closure()


def session_fault(nodes: Iterable[Node]) -> str | None:
    """Why a program over those nodes is of a tainted session, None if it is not (the ``why`` of compile's refusal).

    Nodes made by hand are of no session.
    """
    sessions = (_SESSIONS.get(node) for node in nodes)
    return next((session.fault for session in sessions if session is not None and session.fault is not None), None)
