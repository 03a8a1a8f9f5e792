"""A finding as a C program that is linked to the library and calls it; what it needs of our header it holds itself."""

from __future__ import annotations

import math
import shlex
import shutil
import struct
import subprocess
import tempfile
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles.targets.campaign import Found
from counterfoil_oracles.targets.library import declarations
from counterfoil_oracles.targets.scripts.asking import asked
from counterfoil_oracles.targets.scripts.script import NotWritten
from counterfoil_oracles.targets.verdicts import Finding
from counterfoil_spec.protocol import Errored, Identity, Refusal, TargetOutcome, TargetStep, Value

_SECONDS: Final = 20.0

_HEAD: Final = """#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- counterfoil_target.h: types and functions ---- */

"""

_SHOWING: Final = r"""
/* ---- showing an outcome ---- */

static void show(FILE *to, const cft_value *value) {
    uint64_t bits;
    switch (value->kind) {
    case CFT_NULL: fprintf(to, "null"); return;
    case CFT_BOOL: fprintf(to, value->integer ? "true" : "false"); return;
    case CFT_INTEGER: fprintf(to, "%lld", (long long)value->integer); return;
    case CFT_FLOAT: memcpy(&bits, &value->number, 8); fprintf(to, "float %016llx", (unsigned long long)bits); return;
    case CFT_TEXT: fprintf(to, "'%s'", value->text); return;
    case CFT_ELEMENTS: fprintf(to, "%s:", value->text); break;
    }
    for (int32_t k = 0; k < value->count; k++) {
        fprintf(to, " ");
        if (value->kind == CFT_ELEMENTS) {
            const uint64_t *word = value->bits + 2 * k;
            fprintf(to, "%016llx%016llx", (unsigned long long)word[1], (unsigned long long)word[0]);
            continue;
        }
        if (value->kind == CFT_TABLE) fprintf(to, "%s ", value->keys[k]);
        show(to, &value->items[k]);
    }
    if (value->kind != CFT_ELEMENTS) fprintf(to, " end");
}

static void tell(FILE *to, const cft_outcome *outcome) {
    const char *rule = outcome->rule ? outcome->rule : "", *message = outcome->message ? outcome->message : "";
    if (outcome->kind == CFT_RETURNED) show(to, &outcome->value);
    else if (outcome->kind == CFT_REFUSED) fprintf(to, "refused %s: %s", rule, message);
    else fprintf(to, outcome->kind == CFT_SKIPPED ? "skipped: %s" : "errored: %s", message);
}

/* ---- the program ---- */

#define NOTHING {.kind = CFT_NULL}
#define BOOL(n) {.kind = CFT_BOOL, .integer = n}
#define INT(n) {.kind = CFT_INTEGER, .integer = n}
#define REAL(x) {.kind = CFT_FLOAT, .number = x}
#define TEXT(t) {.kind = CFT_TEXT, .text = t}
#define REF(t) {.kind = CFT_REFERENCE, .text = t}
#define LIST(n, ...) {.kind = CFT_LIST, .count = n, .items = (const cft_value[]){__VA_ARGS__}}
#define KEYS(...) (const char *const[]){__VA_ARGS__}
#define TABLE(n, names, ...) {.kind = CFT_TABLE, .count = n, .keys = names, .items = (const cft_value[]){__VA_ARGS__}}
#define OTHER {.kind = CFT_OTHER}

"""

_MAIN: Final = r"""
int main(void) {
    char *told = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&told, &size);
    cft_outcome outcome = {0};
    if (to == NULL) return 2;
    counterfoil_target_start();
    counterfoil_target_reset();
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        outcome = (cft_outcome){0};
        counterfoil_target_run(&steps[k], &outcome);
    }
    tell(to, &outcome);
    fclose(to);
    printf("%s\nthe last answer: %s\n", words, told);
    return strcmp(told, shown) == 0;
}
"""


def written(library: str, found: Found, identity: Identity, path: Path) -> str:
    """The program, to be written to ``path``; NotWritten where what was seen is no outcome of a call."""
    finding = found.finding
    if finding.seen is None:
        raise NotWritten("a finding without an outcome")
    steps = ",\n".join(f"    {_step(step)}" for step in asked(found.trace, finding, identity))
    texts = {"words": finding.words, "shown": _told(finding.seen)}
    data = [f"static const cft_step steps[] = {{\n{steps}}};\n"]
    data += [f"static const char {name}[] = {_text(text)};\n" for name, text in texts.items()]
    return "".join([_comment(finding, library, path), _HEAD, declarations().rstrip(), "\n", _SHOWING, *data, _MAIN])


def _comment(finding: Finding, library: str, path: Path) -> str:
    built = shlex.join(["cc", path.name, str(Path(library).resolve()), "-o", path.stem])
    lines = [*textwrap.wrap(f"{finding.case}: {finding.words}", 110), f"{built} && ./{path.stem}",
             "exit code 1: it shows itself again; 0: it does not"]  # fmt: skip
    return "".join(f"// {line} .\n" if line.endswith("\\") else f"// {line}\n" for line in lines)


def shows(path: Path, library: str) -> bool:
    """Whether a program, built now, shows its finding."""
    if shutil.which("cc") is None:
        return False
    with tempfile.TemporaryDirectory(prefix="counterfoil-snippet-") as directory:
        program = str(Path(directory) / "shown")
        try:
            build = ["cc", str(path), str(Path(library).resolve()), "-o", program]
            subprocess.run(build, capture_output=True, timeout=_SECONDS, check=True)
            return subprocess.run([program], capture_output=True, timeout=_SECONDS, check=False).returncode == 1
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
            return False


# --- commands as C ---------------------------------------------------------------------------------------------------


def _step(step: TargetStep) -> str:
    bind = "NULL" if step.bind is None else _text(step.bind)
    return f"{{{_text(step.do)}, {bind}, {_value(step.args)}}}"


def _value(data: Any) -> str:
    match data:
        case None:
            return "NOTHING"
        case bool():
            return f"BOOL({int(data)})"
        case int() if -(2**63) <= data < 2**63:
            return f"INT({data})" if abs(data) < 2**31 else f"INT({_wide(data)})"
        case str():
            return f"TEXT({_text(data)})"
        case {"ref": str(name)}:
            return f"REF({_text(name)})"
        case {"float": str(bits)}:
            return f"REAL({_float(bits)})"
        case list():
            return f"LIST({len(data)}, {_items(data)})"
        case dict() if "odd" not in data and data.keys() != {"int"}:
            keys = ", ".join(_text(str(key)) for key in data) or "NULL"
            return f"TABLE({len(data)}, KEYS({keys}), {_items(data.values())})"
    return "OTHER"


def _items(entries: Iterable[Any]) -> str:
    return ", ".join(map(_value, entries)) or "NOTHING"


def _wide(value: int) -> str:
    return f"INT64_C({value})" if value > -(2**63) else "INT64_MIN"


def _float(bits: str) -> str:
    value = struct.unpack(">d", bytes.fromhex(bits))[0]
    if math.isnan(value):
        raise NotWritten("a NaN, of which C has no constant that keeps the bits")
    return value.hex() if math.isfinite(value) else f"{'-' if value < 0 else ''}1e999"


def _text(text: str) -> str:
    plain = (chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode())
    return f'"{"".join(plain)}"'


# --- an outcome as `tell` writes it ----------------------------------------------------------------------------------


def _told(outcome: TargetOutcome) -> str:
    match outcome:
        case Value(value):
            return _shown(value)
        case Refusal(rule=rule, message=message):
            return f"refused {rule or ''}: {message or ''}"
        case Errored(message):
            return f"errored: {message}"
    raise NotWritten("what was skipped")


def _shown(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return f"'{value}'"
        case {"float": str(bits)}:
            return f"float {bits}"
        case {"dtype": str(dtype), "bits": list(codes)}:
            return " ".join([f"{dtype}:", *(f"{code:0>32}" for code in codes)])
        case list():
            return "".join(f" {_shown(entry)}" for entry in value) + " end"
        case dict():
            return "".join(f" {key} {_shown(entry)}" for key, entry in value.items()) + " end"
    raise NotWritten("such a value")
