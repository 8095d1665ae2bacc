"""Adds the native library and its Python module to the wheel, and names the wheel for this platform."""

import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULE = "folkmoot_mobile.py"
LIBRARIES = ("libfolkmoot_mobile.so", "libfolkmoot_mobile.dylib", "folkmoot_mobile.dll")


class NativeLibraryHook(BuildHookInterface):
    """Adds the files that `cargo xtask python` has built. Git ignores them."""

    def initialize(self, version, build_data):
        if self.target_name != "wheel":
            return
        folder = Path(self.root, "src", "folkmoot", "_native")
        libraries = [folder / name for name in LIBRARIES if (folder / name).is_file()]
        if len(libraries) != 1 or not (folder / MODULE).is_file():
            raise RuntimeError(
                f"{folder} must contain {MODULE} and one library; run `cargo xtask python` to build them"
            )
        for path in (folder / MODULE, *libraries):
            build_data["force_include"][str(path)] = f"folkmoot/_native/{path.name}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
