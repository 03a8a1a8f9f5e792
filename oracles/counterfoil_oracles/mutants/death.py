"""Defects of the reason of death: what is dead, and was what."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

DEATH: Final = (
    Defect(
        "death/first",
        "fast/counterfoil/buffers.py",
        "        lib.cf_consume(buffer._c)\n        buffer.memory.why = why",
        "        lib.cf_consume(buffer._c)\n        buffer.memory.why = buffer.memory.why or why",
        "memory consumed twice keeps the first consumer's words",
    ),
    Defect(
        "death/freed",
        "fast/counterfoil/buffers.py",
        "            if not count:\n                self.memory.why = words",
        '            if not count:\n                self.memory.why = "freed"',
        "memory given back for another reason was freed",
    ),
    Defect(
        "death/claims",
        "fast/counterfoil/buffers.py",
        "            return refuse(\"memory/dead\", function=function, why=self.dead)",
        "            return refuse(\"memory/dead\", function=function, why=\"consumed\")",
        "an access of dead memory does not say what became of it",
    ),
    Defect(
        "death/operands",
        "fast/counterfoil/door.py",
        "    raise door_refusal(name, answer, named, deaths)",
        "    raise door_refusal(name, answer, named, deaths[:1])",
        "a refusal names the first dead operand only",
    ),
    Defect(
        "death/held-exclusive",
        "fast/counterfoil/door.py",
        "    raise door_refusal(name, answer, named, deaths)",
        "    raise door_refusal(name, answer, named, deaths if answer is Answer.DEAD_BUFFER else [])",
        "an operand that died after it was found held exclusive is not named",
    ),
)
