"""Defects that leave a claim behind when something raises under it."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

RAISED_CLAIMS: Final = (
    Defect(
        "exception-claims/block",
        "fast/counterfoil/claims.py",
        'raise RuntimeError("these claims are not held")\n        self._give_back()',
        'raise RuntimeError("these claims are not held")\n        if kind is None:\n            self._give_back()',
        "a block of claims that an exception leaves stays claimed",
    ),
    Defect(
        "exception-claims/view",
        "fast/counterfoil/views.py",
        "        self._held.pop()\n",
        "        self._held.pop()\n        if kind is not None:\n            return\n",
        "an array whose view an exception leaves stays claimed",
    ),
    Defect(
        "exception-claims/work",
        "fast/counterfoil/door.py",
        "    try:\n        f(*args)\n    finally:\n        lib.cf_door_leave(handles, len(handles))",
        "    f(*args)\n    lib.cf_door_leave(handles, len(handles))",
        "the door keeps its claims when the work under them raises",
    ),
    Defect(
        "exception-claims/wait",
        "fast/native/door.c",
        "!= 0) return cf_door_refuse(operands, count, CF_LOST);",
        "!= 0) return CF_LOST;",
        "a kernel keeps its claims when the work it waits for fails",
    ),
    Defect(
        "exception-claims/transfer",
        "fast/counterfoil/placement.py",
        "    finally:\n        lib.cf_claims_release(handles, 2)",
        "    except ():\n        raise\n    lib.cf_claims_release(handles, 2)",
        "a transfer that is refused under its claims keeps them",
    ),
    Defect(
        "exception-claims/copy",
        "fast/counterfoil/placement.py",
        "        copy_elements(array, result)\n    finally:\n        lib.cf_release(source._c)",
        "        copy_elements(array, result)\n    except ():\n        raise\n    lib.cf_release(source._c)",
        "a copy for which there is no memory keeps its claim",
    ),
    Defect(
        "exception-claims/donation",
        "fast/counterfoil/claims.py",
        "        except BaseException:\n            self._give_back()\n            raise",
        "        except BaseException:\n            raise",
        "claims whose donations overlap stay counted",
    ),
    Defect(
        "exception-claims/export",
        "fast/counterfoil/buffers.py",
        "        finally:\n            if held:\n                lib.cf_release(self._c)",
        "        finally:\n            pass\n        if held:\n            lib.cf_release(self._c)",
        "an export that is refused or lost keeps its claim",
    ),
)
