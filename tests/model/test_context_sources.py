"""Every paragraph of the context seed is mapped to rules, a function and what shows it, or is planned."""

from __future__ import annotations

import ast
import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.model.test_sources import unknown

from counterfoil_oracles.coverage import OUT_OF_REACH
from counterfoil_spec import context_interface
from counterfoil_spec.commands import decode_trace
from counterfoil_spec.rules import registry

ROOT = Path(__file__).resolve().parents[2]
PARAGRAPHS: list[dict[str, Any]] = tomllib.loads((ROOT / "docs/context-sources.toml").read_text("utf-8"))["paragraph"]
COMMITTED: dict[str, Any] = tomllib.loads((ROOT / "tests/model/context_paragraphs.toml").read_text("utf-8"))
CHAPTERS = (
    "programs", "contexts", "compile", "run", "gradients", "release", "transfers", "observability", "placement",
    "planning",
)  # fmt: skip


def digest(text: str) -> str:
    """The SHA-256 of a text with its white space normalised."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


def paragraphs(text: str) -> dict[str, str]:
    """The lines of a text that have words, by number, as digests."""
    return {str(number): digest(line) for number, line in enumerate(text.splitlines(), 1) if re.search(r"\w", line)}


def copies_beside_the_checkout() -> Iterator[bytes]:
    """The seed, if a copy lies beside the checkout: recognised by its hash, whatever its name."""
    for path in ROOT.parent.glob("*/seeds/*.txt"):
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == COMMITTED["document"]:
            yield content


def is_planned(rules: Iterable[str]) -> bool:
    """Whether one of the rules is stated and not yet enforced."""
    return any(registry()[rule].status == "planned" for rule in rules)


def surface() -> set[str]:
    """The names of the surface: methods of a context and of its class, and functions of a half."""
    module = ast.parse(Path(context_interface.__file__).read_text("utf-8"))
    prefix = {"ContextProtocol": "Context.", "ContextFactory": "Context.", "ContextHalf": ""}
    found = {"inspection.census", "inspection.compile_count"}
    for cls in module.body:
        if isinstance(cls, ast.ClassDef) and cls.name in prefix:
            for entry in cls.body:
                if isinstance(entry, ast.FunctionDef):
                    found.add(prefix[cls.name] + entry.name)
                elif isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name):
                    found.add(entry.target.id)
    return found


def test_every_paragraph_is_mapped() -> None:
    """The mapped lines are exactly those that the seed has, in its order."""
    assert [str(entry["line"]) for entry in PARAGRAPHS] == list(COMMITTED["paragraphs"])


def test_the_committed_paragraphs_are_the_seeds() -> None:
    """Where the seed is at hand, its paragraphs are the committed ones, word for word."""
    assert len(COMMITTED["paragraphs"]) >= 100
    for content in copies_beside_the_checkout():
        assert paragraphs(content.decode("utf-8")) == COMMITTED["paragraphs"]


def test_every_paragraph_is_told_in_our_words() -> None:
    """Each gist is a sentence, and no paragraph or sentence of the seed."""
    for entry in PARAGRAPHS:
        assert entry["gist"].endswith(".") and digest(entry["gist"]) not in COMMITTED["paragraphs"].values()


def test_every_rule_named_exists() -> None:
    """Each row names rules of the registry; one without a rule is a question that a test asks."""
    for entry in PARAGRAPHS:
        assert set(entry["rules"]) <= set(registry()), entry["line"]
        assert entry["rules"] or entry["shown"], entry["line"]


def test_every_paragraph_is_shown_or_planned() -> None:
    """A row is shown by traces or tests that exist, or it is planned, and then so is one of its rules."""
    for entry in PARAGRAPHS:
        shown = entry.get("shown", [])
        assert all((ROOT / path).is_file() for path in shown), entry["line"]
        assert shown or entry.get("planned"), entry["line"]
        assert is_planned(entry["rules"]) or not entry.get("planned"), entry["line"]
        active = [rule for rule in entry["rules"] if registry()[rule].status == "active"]
        assert entry.get("planned") or active or not entry["rules"], entry["line"]


def test_every_function_is_of_the_surface() -> None:
    """What is not planned names a function of the surface."""
    named = {entry["function"] for entry in PARAGRAPHS if not entry.get("planned")}
    assert named <= surface(), named - surface()


def test_rules_cite_the_paragraphs_mapped_to_them() -> None:
    """A rule that cites a line of the seed is named in that line's row."""
    rows = {f"context:{entry['line']}": entry["rules"] for entry in PARAGRAPHS}
    for rule in registry().values():
        for cited in rule.seed:
            assert not cited.startswith("context:") or rule.id in rows[cited], (rule.id, cited)


def test_every_rule_of_contexts_has_a_source() -> None:
    """Each rule of the chapters of contexts is what a line of the seed says, or what a decision settles."""
    for rule in registry().values():
        if rule.chapter in CHAPTERS:
            assert rule.seed and not unknown(rule.seed), rule.id


def test_every_refusal_of_contexts_has_a_trace() -> None:
    """Each active refusal of contexts is shown by a trace written by hand, but those no command reaches."""
    shown = set()
    for path in (ROOT / "tests/traces/contexts").glob("*.jsonl"):
        shown |= set(decode_trace(path.read_bytes()).header.rules)
    wanted = {
        rule.id
        for rule in registry().values()
        if rule.chapter in (*CHAPTERS, "frontend") and rule.kind == "refusal" and rule.status == "active"
    }
    assert wanted - shown <= set(OUT_OF_REACH), wanted - shown - set(OUT_OF_REACH)
