"""Every key of a model's card, from the classes that check it."""

from __future__ import annotations

from typing import Any

from markdown_text import table, write

from melm.model.card import Card

Schema = dict[str, Any]


def setup(app: Any) -> dict[str, bool]:
    """Write the reference before pages are read."""
    app.connect("builder-inited", lambda _: write("card.txt", reference()))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def reference() -> str:
    """A table for the card and one for each of its parts, in the order in which they are met."""
    schema = Card.model_json_schema()
    parts: dict[str, Schema] = schema["$defs"]
    order = ["Card"]
    for name in order:
        properties = (schema if name == "Card" else parts[name]).get("properties", {})
        for each in properties.values():
            order += [part for part in _named(each) if part not in order]
    return "".join(_part(name, schema if name == "Card" else parts[name], parts) for name in order)


def _part(name: str, schema: Schema, parts: dict[str, Schema]) -> str:
    heading = f"(card-{name.lower()})=\n\n## {name}\n\n{schema.get('description', '')}\n\n"
    if "enum" in schema:
        return heading + "One of " + ", ".join(f"`{value}`" for value in schema["enum"]) + ".\n\n"
    required = schema.get("required", [])
    rows = [
        (f"`{key}`", kind(each), _meaning(each, parts) + ("" if key in required else " May be left out."))
        for key, each in schema["properties"].items()
    ]
    return heading + table(("key", "value", "meaning"), rows)


def _meaning(schema: Schema, parts: dict[str, Schema]) -> str:
    """What is said of a key; where that is nothing, what is said of its part."""
    part = parts.get(schema.get("$ref", "").rpartition("/")[2], {})
    return str(schema.get("description", part.get("description", "")))


def kind(schema: Schema) -> str:
    """What values a key has, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#card-{name.lower()})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(kind(each) for each in schema[several]))
    if schema.get("type") == "array":
        return f"list of {kind(schema['items'])}"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"object of {kind(values)}" if isinstance(values, dict) else "object"
    return {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(
        schema.get("type", ""), str(schema.get("type", "anything"))
    )


def _named(schema: Any) -> list[str]:
    """The parts that a key's schema names."""
    if isinstance(schema, dict):
        found = [schema["$ref"].rpartition("/")[2]] if "$ref" in schema else []
        return found + [
            name for key, each in schema.items() if key not in ("$ref", "discriminator") for name in _named(each)
        ]
    if isinstance(schema, list):
        return [name for each in schema for name in _named(each)]
    return []
