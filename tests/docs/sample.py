#!/usr/bin/env python3
"""Draws texts by lot, to be read for plainness: comments, log lines, error messages, pages.

    tests/docs/sample.py [SEED]     the seed is 22 by default
"""
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["src", "actors", "media", "adapters", "sim", "benches", "tests"]
COUNTS = {"comments": 50, "log lines": 20, "error messages": 20, "pages": 5}


def sources():
    files = (file for folder in FOLDERS for file in (ROOT / folder).rglob("*.rs") if "target" not in file.parts)
    return sorted(files)


def comments(text):
    """Whole comments, with the number of their first line."""
    found, block, start = [], [], 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        match = re.match(r"\s*//[/!]? ?(.*)", line)
        if match:
            start = start or number
            block.append(match[1])
        elif block:
            found.append((start, " ".join(block)))
            block, start = [], 0
    return found


def calls(text, pattern):
    """Literals of macro calls or attributes, with their line."""
    for match in re.finditer(pattern, text, re.S):
        yield text.count("\n", 0, match.start()) + 1, " ".join(match[1].split())


def main():
    lot = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 22)
    kinds = {kind: [] for kind in COUNTS}
    for file in sources():
        text, name = file.read_text(), file.relative_to(ROOT)
        kinds["comments"] += [(f"{name}:{line}", words) for line, words in comments(text)]
        if "tests" in file.parts:
            continue
        logs = r"tracing::(?:error|warn|info|debug)!\(([^;{}]*?)\)[;,]"
        errors = r"#\[error\((\".*?\")\)?,?.*?\]\n"
        kinds["log lines"] += [(f"{name}:{line}", words) for line, words in calls(text, logs)]
        kinds["error messages"] += [(f"{name}:{line}", words) for line, words in calls(text, errors)]
    pages = sorted((ROOT / "docs").rglob("*.md"))
    kinds["pages"] = [(str(page.relative_to(ROOT)), "") for page in pages if page.name != "SUMMARY.md"]
    for kind, count in COUNTS.items():
        print(f"\n== {count} of {len(kinds[kind])} {kind}")
        for place, words in lot.sample(kinds[kind], count):
            print(f"{place}  {words}")


main()
