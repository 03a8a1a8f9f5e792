"""The hatchling hook that puts `counterfoil._native` into a wheel, or beside its sources for an editable install."""

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
import build_native

ABI3_FLOOR = "cp311"


def set_tag(build_data: dict[str, Any]) -> None:
    """Tag the wheel: one abi3 wheel serves every later Python of this platform; a free-threaded one has its own."""
    build_data["pure_python"] = False
    if build_native.LIMITED_API:
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"{ABI3_FLOOR}-abi3-{platform}"
    else:
        build_data["infer_tag"] = True


class NativeBuildHook(BuildHookInterface[Any]):
    """Builds the extension before a wheel is assembled; `version` is "editable" or "standard". Takes in data too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, place the extension and set the tag; stops with the compiler's words when it refuses."""
        editable = version == "editable"
        output = build_native.FAST / "counterfoil" if editable else build_native.CACHE / "wheel"
        sources = Path(os.environ.get("COUNTERFOIL_NATIVE_SOURCES", build_native.FAST / "native")).resolve()
        try:
            built = build_native.build_extension(sources, output, os.environ.get("COUNTERFOIL_SANITIZE", ""))
        except build_native.BuildError as error:
            sys.exit(f"the C core did not build: {error}")
        set_tag(build_data)
        if not editable:
            build_data["force_include"][str(built)] = f"counterfoil/{built.name}"
            traces = build_native.FAST.parent / "tests" / "traces"
            build_data["force_include"][str(traces)] = "counterfoil_oracles/targets/traces"
            for schema in (build_native.FAST.parent / "docs").glob("counterfoil-*.schema.json"):
                build_data["force_include"][str(schema)] = f"counterfoil_spec/schemas/{schema.name}"
            for source in (build_native.FAST / "cuda").glob("*.cu*"):
                build_data["force_include"][str(source)] = f"counterfoil/cuda/source/{source.name}"
