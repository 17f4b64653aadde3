#!/usr/bin/env python3
"""Measures the structure of the Rust code, and holds it to tests/layout/budget.json.

    tests/layout/structure.py            prints every measure
    tests/layout/structure.py --check    fails if a measure is over its budget
    tests/layout/structure.py --write    writes the present measures as the budget

The measures: lines of product code by crate, and of the dashboard; modules in one folder; imports from a module's
ancestors ("upward"); circles of imports between files of a crate; structs whose methods stand in more than three files;
parameters that are tuples; public functions whose error is a String; words of Markdown.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from lines import ROOT, kind, sources, without_tests  # noqa: E402

BUDGET = pathlib.Path(__file__).with_name("budget.json")
FLOOR = 15
UPWARD = 5
IMPL_FILES = 3

USE = re.compile(r"^[ \t]*(?:pub(?:\([^)]*\))? )?use ([^;]+);", re.M)
PATH = re.compile(r"(?<![\w:])((?:crate|super)(?:::\w+)+)")


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def leaves(text):
    """Returns the paths of a use declaration, each as a list of segments."""
    tokens = re.findall(r"\w+|::|[{},*]", text)
    found = []

    def read(at, prefix):
        segments = list(prefix)
        while at < len(tokens):
            token = tokens[at]
            if token == "{":
                at += 1
                while tokens[at] != "}":
                    at = read(at, segments)
                    at += tokens[at] == ","
                return at + 1
            if token == "*":
                found.append(segments)
                return at + 1
            segments = segments + [token]
            at += 1
            if at < len(tokens) and tokens[at] == "::":
                at += 1
                continue
            if at < len(tokens) and tokens[at] == "as":
                at += 2
            found.append(segments)
            return at
        return at

    read(0, [])
    return found


def crates(files):
    """Groups product files by the folder of their sources: {source folder: {module path: text}}."""
    grouped = collections.defaultdict(dict)
    for name, text in files.items():
        folder, found, rest = name.partition("src/")
        if found and kind(name) in ("product", "simulation"):
            module = rest.removesuffix(".rs").split("/")
            module = () if module in (["lib"], ["main"]) else tuple(module)
            grouped[folder + "src"][module] = without_comments(without_tests(text))
    return grouped


def imports(modules):
    """Returns the pairs of a module and another from which it takes a name."""
    pairs = set()
    for module, text in modules.items():
        paths = [leaf for use in USE.findall(text) for leaf in leaves(use)]
        body = USE.sub("", text)
        paths += [found.split("::") for found in PATH.findall(body)]
        children = [m[-1] for m in modules if m and m[:-1] == module]
        if children:
            child = re.compile(r"(?<![\w:.])((?:" + "|".join(children) + r")(?:::\w+)+)")
            paths += [found.split("::") for found in child.findall(body)]
        for path in paths:
            if path[0] == "crate":
                absolute = path[1:]
            elif path[0] in ("super", "self"):
                up = sum(1 for segment in path if segment == "super")
                absolute = list(module[: len(module) - up]) + [s for s in path if s not in ("super", "self")]
            elif module + (path[0],) in modules:
                absolute = list(module) + path
            else:
                continue
            target = tuple(absolute)
            while target not in modules and target:
                target = target[:-1]
            if target in modules and target != module:
                pairs.add((module, target))
    return pairs


def circles(pairs):
    """Returns the strongly connected components with more than one module (Tarjan)."""
    arrows = collections.defaultdict(list)
    for a, b in sorted(pairs):
        arrows[a].append(b)
    index, low, stack, on, found = {}, {}, [], set(), []
    sys.setrecursionlimit(10000)

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on.add(node)
        for to in arrows[node]:
            if to not in index:
                visit(to)
                low[node] = min(low[node], low[to])
            elif to in on:
                low[node] = min(low[node], index[to])
        if low[node] == index[node]:
            circle = []
            while True:
                last = stack.pop()
                on.discard(last)
                circle.append(last)
                if last == node:
                    break
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return found


def words():
    names = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, text=True).split()
    return sum(len((ROOT / n).read_text().split()) for n in names if n != "CHANGELOG.md" and (ROOT / n).exists())


def measured():
    files = dict(sources(None))
    product = {name: text for name, text in files.items() if kind(name) == "product"}
    lines, floors = collections.Counter(), collections.Counter()
    for name, text in product.items():
        crate = re.split(r"/(?:src|build)/", "/" + name)[0].strip("/") or "src"
        lines[crate] += without_tests(text).count("\n")
    scripts = [p for p in (ROOT / "dashboard").rglob("*.js") if "vendor" not in p.parts]
    lines["dashboard (JavaScript)"] = sum(p.read_text().count("\n") for p in scripts)
    for name in files:
        path = pathlib.PurePosixPath(name)
        if kind(name) in ("product", "simulation") and "src" in path.parts and path.stem not in ("lib", "main"):
            floors[str(path.parent)] += 1
    upward, rings = {}, {}
    for folder, modules in crates(files).items():
        pairs = imports(modules)
        upward[folder] = sum(1 for a, b in pairs if a[: len(b)] == b)
        if found := circles(pairs):
            rings[folder] = sum(len(circle) for circle in found)
    impls = collections.defaultdict(set)
    tuples = strings = 0
    for name, text in files.items():
        if kind(name) not in ("product", "simulation"):
            continue
        text = without_comments(without_tests(text))
        for of in re.findall(r"^impl(?:<[^>{]*>)? (?:[\w:<>', ]+ for )?(\w+)", text, re.M):
            impls[name.split("src/")[0] + "src " + of].add(name)
        for parameters in re.findall(r"\bfn \w+(?:<[^>]*>)?\(([^{;]*?)\)\s*(?:->|where|\{|;)", text, re.S):
            tuples += len(re.findall(r":\s*&?(?:mut )?\((?!\))", parameters))
        strings += len(re.findall(r"pub(?:\([^)]*\))? (?:async )?fn [^{;]*-> [^{;]*Result<[^{;]*, String>", text))
    return {
        "lines": dict(sorted(lines.items())),
        "modules in one folder": {f: n for f, n in sorted(floors.items()) if n > FLOOR},
        "upward imports": {f: n for f, n in sorted(upward.items()) if n > UPWARD},
        "files in circles": dict(sorted(rings.items())),
        "structs in more than three files": {s: len(f) for s, f in sorted(impls.items()) if len(f) > IMPL_FILES},
        "in all": {"tuple parameters": tuples, "public Result<_, String>": strings, "words of Markdown": words()},
    }


def main():
    present = measured()
    if "--write" in sys.argv:
        BUDGET.write_text(json.dumps(present, indent=1) + "\n")
    elif "--check" not in sys.argv:
        print(json.dumps(present, indent=1))
    else:
        check(present)


def check(present):
    budget, faults = json.loads(BUDGET.read_text()), []
    for measure, now in present.items():
        allowed = budget[measure]
        for what in sorted(now.keys() | allowed.keys()):
            is_now, may_be = now.get(what, 0), allowed.get(what, 0)
            if is_now > may_be:
                faults.append(f"{measure}: {what} is {is_now}, the budget {may_be}")
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
