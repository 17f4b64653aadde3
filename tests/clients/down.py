"""Converts an OpenAPI 3.1 description on the standard input to 3.0.3 for progenitor.

Every schema keeps its meaning, except that 3.0 cannot say what `DROPPED` says, and that several ranges of numbers
become one. Left out, because progenitor has no code for it: operations with a multipart body (uploads), operations that
open a WebSocket, and webhooks.
"""

import json
import sys

# Constraints of names of fields, and the types of a file's content.
DROPPED = ["propertyNames", "contentMediaType", "contentEncoding"]
METHODS = ["get", "put", "post", "delete", "patch"]


def schema(old):
    """Returns a schema of 3.0.3."""
    if not isinstance(old, dict):
        return {} if old is True else old
    new = {}
    for name, value in old.items():
        if name in ("properties", "patternProperties"):
            new[name] = {field: schema(of) for field, of in value.items()}
        elif name in ("items", "additionalProperties", "not"):
            new[name] = schema(value)
        elif name in ("oneOf", "anyOf", "allOf"):
            new[name] = [schema(of) for of in value]
        elif name == "const":
            new["enum"] = [value]
        elif name == "examples":
            new["example"] = value[0]
        elif name in ("exclusiveMinimum", "exclusiveMaximum"):
            new[name.removeprefix("exclusive").lower()] = value
            new[name] = True
        elif name not in DROPPED:
            new[name] = value
    for choice in ("oneOf", "anyOf"):
        without_null = [of for of in new.get(choice, []) if of != {"nullable": True}]
        if len(without_null) < len(new.get(choice, [])):
            new["nullable"] = True
            new[choice] = without_null
    choices = new.get("anyOf", [])
    if len(choices) > 1 and all(set(of) == {"type", "minimum", "maximum"} for of in choices):
        # typify 0.8.0 makes a struct of several ranges of numbers, which no number can be read into and which no
        # `default` fits. One range holds them all.
        del new["anyOf"]
        new["type"] = choices[0]["type"]
        new["minimum"] = min(of["minimum"] for of in choices)
        new["maximum"] = max(of["maximum"] for of in choices)
    if isinstance(new.get("type"), list) or new.get("type") == "null":
        types = [new["type"]] if new["type"] == "null" else new["type"]
        if "null" in types:
            new["nullable"] = True
        named = [name for name in types if name != "null"]
        del new["type"]
        if len(named) == 1:
            new["type"] = named[0]
        elif named:
            new["oneOf"] = [{"type": name} for name in named]
    if "$ref" in new and len(new) > 1:
        new["allOf"] = [{"$ref": new.pop("$ref")}]
    for choice in ("oneOf", "anyOf"):
        if len(new.get(choice, [])) == 1:
            new["allOf"] = new.pop(choice)
    return new


def bodies(node):
    """Converts every schema of parameters, bodies, answers and headers below a node."""
    if isinstance(node, list):
        return [bodies(part) for part in node]
    if not isinstance(node, dict):
        return node
    kept = {"schema": schema, "example": lambda example: example, "examples": lambda examples: examples}
    return {name: kept.get(name, bodies)(part) for name, part in node.items()}


def is_left_out(operation) -> bool:
    body = operation.get("requestBody", {}).get("content", {})
    return "multipart/form-data" in body or "101" in operation["responses"]


def main() -> None:
    description = json.load(sys.stdin)
    assert description["openapi"].startswith("3.1."), description["openapi"]
    description["openapi"] = "3.0.3"
    description.pop("webhooks", None)
    description["info"]["license"].pop("identifier", None)
    components = description["components"]
    schemas = {name: schema(of) for name, of in components.pop("schemas").items()}
    paths = {}
    for path, item in description.pop("paths").items():
        kept = {name: part for name, part in item.items() if name not in METHODS or not is_left_out(part)}
        if kept:
            paths[path] = bodies(kept)
    description = bodies(description)
    description["components"]["schemas"] = schemas
    description["paths"] = paths
    json.dump(description, sys.stdout, indent=1)


main()
