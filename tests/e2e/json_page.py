#!/usr/bin/env python3
"""Writes the sections of docs/json.md, from docs/schemas. `--check`: says instead whether they are up to date."""
from __future__ import annotations

import difflib
import json
import pathlib
import sys
from typing import Any, Iterator

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "json.md"
#: In the order of docs/cli.md; of those that answer alike, one line.
COMMANDS = ["run", "resume", "validate", "preview", "check", "init", "stop", "pause", "unpause", "checkpoint", "add", "set",
            "status", "ls", "show", "compare", "note", "events", "best", "checkpoints", "diff", "importance", "lineage", "report", "export",
            "simulate", "suggest", "tell", "pull", "push", "fetch", "remote-verify", "version"]


def read(name: str) -> dict[str, Any]:
    return json.loads((DOCS / "schemas" / f"{name}.json").read_text())


def whole(schema: dict[str, Any]) -> dict[str, Any]:
    """With the part that it refers to; another command's answer stays a reference."""
    name = schema.get("$ref", "")
    if not name.startswith("_"):
        return schema
    return {**whole(read(name)), **{word: rule for word, rule in schema.items() if word != "$ref"}}


def type_of(schema: dict[str, Any]) -> str:
    schema = whole(schema)
    if "$ref" in schema:
        return "object"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema and all("properties" not in rule for rule in schema["anyOf"]):
        has_null = any(None in rule.get("enum", []) for rule in schema["anyOf"])
        return "number or null" if has_null else "number"
    if "enum" in schema:
        return ", ".join("null" if value is None else f"`{value}`" if value else "empty" for value in schema["enum"])
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " or ".join("list" if name == "array" else name for name in names)


def rows_of(schema: dict[str, Any], at: str = "") -> Iterator[tuple[str, str, str]]:
    """The fields below `at`, nested ones as jq names them."""
    schema = whole(schema)
    if "items" in schema:
        yield from rows_of(schema["items"], at + "[]")
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        yield from rows_of(others, at + ".NAME")
    for name, field in schema.get("properties", {}).items():
        place = f"{at}.{name}" if at else name
        field = whole(field)
        kind = type_of(field) + (", may be absent" if field.get("optional") else "")
        if "items" in field and "properties" not in whole(field["items"]):
            kind += f" of {type_of(field['items'])}s"
        yield place, kind, field["description"]
        if "$ref" not in field:
            yield from rows_of(field, place)


def table_of(schema: dict[str, Any]) -> str:
    lines = ["| field | value | meaning |", "| --- | --- | --- |"]
    inner = whole(schema)
    rows = rows_of(inner["items"] if inner.get("type") == "array" else inner)
    return "\n".join(lines + [f"| `{place}` | {kind} | {meaning} |" for place, kind, meaning in rows]) + "\n"


def kinds_of(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of an answer that may be of several kinds, each once."""
    parts = [whole(rule.get("items", rule)) for rule in schema["anyOf"]]
    return [part for i, part in enumerate(parts) if part not in parts[:i]]


def sections() -> Iterator[str]:
    by_ref: dict[str, list[str]] = {}
    for name in COMMANDS:
        ref = read(name).get("$ref", name)
        by_ref.setdefault(ref, []).append(read(name)["title"])
    for ref, titles in by_ref.items():
        schema = read(ref)
        yield f"## {', '.join(f'`{title}`' for title in titles)}\n"
        yield schema["description"] + "\n"
        if "anyOf" not in schema:
            yield table_of(schema)
            continue
        for part in kinds_of(schema):
            yield f"{part['title'][0].upper()}{part['title'][1:]}:\n"
            yield table_of(part)


def main() -> int:
    page = PAGE.read_text()
    wanted = page[:page.index("\n## ") + 1] + "\n".join(sections())
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(wanted)
        return 0
    sys.stdout.writelines(difflib.unified_diff(page.splitlines(True), wanted.splitlines(True), str(PAGE), "docs/schemas"))
    return int(page != wanted)


if __name__ == "__main__":
    sys.exit(main())
