"""Builds the extension out of the clone that this folder is in.

`make` builds the library and that of the tools, as it does without Python:
what the machine has of zstd, SQLite and others is found there. Version, licence
and sources are those of the clone. TRACESMITH_OUT_FOLDER: where it builds,
TRACESMITH_CFLAGS: how. With TRACESMITH_INSTALLED=1 the module uses the library
that is installed, and has no copy of it.
"""
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
# Paths are from where it is called: this folder, or the clone's.
NATIVE = sorted(os.path.relpath(p) for p in (HERE / "native").glob("*.c"))
INSTALLED = os.environ.get("TRACESMITH_INSTALLED") == "1"
# From 3.11 on buffers are in the limited API: one wheel for all later versions.
LIMITED = (sys.version_info >= (3, 11)
           and not hasattr(sys, "gettotalrefcount")
           and not sysconfig.get_config_var("Py_GIL_DISABLED"))


def version():
    text = (TOP / "tracesmith.h").read_text()
    return ".".join(re.findall(r"define TS_VERSION_M\w+ (\d+)", text)
                    + re.findall(r"define TS_VERSION_PATCH (\d+)", text))


class BuildExtension(build_ext):
    """Makes the libraries first, and puts the shared one beside the module."""

    def out(self):
        return os.environ.get("TRACESMITH_OUT_FOLDER", "build")

    def make(self, *targets):
        jobs = os.environ.get("MAX_JOBS") or str(os.cpu_count() or 2)
        command = ["make", "-s", "-C", str(TOP), "-j" + jobs,
                   "OUT=" + self.out(), *targets]
        if "TRACESMITH_CFLAGS" in os.environ:
            command.append("CFLAGS=" + os.environ["TRACESMITH_CFLAGS"])
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL",
                                    "CFLAGS", "LDFLAGS")}
        try:
            subprocess.run(command, check=True, env=environment)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(
                "tracesmith: the C library cannot be built: " + str(error) +
                ". Run tests/deps.sh build in the clone to see what is "
                "missing.") from None

    def needs(self):
        """The libraries that the tools need, as make found them."""
        found = (TOP / self.out() / "found").read_text()
        names = {"ZSTD": ["zstd"], "ZLIB": ["z"], "DEFLATE": ["deflate"],
                 "YAJL": ["yajl"], "SQLITE": ["sqlite3"],
                 "DW": ["dw", "elf"], "IBERTY": ["iberty"],
                 "ARCHIVE": ["archive"], "BABELTRACE": ["babeltrace2"]}
        return [library for key, libraries in names.items()
                if "TRACESMITH_" + key in found for library in libraries] + [
            word[2:] for word in found.split() if word.startswith("-l")]

    def build_extension(self, extension):
        """A library without a module needs the recorder alone."""
        out = TOP / self.out()
        shared = "libtracesmith.so"
        self.make(*(self.out() + "/" + name
                    for name in (shared, "libtracesmith-tools.a")))
        extension.extra_objects = [str(out / shared)]
        extension.libraries = ["m", "dl"]
        if extension is module:
            extension.extra_objects.insert(0,
                                           str(out / "libtracesmith-tools.a"))
            extension.libraries += self.needs()
        super().build_extension(extension)
        if INSTALLED:
            return
        target = Path(self.get_ext_fullpath(extension.name)).parent
        # Its name in the process: of a C library that records, too, if the
        # program has one.
        soname = shared + "." + ".".join(version().split(".")[:2])
        shutil.copyfile(out / shared, target / soname)


def library(name, sources):
    return Extension(
        name, sources, include_dirs=[str(TOP), str(TOP / "tools")],
        define_macros=[("TRACESMITH_WRITER", None)]
        + ([("Py_LIMITED_API", "0x030B0000")] if LIMITED else []),
        extra_compile_args=["-std=c11", "-fvisibility=hidden", "-pthread"],
        extra_link_args=([] if INSTALLED else ["-Wl,-rpath,$ORIGIN"])
        + ["-Wl,--exclude-libs,ALL", "-Wl,--as-needed", "-Wl,-z,nodelete",
           "-pthread"],
        py_limited_api=LIMITED)


module = library("tracesmith._tracesmith", NATIVE)
devices = library("tracesmith._devices",
                  [os.path.relpath(HERE / "native/devices/devices.c")])

setup(
    name="tracesmith",
    version=version(),
    description="Record, read and replay traces of programs and GPUs",
    license="Apache-2.0 AND BSD-2-Clause AND MIT",
    license_files=[file for file in ("LICENSE", "THIRD-PARTY")
                   if os.path.exists(file)],
    python_requires=">=3.8",
    packages=["tracesmith"],
    package_dir={"": os.path.relpath(HERE)},
    package_data={"tracesmith": ["py.typed", "*.pyi"]},
    entry_points={"console_scripts": [
        "tracesmith-cli = tracesmith.predecessor:command"]},
    ext_modules=[module, devices],
    cmdclass={"build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {},
    zip_safe=False)
