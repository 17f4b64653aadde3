"""Runs the blocks marked `sh` of each page; see `run` in this folder."""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST = ["README.md", "docs/tutorial.md"]
# A page that names this one under "Before you begin" is run after its blocks.
BEFORE = "docs/example-service.md"
# Blocks of these are checked by .ci/run and .ci/nightly.
OTHERS = re.compile(r"(?:UPDATE_DOCS=1 )?cargo |target/release/ringback-bench ")
PAGE_SECONDS = 240
# Other processes on the machine must not make the service shed load.
NO_SHEDDING = {"RINGBACK_SHED_CPU": "100", "RINGBACK_SHED_MEMORY": "100", "RINGBACK_SHED_LAG_MS": "0"}


def blocks(page):
    """Blocks marked sh, in order, without the commands that other checks run."""
    found = re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)
    kept = ["\n".join(line for line in block.splitlines() if not OTHERS.match(line)) for block in found]
    return [block for block in kept if block.strip()]


def needs_example(page):
    text = (ROOT / page).read_text()
    return page != BEFORE and re.search(r"^Before you begin[^\n]*\(\S*example-service\.md\)", text, re.M)


def script(page):
    own = blocks(page)
    if own and needs_example(page):
        *before, stop = blocks(BEFORE)
        own = [*before, *own, stop]
    return "\n".join(own)


def alone():
    """The command that gives a page a network of its own, if the machine allows it."""
    for command in (["unshare", "--net"], ["unshare", "--net", "--map-root-user"]):
        if subprocess.run([*command, "true"], capture_output=True).returncode == 0:
            return command
    return []


# Sets the loopback device up, which a new network has down, and runs the blocks.
INSIDE = """
import fcntl, os, socket, struct, sys
with socket.socket() as device:
    fcntl.ioctl(device, 0x8914, struct.pack("16sh22x", b"lo", 0x1 | 0x40))
os.execvp("bash", ["bash", "-euo", "pipefail", "-x", "blocks.sh"])
"""


def links(folder, ringback):
    """The folder looks like that of the source code after a build."""
    for build in ["release", "debug"]:
        (folder / "target" / build).mkdir(parents=True)
        (folder / "target" / build / "ringback").symlink_to(ringback)
    (folder / "docs").symlink_to(ROOT / "docs")


def run(page, text, folder, ringback):
    """Returns what went wrong, or None."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "target").exists():
        links(folder, ringback)
    (folder / "blocks.sh").write_text(text + "\n")
    network = alone()
    command = [*network, sys.executable, "-c", INSIDE] if network else ["bash", "-euo", "pipefail", "-x", "blocks.sh"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RINGBACK_", "DATABASE_URL"))}
    settings = kept | NO_SHEDDING
    output = (folder / "output").open("w")
    errors = (folder / "errors").open("w")
    # A session of its own, so that a program that a block leaves running can be stopped.
    shell = subprocess.Popen(
        command,
        cwd=folder,
        env=settings,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        start_new_session=True,
    )
    try:
        code = shell.wait(PAGE_SECONDS)
    except subprocess.TimeoutExpired:
        code = f"none after {PAGE_SECONDS} s"
    left = still_runs(shell.pid)
    try:
        os.killpg(shell.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    shell.wait()
    printed = (folder / "output").read_text(errors="replace").splitlines()
    if code != 0:
        return f"a block failed: exit code {code}"
    if left:
        return "a program still runs after the last block"
    if "null" in printed:
        return "a command printed null"
    if any("Traceback" in line for line in (folder / "errors").read_text(errors="replace").splitlines()):
        return "a command printed a traceback"
    return None


def still_runs(group):
    """Whether a program of the group still runs after the time that a killed one needs to end."""
    end = time.monotonic() + 10
    while subprocess.run(["pgrep", "-g", str(group), "ringback"], capture_output=True).returncode == 0:
        if time.monotonic() > end:
            return True
        time.sleep(0.1)
    return False


def left_behind(folder):
    """Results of the tutorial."""
    assert (folder / "results.csv").stat().st_size and (folder / "call.wav").stat().st_size
    test = '.data.status == "completed" and (.data.transcript | length > 0)'
    subprocess.run(["jq", "-e", test, str(folder / "conversation.json")], check=True, stdout=subprocess.DEVNULL)


def chosen(arguments):
    files = [*FIRST, "CONTRIBUTING.md", "ARCHITECTURE.md"]
    files += sorted(str(file.relative_to(ROOT)) for file in (ROOT / "docs").rglob("*.md"))
    pages = [page for page in dict.fromkeys(files) if script(page)]
    if arguments.all:
        return pages
    if arguments.page:
        return arguments.page
    if arguments.changed:
        differing = ["git", "diff", "--name-only", arguments.changed, "--", "*.md"]
        names = subprocess.check_output(differing, cwd=ROOT, text=True).split()
        return [page for page in pages if page in [*FIRST, *names] or BEFORE in names and needs_example(page)]
    return FIRST


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--changed", metavar="REV")
    parser.add_argument("--page", action="append")
    parser.add_argument("ringback", nargs="?", default="target/release/ringback")
    arguments = parser.parse_args()
    ringback = pathlib.Path(arguments.ringback).resolve(strict=True)
    failed = []
    with tempfile.TemporaryDirectory() as work:
        for page in chosen(arguments):
            folder = pathlib.Path(work) / page.removesuffix(".md").replace("/", "-")
            # A reader may paste a page a second time.
            for again in range(2 if arguments.all and page in FIRST else 1):
                begin = time.monotonic()
                wrong = run(page, script(page), folder, ringback)
                if wrong is None and page == "docs/tutorial.md":
                    left_behind(folder)
                took = time.monotonic() - begin
                print(f"--- {page}{', again' if again else ''}: {wrong or 'ok'}, {took:.0f} s", flush=True)
                if wrong:
                    failed.append(page)
                    for name in ["output", "errors", "ringback.log"]:
                        if (folder / name).exists():
                            lines = (folder / name).read_text(errors="replace").splitlines()[-25:]
                            print(f"{name}:", *lines, sep="\n  ", file=sys.stderr)
                    break
            shutil.rmtree(folder, ignore_errors=True)
    assert not failed, f"pages with a block that failed: {', '.join(failed)}"


if __name__ == "__main__":
    main()
