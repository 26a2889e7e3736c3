"""The one thing pyproject.toml cannot say in a settled way: the compiled kernels.

They are optional. Where they cannot be compiled, NumPy computes the same (spotter/fast/kernels.py).
"""

import os

from setuptools import Extension, setup

GNU = os.name != "nt"
FOLDER = "src/spotter/fast"

setup(
    ext_modules=[
        Extension(
            "spotter.fast._kernels",
            sources=[f"{FOLDER}/_kernels.c"],
            depends=[f"{FOLDER}/_kernels{part}.h" for part in ("", "_losses", "_steps")],
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
