"""The tree of contexts: a box for each release unit, with its values, its routine and the fragments it owns."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from counterfoil_oracles.page.record import Recording, Unit


@dataclass(frozen=True)
class Span:
    """A unit over the whole trace: as it was last, the step after which it was there, the one that released it."""

    unit: Unit
    first: int
    released: int | None


def tree(recording: Recording) -> str:
    """Nested lists: children are the units compiled or forked from their parent."""
    spans = _spans(recording)
    if not spans:
        return ""
    roots = [key for key, span in spans.items() if span.unit.parent not in spans]
    return f'<ul class="tree">{"".join(_branch(spans, key) for key in roots)}</ul>'


def _spans(recording: Recording) -> dict[int, Span]:
    found: dict[int, Span] = {}
    for at, moment in enumerate(recording.moments):
        for key, unit in moment.units.items():
            before = found.get(key)
            values = unit.values if before is None else tuple(dict.fromkeys([*before.unit.values, *unit.values]))
            merged = Unit(
                unit.key, unit.parent, values, unit.routines or (before.unit.routines if before else ()),
                unit.owned or (before.unit.owned if before else ()), unit.is_fork, unit.released, unit.backend,
            )  # fmt: skip
            released = before.released if before is not None and before.released is not None else None
            if released is None and unit.released:
                released = at
            found[key] = Span(merged, at if before is None else before.first, released)
    return found


def _branch(spans: dict[int, Span], key: int) -> str:
    span = spans[key]
    children = "".join(_branch(spans, other) for other, each in spans.items() if each.unit.parent == key)
    return f"<li>{_box(span)}{f'<ul>{children}</ul>' if children else ''}</li>"


def _box(span: Span) -> str:
    unit = span.unit
    kind = "fork" if unit.is_fork else "unit"
    until = "" if span.released is None else f' data-released="{span.released}"'
    lines = [f"<strong>{escape(', '.join(unit.values))}</strong> <span class='note'>{escape(unit.backend)}</span>"]
    lines += [f"<div>routine {escape(', '.join(unit.routines))}</div>"] if unit.routines else []
    lines += [f"<div>owns {escape(', '.join(unit.owned))}</div>"] if unit.owned else []
    lines += ["<div class='note'>an upload forked it</div>"] if unit.is_fork else []
    if span.released is not None:
        lines.append(f"<div class='gone'>released in step {span.released + 1}</div>")
    return f'<div class="{kind}" data-first="{span.first}"{until}>{"".join(lines)}</div>'
