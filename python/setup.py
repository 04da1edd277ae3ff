# SPDX-License-Identifier: Apache-2.0
"""Builds the package hora with its extension module, which contains the C library.

The library is built with CMake, unless HORA_LIBRARY names a libhora.a. The wheel fits all later versions of
Python 3, because the module uses only the limited interface.
"""

import os
import re
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def version():
    header = (ROOT / "include/hora/version.h").read_text(encoding="utf-8")
    return re.search(r'HORA_VERSION_STRING\s+"([0-9.]+)"', header).group(1)


class BuildExtension(build_ext):
    """Builds the library first."""

    def build_extension(self, extension):
        library = os.environ.get("HORA_LIBRARY") or self.build_library()
        extension.extra_objects = [str(library)]
        super().build_extension(extension)

    def build_library(self):
        folder = Path(self.build_temp).resolve() / "library"
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DHORA_TESTS=OFF",
                        "-DHORA_APP=OFF", "-DHORA_PYTHON=OFF"], check=True)
        subprocess.run(["cmake", "--build", folder, "--target", "hora_static", "--parallel"], check=True)
        return folder / "src/libhora.a"


setup(
    version=version(),
    cmdclass={"build_ext": BuildExtension},
    ext_modules=[Extension(
        "hora._hora",
        sources=[str(each.relative_to(HERE)) for each in sorted((HERE / "native").glob("*.c"))],
        depends=["native/native.h"],
        include_dirs=[str(ROOT / "include")],
        define_macros=[("Py_LIMITED_API", "0x030A0000")],
        extra_compile_args=["-std=c17", "-fvisibility=hidden"],
        extra_link_args=["-pthread", "-Wl,--exclude-libs,ALL"],
        py_limited_api=True,
    )],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
