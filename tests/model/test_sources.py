"""Every demanding sentence of the array seed is a rule, and every rule comes from a sentence or a decision."""

from __future__ import annotations

import hashlib
import re
import runpy
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from counterfoil_spec.commands import decode_trace
from counterfoil_spec.rules import registry

ROOT = Path(__file__).resolve().parents[2]
SOURCES: list[dict[str, Any]] = tomllib.loads((ROOT / "docs/sources.toml").read_text("utf-8"))["sentence"]
COMMITTED: dict[str, Any] = tomllib.loads((ROOT / "tests/model/seed_sentences.toml").read_text("utf-8"))
CONTEXT: dict[str, Any] = tomllib.loads((ROOT / "tests/model/context_paragraphs.toml").read_text("utf-8"))

DEMANDS = re.compile(r"\b(raises?|must|never|only|unless|at most)\b", re.IGNORECASE)
DECISION = re.compile(r"[A-Z]\d+")


def demanding(text: str) -> Iterator[tuple[str, str]]:
    """The demanding sentences of a text as (line.ordinal, SHA-256 of the sentence)."""
    for number, line in enumerate(text.splitlines(), 1):
        for ordinal, sentence in enumerate(re.split(r"(?<=\.)\s+", " ".join(line.split())), 1):
            if DEMANDS.search(sentence):
                yield f"{number}.{ordinal}", hashlib.sha256(sentence.encode()).hexdigest()


def copies_beside_the_checkout() -> Iterator[bytes]:
    """The seed, if a copy lies beside the checkout: recognised by its hash, whatever its name."""
    for path in ROOT.parent.glob("*/seeds/*.txt"):
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == COMMITTED["document"]:
            yield content


def unknown(citations: Iterable[str]) -> list[str]:
    """The citations that are neither a line with words (``seed:123``, ``context:37``) nor a decision (``A3``)."""
    lines = {f"seed:{line}" for line in COMMITTED["lines"]} | {f"context:{line}" for line in CONTEXT["paragraphs"]}
    return [cited for cited in citations if cited not in lines and not DECISION.fullmatch(cited)]


def test_every_sentence_is_mapped() -> None:
    """The mapped sentences are exactly those that the seed has, in its order."""
    assert [f"{entry['line']}.{entry['ordinal']}" for entry in SOURCES] == list(COMMITTED["sentences"])


def test_the_committed_sentences_are_the_seeds() -> None:
    """Where the seed is at hand, its demanding sentences are the committed ones, word for word."""
    assert len(set(COMMITTED["sentences"].values())) >= 40
    for content in copies_beside_the_checkout():
        text = content.decode("utf-8")
        assert dict(demanding(text)) == COMMITTED["sentences"]
        assert [n for n, line in enumerate(text.splitlines(), 1) if re.search(r"\w", line)] == COMMITTED["lines"]


def test_every_sentence_has_rules() -> None:
    """Each sentence maps to rules of the registry, and is told in a sentence of our own."""
    for entry in SOURCES:
        assert entry["rules"] and set(entry["rules"]) <= set(registry())
        digest = hashlib.sha256(entry["gist"].encode()).hexdigest()
        assert entry["gist"].endswith(".") and digest not in COMMITTED["sentences"].values()


def test_every_active_rule_has_a_source() -> None:
    """Each active rule is what a line of the seed says, or what a decision settles; it cites nothing else."""
    for rule in registry().values():
        assert rule.status != "active" or rule.seed, rule.id
        assert not unknown(rule.seed), rule.id


def test_traces_cite_lines_or_decisions() -> None:
    """Each trace says which lines of the seed, or which decisions, it was written from; those of planted defects,
    which defect they tell."""
    for path in sorted((ROOT / "tests/traces").rglob("*.jsonl")):
        if path.parent.name == "defects":
            continue  # tests/mutants reads their headers
        header = decode_trace(path.read_bytes()).header
        assert header.seed and not unknown(header.seed), path.name


def test_a_rule_cites_the_lines_mapped_to_it() -> None:
    """A line from which a rule came by a sentence that concerns few rules is among the rule's citations."""
    missing = [
        (rule, entry["line"])
        for entry in SOURCES
        if len(entry["rules"]) == 1
        for rule in entry["rules"]
        if f"seed:{entry['line']}" not in registry()[rule].seed
    ]
    assert not missing


def test_the_page_is_current() -> None:
    """docs/sources.md is what the table renders to."""
    render = runpy.run_path(str(ROOT / "tools/render_sources.py"))["render"]
    page = (ROOT / "docs/sources.md").read_text("utf-8")
    texts = [(ROOT / "docs" / name).read_text("utf-8") for name in ("sources.toml", "context-sources.toml")]
    assert page == render(*texts)
