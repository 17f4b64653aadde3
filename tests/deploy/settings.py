"""Compares the settings in the files of deploy/ and in the Dockerfile with docs/settings.md and the pages of carriers
and providers: each exists, and its value has an allowed form."""
import configparser
import pathlib
import re
import shlex

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
# Variables of the compose files, which the service never sees.
OF_COMPOSE = {"RINGBACK_DOMAIN", "POSTGRES_PASSWORD"}
FORMS = {
    "DATABASE_URL": r"sqlite://\S+|postgres://[^@\s]+@\S+/\S+",
    "RINGBACK_LISTEN": r"\d+\.\d+\.\d+\.\d+:\d+",
    "RINGBACK_PUBLIC_URL": r"https?://[^/\s]+",
    "RINGBACK_NODE_URL": r"https?://[^/\s]+",
    "RINGBACK_DATA_DIR": r"/\S+",
}


def known():
    """The settings of the page, each with its section's text."""
    sections = re.split(r"^### `(\w+)`\n", (ROOT / "docs/settings.md").read_text(), flags=re.M)[1:]
    return dict(zip(sections[::2], sections[1::2]))


def of_accounts():
    """Variables of carriers and providers: the pages name them between backticks."""
    pages = [ROOT / "docs/providers.md", ROOT / "docs/carriers.md", *(ROOT / "docs/carriers").glob("*.md")]
    return {word for page in pages for word in re.findall(r"`([A-Z][A-Z0-9_]+)`", page.read_text())}


def env_file(text):
    """Lines NAME=VALUE, also those that are switched off by a `#`."""
    return dict(re.findall(r"^#?([A-Z][A-Z0-9_]+)=(.*)$", text, re.M))


def unit(text):
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str
    parser.read_string(text)
    assert parser["Service"]["ExecStart"] == "/usr/local/bin/ringback serve"
    lines = re.findall(r"^Environment=(.*)$", text, re.M)
    return dict(pair.split("=", 1) for line in lines for pair in shlex.split(line))


def places():
    """Yields a place, its settings, and whether accounts of carriers and providers may stand there."""
    for file in sorted(DEPLOY.glob("compose*.yaml")):
        for name, service in yaml.safe_load(file.read_text())["services"].items():
            if service["image"] == "ringback":
                yield f"{file.name}: {name}", service["environment"]
            for variable in re.findall(r"\$\{(\w+)", str(service)):
                assert variable in OF_COMPOSE, f"{file.name}: {variable}"
    samples = env_file((DEPLOY / "env.sample").read_text())
    assert set(samples) == OF_COMPOSE, samples
    yield "ringback.env.sample", env_file((DEPLOY / "ringback.env.sample").read_text())
    yield "ringback.service", unit((DEPLOY / "ringback.service").read_text())
    docker = (ROOT / "Dockerfile").read_text()
    lines = re.findall(r"^ENV (.*)$", docker, re.M) + re.findall(r"-e (\w+=\S+)", docker)
    yield "Dockerfile", dict(pair.split("=", 1) for line in lines for pair in shlex.split(line))


def check(place, name, value, settings, accounts):
    section = settings.get(name)
    if section is None:
        assert name in accounts and not name.startswith("RINGBACK_"), f"{place}: {name} is no setting"
        return
    value = re.sub(r"\$\{\w+:\?[^}]*\}", "x", str(value))
    assert re.fullmatch(FORMS.get(name, r"\S+"), value), f"{place}: {name}={value}"
    values = re.search(r"^Values: (.*)\.$", section, re.M)
    assert not values or f"`{value}`" in values[1], f"{place}: {name}={value} is none of {values[1]}"
    number = re.search(r"^Default: `\d+`|^(?:Days|Seconds|Milliseconds|Calls) ", section, re.M)
    assert not number or value.isdigit(), f"{place}: {name}={value} is no number"


def stop_times():
    """The time to stop is the same everywhere: the longest drain and two minutes."""
    files = [*DEPLOY.iterdir(), ROOT / "Dockerfile", *(ROOT / "docs").glob("*.md")]
    found = 0
    for file in filter(pathlib.Path.is_file, files):
        for line in file.read_text().splitlines():
            if re.search(r"(?i)stop.?timeout|TimeoutStopSec|stop_grace_period", line):
                numbers = [int(number) for number in re.findall(r"\b\d{4,}", line)]
                assert all(number == 14_580 for number in numbers), f"{file.name}: {line}"
                found += len(numbers)
    assert found >= 4, found


def main():
    settings, accounts = known(), of_accounts()
    assert len(settings) > 40 and len(accounts) > 40, (len(settings), len(accounts))
    count = 0
    for place, pairs in places():
        assert pairs, place
        for name, value in pairs.items():
            if place == "ringback.env.sample" and not value:
                assert name in accounts, f"{place}: {name}"
            else:
                check(place, name, value, settings, accounts)
            count += 1
    stop_times()
    print(f"{count} settings in the files of deploy/ and in the Dockerfile are settings of the service")


if __name__ == "__main__":
    main()
