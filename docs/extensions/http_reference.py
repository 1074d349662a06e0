"""Every operation and every schema of the HTTP interface, from openapi.yaml."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from docs.extensions.markdown_text import table, write

Schema = dict[str, Any]

DESCRIPTION = Path(__file__).parents[2] / "openapi.yaml"
METHODS = ("get", "post", "put", "delete")


def setup(app: Any) -> dict[str, bool]:
    """Write the reference before pages are read."""
    app.connect("builder-inited", _generate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _generate(_: Any) -> None:
    description = yaml.safe_load(DESCRIPTION.read_text())
    write("operations.txt", operations(description))
    write("schemas.txt", schemas(description))


def operations(description: Schema) -> str:
    """A section for each tag, and in it one for each operation."""
    text = ""
    for tag in description["tags"]:
        text += f"## {tag['name'].capitalize()}\n\n{tag['description']}\n\n"
        for path, methods in description["paths"].items():
            for method in METHODS:
                if tag["name"] in methods.get(method, {}).get("tags", []):
                    text += _operation(method, path, methods[method])
    return text


def _operation(method: str, path: str, operation: Schema) -> str:
    text = f"(http-{operation['operationId'].lower()})=\n\n### {operation['summary']}\n\n"
    text += f"`{method.upper()} {path}`\n\n{operation.get('description', '')}\n\n"
    if parameters := operation.get("parameters", []):
        text += table(("parameter", "in", "value", "meaning"), map(_parameter, parameters))
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        text += f"Body, `{media_type}`: {kind(content.get('schema', {}))}.\n\n" + _examples(content)
    return text + table(("status", "answer", "meaning"), _answers(operation["responses"]))


def _parameter(parameter: Schema) -> tuple[str, str, str, str]:
    schema = parameter.get("schema", {})
    meaning = parameter.get("description", schema.get("description", ""))
    if "default" in schema:
        meaning += f" Default: `{json.dumps(schema['default'])}`."
    name = f"`{parameter['name']}`" + (", required" if parameter.get("required") else "")
    return name, parameter["in"], kind(schema), meaning


def _answers(responses: Schema) -> Iterator[tuple[str, str, str]]:
    """Answers that say something of their own, then all problems together."""
    problems = []
    for status, response in responses.items():
        content = response.get("content", {})
        if "application/problem+json" in content:
            problems.append(status)
            continue
        bodies = [
            f"`{media_type}`" + (f": {kind(body['schema'])}" if body.get("schema") else "")
            for media_type, body in content.items()
        ]
        yield status, "; ".join(bodies), response["description"]
    if problems:
        yield ", ".join(problems), kind({"$ref": "ProblemDocument"}), "[Errors](http.md#errors) says when."


def schemas(description: Schema) -> str:
    """A table for each schema, by name. Those of a card have a page of their own."""
    card = _within("Card", description["components"]["schemas"])
    named = description["components"]["schemas"].items()
    return "".join(_schema(name, schema) for name, schema in sorted(named) if name not in card - {"Card"})


def _schema(name: str, schema: Schema) -> str:
    text = f"(schema-{name.lower()})=\n\n## {name}\n\n{schema.get('description', '')}\n\n"
    if name == "Card":
        return text + "All keys of a card are in [The card](card.md).\n\n"
    if "properties" not in schema:
        return text + f"{kind(schema).capitalize()}.\n\n"
    required = schema.get("required", [])
    rows = [
        (f"`{key}`" + (", required" if key in required else ""), kind(each), _meaning(each))
        for key, each in schema["properties"].items()
    ]
    return text + (table(("key", "value", "meaning"), rows) if rows else "No keys.\n\n")


def _meaning(schema: Schema) -> str:
    default = f" Default: `{json.dumps(schema['default'])}`." if schema.get("default") is not None else ""
    return str(schema.get("description", "")) + default


def kind(schema: Schema) -> str:
    """What values there are, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](schemas.md#schema-{name.lower()})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(kind(each) for each in schema[several]))
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {}))}"
    if schema.get("format") == "binary":
        return "bytes"
    return {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(
        schema.get("type", ""), str(schema.get("type", "anything"))
    )


def _examples(content: Schema) -> str:
    given = [each["value"] for each in content.get("examples", {}).values()]
    given += [content["example"]] if "example" in content else []
    return "".join(f"```json\n{json.dumps(each, indent=2)}\n```\n\n" for each in given[:1])


def _within(name: str, schemas: Schema) -> set[str]:
    """The schemas that one is made of, itself included."""
    found = {name}
    waiting = [name]
    while waiting:
        for part in set(_references(schemas[waiting.pop()])) - found:
            found.add(part)
            waiting.append(part)
    return found


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].rpartition("/")[2]
        for each in schema.values():
            yield from _references(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _references(each)
