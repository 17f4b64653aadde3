#!/usr/bin/env python3
"""Counts the lines of Rust by kind, in the working tree or in a revision.

    tests/layout/lines.py [REVISION]

The kinds are product, simulators and stubs, benches, tests. Unit tests count as tests: `tests.rs`, `*_tests.rs`, files
below a folder `tests`, and everything after a module's `#[cfg(test)]`. So do the test kit and the harnesses
in `tests/`.
"""
import collections
import io
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = ["product", "simulation", "benches", "tests"]


def sources(revision):
    """Yields the path and text of every Rust file."""
    if revision is None:
        names = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "*.rs"], cwd=ROOT, text=True)
        for name in names.split():
            if (ROOT / name).exists():
                yield name, (ROOT / name).read_text()
        return
    archive = subprocess.check_output(["git", "archive", revision], cwd=ROOT)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile() and member.name.endswith(".rs"):
                yield member.name, tar.extractfile(member).read().decode()


def kind(name):
    parts = name.removesuffix(".rs").split("/")
    if "tests" in parts or "testkit" in parts or parts[-1].endswith("_tests"):
        return "tests"
    if parts[0] == "benches" or parts[:2] == ["src", "bench"] or "examples" in parts:
        return "benches"
    old = len(parts) > 1 and parts[0] == "src" and parts[1] in SIMULATION
    return "simulation" if parts[0] == "sim" or old else "product"


# Modules of the simulators before the workspace was split.
SIMULATION = {"exchange", "stub_carriers", "stub_providers", "scenarios", "samples", "fuzzing"}


def without_tests(text):
    return re.split(r"^#\[cfg\(test\)\](?=\n(?:#\[[^\n]*\n)*(?:pub(?:\([^)]*\))? )?mod )", text, maxsplit=1, flags=re.M)[0]


def functions(text):
    """Yields the length and name of each function, by the indentation of its closing brace."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        found = re.match(r"( *)(?:pub(?:\([^)]*\))? )?(?:const )?(?:async )?(?:unsafe )?fn (\w+)", line)
        if not found or line.rstrip().endswith(";"):
            continue
        end = next((at for at in range(start, len(lines)) if lines[at].startswith(found[1] + "}")), start)
        yield end - start + 1, found[2]


def main():
    revision = sys.argv[1] if len(sys.argv) > 1 else None
    lines, files = collections.Counter(), collections.Counter()
    longest_files, longest_functions = [], []
    for name, text in sources(revision):
        of = kind(name)
        body = text if of == "tests" else without_tests(text)
        own = body.count("\n")
        lines[of] += own
        lines["tests"] += text.count("\n") - own
        files[of] += 1
        if of != "tests":
            longest_files.append((own, name))
            longest_functions += [(length, f"{name}: {function}") for length, function in functions(body)]
    for of in KINDS:
        print(f"{of:11} {lines[of]:7} lines {files[of]:5} files")
    print(f"{'not a test':11} {sum(lines[of] for of in KINDS if of != 'tests'):7} lines")
    print("longest files:    ", ", ".join(f"{name} {own}" for own, name in sorted(longest_files, reverse=True)[:5]))
    print("longest functions:", ", ".join(f"{name} {own}" for own, name in sorted(longest_functions, reverse=True)[:5]))


if __name__ == "__main__":
    main()
