"""The timeline of every memory and every device, as SVG: a column for each step, a lane for each memory."""

from __future__ import annotations

from html import escape
from typing import Final

from counterfoil_oracles.page.record import Held, Recording

COLUMN: Final = 30
LANE: Final = 34
HEAD: Final = 28
LABELS: Final = 150
_BAR: Final = 18
_SIGNS: Final = {"live": "", "claimed": "", "exclusive": "!", "exported": "e", "dead": "×"}
_WORDS: Final = {
    "live": "live", "claimed": "claimed", "exclusive": "held exclusive by a donation", "exported": "exported",
    "dead": "dead",
}  # fmt: skip


def drawing(recording: Recording) -> str:
    """The whole timeline."""
    lanes = list(dict.fromkeys(key for moment in recording.moments for key in moment.memories))
    devices = list(dict.fromkeys(name for moment in recording.moments for name in moment.devices))
    if not lanes and not devices:
        return "<p>No memory is named in this trace.</p>"
    width = LABELS + COLUMN * len(recording.moments) + 8
    height = HEAD + LANE * (len(lanes) + len(devices)) + 8
    parts = [
        f'<svg role="img" aria-label="Every memory and device, step by step" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">',
        *_columns(recording, height),
    ]
    for row, key in enumerate(lanes):
        parts += _lane(recording, key, HEAD + LANE * row)
    for row, name in enumerate(devices):
        parts += _device(recording, name, HEAD + LANE * (len(lanes) + row))
    return "\n".join([*parts, "</svg>"])


def _columns(recording: Recording, height: int) -> list[str]:
    parts = []
    for at, moment in enumerate(recording.moments):
        x = LABELS + COLUMN * at
        refused = " refused" if moment.rule else ""
        parts.append(
            f'<g class="column{refused}" data-step="{at}"><rect x="{x}" y="0" width="{COLUMN}" height="{height}"/>'
            f'<text x="{x + COLUMN / 2}" y="18" text-anchor="middle">{at + 1}</text>'
            f"<title>{at + 1}. {escape(moment.words)}: {escape(moment.outcome)}</title></g>"
        )
    return parts


def _lane(recording: Recording, key: int, y: int) -> list[str]:
    last = next(moment.memories[key] for moment in reversed(recording.moments) if key in moment.memories)
    label = ", ".join(last.names)
    shown = label if len(label) <= 20 else f"{label[:19]}…"
    parts = [
        f'<text class="label" x="4" y="{y + 16}">{escape(shown)}<title>{escape(label)}</title></text>',
        f'<text class="note" x="4" y="{y + 28}">{last.nbytes} bytes, {escape(last.device)}</text>',
    ]
    for at, moment in enumerate(recording.moments):
        held = moment.memories.get(key)
        if held is not None:
            parts.append(_cell(at, y, held, moment.touched.get(key)))
    return parts


def _cell(at: int, y: int, held: Held, touched: str | None) -> str:
    x, top = LABELS + COLUMN * at, y + (LANE - _BAR) // 2
    sign = str(held.claims) if held.state == "claimed" else _SIGNS[held.state]
    parts = [
        f'<g class="cell {held.state}" data-step="{at}">'
        f'<rect x="{x}" y="{top}" width="{COLUMN}" height="{_BAR}"/><title>{escape(_said(at, held, touched))}</title>'
    ]
    if sign:
        parts.append(f'<text x="{x + COLUMN / 2}" y="{top + 13}" text-anchor="middle">{sign}</text>')
    if held.pending:
        parts.append(f'<path class="pending" d="M{x} {top + _BAR}h{COLUMN}"/>')
    if touched is not None:
        middle, above = x + COLUMN / 2, top - 5
        parts.append(f'<circle class="{touched}" cx="{middle}" cy="{above}" r="3.5"/>')
    return "".join([*parts, "</g>"])


def _said(at: int, held: Held, touched: str | None) -> str:
    told = [f"{', '.join(held.names)} after step {at + 1}: {_WORDS[held.state]}"]
    if held.state == "claimed":
        told[0] += f" {held.claims} times"
    if held.dead is not None:
        told.append(f"it was {held.dead}")
    told += ["exported"] if held.exported and held.state != "exported" else []
    told += ["read-only memory"] if held.read_only else []
    told += ["work on it is pending"] if held.pending else []
    told += [f"{touched} by this step"] if touched else []
    return "; ".join(told)


def _device(recording: Recording, name: str, y: int) -> list[str]:
    """How much work a device has not performed, as bars."""
    most = max((s - r for m in recording.moments for s, r in [m.devices.get(name, (0, 0))]), default=0) or 1
    parts = [
        f'<text class="label" x="4" y="{y + 16}">{escape(name)}</text>',
        f'<text class="note" x="4" y="{y + 28}">pending work</text>',
    ]
    for at, moment in enumerate(recording.moments):
        if name not in moment.devices:
            continue
        submitted, reached = moment.devices[name]
        left, x = submitted - reached, LABELS + COLUMN * at
        high = round((LANE - 8) * left / most)
        words = f"{name} after step {at + 1}: {reached} of {submitted} submissions performed"
        parts.append(
            f'<g class="work" data-step="{at}"><rect x="{x + 4}" y="{y + LANE - 4 - high}" width="{COLUMN - 8}" '
            f'height="{max(high, 1)}"/><text x="{x + COLUMN / 2}" y="{y + 14}" text-anchor="middle">{left or ""}</text>'
            f"<title>{escape(words)}</title></g>"
        )
    return parts
