"""The generated pages leave nothing out."""

from __future__ import annotations

from tools import render_reference

import counterfoil
from counterfoil_oracles import cli
from counterfoil_spec import tensors
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import KERNELS
from counterfoil_spec.protocol import REPLIES
from counterfoil_spec.rules import operations, registry
from counterfoil_spec.theorems import THEOREMS


def test_every_rule_has_its_section(reference: dict[str, str]) -> None:
    """With an anchor of its id, on the page of its chapter, its message where it is a refusal."""
    for rule in registry().values():
        page = reference[f"rules-{rule.chapter}"]
        section = page[page.index(f"({rule.id})=\n") :].split("\n(", 1)[0]
        assert render_reference.plain(rule.statement) in section
        assert render_reference.plain(rule.why) in section
        assert rule.kind != "refusal" or render_reference.plain(rule.message) in section
        assert f"{rule.kind}, {rule.status}" in section


def test_every_operation_lists_its_refusals_in_order(reference: dict[str, str]) -> None:
    """As numbered lines under the operation's name."""
    for name, ids in operations().items():
        section = reference["operations"].split(f"\n## `{name}`\n")[1].split("\n## ")[0]
        assert [line.split("`")[1] for line in section.splitlines() if line] == list(ids)


def test_every_kernel_and_dtype_has_a_row(reference: dict[str, str]) -> None:
    """In the table of its page."""
    assert all(f"\n| `{name}` |" in reference["kernels"] for name in KERNELS)
    assert all(f"\n| `{dtype.name}` |" in reference["dtypes"] for dtype in Dtype.all)


def test_every_public_name_is_told(reference: dict[str, str]) -> None:
    """But modules, and dtypes, which have a page of their own."""
    told = [name for names in render_reference.sections().values() for name in names]
    for name in (*told, *(f"tensor.{name}" for name in tensors.__all__)):
        assert f"\n`{name}" in reference["surface"] or f"\n- `{name}" in reference["surface"], name
    left = set(counterfoil.__all__) - set(told) - {"__version__"}
    things = [getattr(counterfoil, name) for name in left]
    assert all(isinstance(thing, (render_reference.ModuleType, Dtype, int)) for thing in things), left


def test_every_subcommand_shows_its_help(reference: dict[str, str]) -> None:
    """Those that the parser knows, and those that read their own arguments."""
    assert {"check", "replay", "explain", *cli._PROGRAMS} <= set(render_reference.subcommands())
    for name in render_reference.subcommands():
        assert f"## counterfoil {name}\n\n```text\nusage: counterfoil {name}" in reference["commands"]


def test_every_message_of_the_protocol_has_a_table(reference: dict[str, str]) -> None:
    """Requests and replies."""
    for kind in (*REPLIES, *REPLIES.values()):
        assert f"\n## {kind.__name__}\n" in reference["protocol-schema"]


def test_every_theorem_is_told(reference: dict[str, str]) -> None:
    """With its statement and the rules it supports, each of which names it."""
    for theorem in THEOREMS:
        assert render_reference.plain(theorem.statement) in reference["theorems"]
        for rule in theorem.supports:
            assert f"(#theorem/{theorem.id})" in reference[f"rules-{registry()[rule].chapter}"]


def test_the_same_words_give_the_same_pages(reference: dict[str, str]) -> None:
    """Nothing of the machine, the moment or the terminal is on them."""
    assert render_reference.pages() == reference
    assert not any(str(render_reference.ROOT) in text or " object at 0x" in text for text in reference.values())
