"""What pyproject.toml cannot say: the compiled kernels, and the pages that `spotter help` prints.

The kernels are optional. Where they cannot be compiled, NumPy computes the same
(spotter/engines/kernels.py).
"""

import os
import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

GNU = os.name != "nt"
FOLDER = "src/spotter/engines"


class WithPages(build_py):  # type: ignore[misc]
    """Copies docs/ into the package; an editable install reads them in the checkout."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for page in Path("docs").rglob("*.md"):
                target = Path(self.build_lib, "spotter", page)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(page, target)


setup(
    cmdclass={"build_py": WithPages},
    ext_modules=[
        Extension(
            "spotter.engines._kernels",
            sources=[f"{FOLDER}/_kernels.c"],
            depends=[
                f"{FOLDER}/_kernels{part}.h"
                for part in ("", "_losses", "_steps", "_recurrence", "_cores")
            ],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            extra_compile_args=[
                "-O3",
                "-fno-math-errno",
                "-fno-trapping-math",
                "-ffp-contract=fast",
            ]
            if GNU
            else [],
            libraries=["m"] if GNU else [],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
