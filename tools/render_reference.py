"""Writes the reference pages of the site: rules, operations, kernels, the Python surface, the command line.

python tools/render_reference.py            writes docs/reference/*.md, which are not kept in the repository
"""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import counterfoil
from counterfoil_oracles import cli
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import KERNELS
from counterfoil_spec.rules import CHAPTERS, Rule, operations, registry

OUTPUT = Path(__file__).resolve().parent.parent / "docs" / "reference"
SUBCOMMANDS = (
    "check", "replay", "minimize", "explain", "fixtures", "coverage", "exhaust", "exhaustive", "mutants", "opinions",
    "histories", "prove", "demo",
)  # fmt: skip


def main() -> None:
    """Write every page."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    pages = {"rules": rules(), "operations": operations_page(), "kernels": kernels(), "surface": surface(),
             "commands": command_line()}  # fmt: skip
    for chapter in CHAPTERS:
        pages[f"rules-{chapter}"] = chapter_page(chapter)
    for name, lines in pages.items():
        (OUTPUT / f"{name}.md").write_text("\n".join(lines) + "\n")


def rules() -> Iterable[str]:
    """The chapters, with how many rules each has."""
    yield from ("# Rules", "", "| chapter | refusals | laws | planned |", "|---|---|---|---|")
    for chapter in CHAPTERS:
        found = [rule for rule in registry().values() if rule.chapter == chapter]
        planned = sum(rule.status == "planned" for rule in found)
        refusals = sum(rule.kind == "refusal" and rule.status == "active" for rule in found)
        laws = sum(rule.kind == "law" and rule.status == "active" for rule in found)
        yield f"| [{chapter}](rules-{chapter}.md) | {refusals} | {laws} | {planned} |"
    yield from ("", "```{toctree}", ":hidden:", "", *(f"rules-{chapter}" for chapter in CHAPTERS), "```")


def chapter_page(chapter: str) -> Iterable[str]:
    """Every rule of a chapter."""
    yield f"# Rules: {chapter}"
    for rule in registry().values():
        if rule.chapter == chapter:
            yield from ("", f"## {rule.id}", "", _plain(rule.statement), "", *_facts(rule))


def _facts(rule: Rule) -> Iterable[str]:
    facts = {"Why": rule.why, "Way out": rule.fix}
    if rule.kind == "refusal":
        names = ", ".join(rule.names) or "the operands"
        facts |= {"Raises": f"`{rule.raises}`: {rule.message}", "Names": names, "Order": str(rule.order)}
    facts |= {"Sources": ", ".join(rule.seed), "Kind": f"{rule.kind}, {rule.status}"}
    return [f"- {name}: {_plain(text)}" for name, text in facts.items() if text]


def operations_page() -> Iterable[str]:
    """The refusals of each operation, in the order in which they are looked for."""
    yield from ("# Operations and what they refuse", "", "In the order in which each looks.", "")
    for name, ids in operations().items():
        yield f"- `{name}`: {', '.join(f'`{rule}`' for rule in ids)}"


def kernels() -> Iterable[str]:
    """The table K1, and the dtypes."""
    yield from ("# Kernels and dtypes", "", "| kernel | family | dtypes | writes |", "|---|---|---|---|")
    for kernel in KERNELS.values():
        domain = ", ".join(dtype.name for dtype in Dtype.all if dtype in kernel.domain)
        shown = "all" if len(kernel.domain) == len(Dtype.all) else domain
        writes = kernel.result.name if kernel.result else "the same"
        yield f"| {kernel.name} | {kernel.family.value} | {shown} | {writes} |"
    yield from ("", "| dtype | code | bits | alignment |", "|---|---|---|---|")
    for dtype in Dtype.all:
        yield f"| {dtype.name} | {dtype.code} | {dtype.bits} | {dtype.alignment} |"


def surface() -> Iterable[str]:
    """The public names of `counterfoil`, with the first paragraph of what each says of itself."""
    yield from ("# The Python surface", "", "`import counterfoil as cf`", "")
    for name in counterfoil.__all__:
        thing: Any = getattr(counterfoil, name)
        if inspect.ismodule(thing) or name.startswith("__"):
            continue
        text = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
        yield f"- `{name}{_signature(thing)}`: {_plain(text)}"


def _signature(thing: Any) -> str:
    if inspect.isclass(thing) or not callable(thing):
        return ""
    try:
        parameters = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return "(...)"
    return f"({', '.join(parameters)})"


def command_line() -> Iterable[str]:
    """What every subcommand says of itself."""
    yield "# The command line"
    for name in SUBCOMMANDS:
        yield from ("", f"## counterfoil {name}", "", "```text", *_help(name).splitlines(), "```")


def _help(name: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        cli.main([name, "--help"])
    return printed.getvalue()


def _plain(text: str) -> str:
    """A sentence as Markdown takes it."""
    return text.replace("{", "\\{").replace("<", "\\<").replace("*", "\\*").replace("|", "\\|").replace("[", "\\[")


if __name__ == "__main__":
    main()
