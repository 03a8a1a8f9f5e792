"""Sessions: roots, closures, rewinding, taint."""

from __future__ import annotations

import pytest

from counterfoil_spec import tensors as cf
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import SessionError


def test_display_ids_restart_with_the_session() -> None:
    """The first tensor of each session is number 0."""
    for _ in range(2):
        with cf.Session():
            assert cf.data("x", ()).id == 0
            assert (-cf.data("y", ())).id == 2


def test_consuming_ends_a_root() -> None:
    """Operands leave the roots as an operation embeds them; parameters are no forward roots."""
    with cf.Session() as session:
        w, x = cf.param("w", ()), cf.data("x", ())
        assert list(session.forward_roots.values()) == [x]
        assert list(session.backprop_roots.values()) == [w]
        made = w * x
        assert list(session.forward_roots.values()) == [made]
        assert list(session.backprop_roots.values()) == [made]


def test_taken_code_is_handed_out_again_identical() -> None:
    """Handing out twice gives the same comp, and a later consumer does not embed it (issue 955)."""
    with cf.Session():
        y = cf.param("w", ()) * 2
        forward, backprop = cf.consume_forward_code(y), cf.consume_backprop_code(y)
        assert cf.consume_forward_code(y) is forward
        assert cf.consume_backprop_code(y) is backprop
        z = y + y
        assert y.value not in z.forward.embedded
        assert y.grad is not None
        assert z.diff is not None
        assert y.grad not in z.diff.zero_grads.zeroes
        assert [str(fragment) for fragment in z.diff.backprop.requires] == [f"backprop of {y.label}"]


def test_a_failed_closure_taints_until_rewound() -> None:
    """The first failure is the reason, for programs over the session's nodes alone."""
    with cf.Session() as session:
        before = cf.data("x", ())
        with pytest.raises(ValueError, match="boom"), cf.closure():
            raise ValueError("boom")
        assert session.fault == "ValueError: boom"
        assert cf.session_fault([Node("n", ()), before.value]) == "ValueError: boom"
        assert cf.session_fault([Node("n", ())]) is None
        cf.rewind_to_last_closure()
        assert cf.session_fault([before.value]) is None
        assert not before.discarded


def test_rewinding_discards_what_was_made_since_and_gives_back_what_it_consumed() -> None:
    """Nodes made in the failed closure are discarded; roots, states and display ids are as before it."""
    with cf.Session() as session:
        w, x = cf.param("w", ()), cf.data("x", ())
        roots = dict(session.forward_roots), dict(session.backprop_roots)
        with pytest.raises(ValueError, match="boom"), cf.closure():
            made = w * x
            cf.grad_update(made)
            raise ValueError("boom")
        cf.rewind_to_last_closure()
        assert made.discarded
        assert made.grad is not None
        assert made.grad.discarded
        assert not w.discarded
        assert (session.forward_roots, session.backprop_roots) == roots
        again = w * x
        assert again.id == made.id
        assert w.grad in cf.grad_update(again).zeroes


def test_what_a_completed_closure_made_stays() -> None:
    """Its end is a checkpoint: what comes after it goes, what it made does not."""
    with cf.Session():
        with cf.closure():
            kept = cf.data("kept", ())
        gone = cf.data("gone", ())
        cf.rewind_to_last_closure()
        assert (kept.discarded, gone.discarded) == (False, True)


def test_a_closure_inside_another_is_part_of_it() -> None:
    """A failure after an inner closure rewinds the outer one whole."""
    with cf.Session():
        with pytest.raises(ValueError, match="boom"), cf.closure():
            with cf.closure():
                inner = cf.data("inner", ())
            raise ValueError("boom")
        cf.rewind_to_last_closure()
        assert inner.discarded


def test_without_a_closure_nothing_is_rewound() -> None:
    """There is no checkpoint to go back to."""
    with cf.Session():
        x = cf.data("x", ())
        cf.rewind_to_last_closure()
        assert not x.discarded


def test_a_refused_operation_consumes_nothing() -> None:
    """Shapes that do not fit leave the operands roots."""
    with cf.Session() as session:
        a, b = cf.data("a", (2,)), cf.data("b", (3,))
        roots = dict(session.forward_roots)
        with pytest.raises(ValueError, match="do not fit"):
            a + b
        assert session.forward_roots == roots
        assert (a * 1).id == 2


def test_a_session_error_names_its_tensor() -> None:
    """``tensor`` is the label of the tensor at fault."""
    with cf.Session():
        with pytest.raises(SessionError) as caught:
            cf.grad_update(cf.data("x", ()))
        assert caught.value.tensor == "x"
