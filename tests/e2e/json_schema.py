"""Holds JSON values against the schemas that `tune schema` prints, strictly: a field that a schema does not name is
wrong, too. Knows the words that these schemas use, and no others."""
from __future__ import annotations

from typing import Any, Iterator

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
#: What says nothing of a value.
TEXTS = {"$schema", "title", "description"}


def is_of_type(value: Any, name: str) -> bool:
    if name in ("integer", "number"):
        is_number = isinstance(value, int) or (name == "number" and isinstance(value, float))
        return is_number and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


class Schema:
    """`seen` collects the places of the schema that had a value other than null."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.seen: set[str] = set()

    def problems(self, value: Any) -> list[str]:
        found, seen = self._judge(self.schema, value, "", "")
        if not found:
            self.seen |= seen
        return found

    def unseen(self) -> set[str]:
        """Places that no value has had so far."""
        return set(fields_of(self.schema)) - self.seen

    def _judge(self, schema: dict[str, Any], value: Any, at: str, place: str) -> tuple[list[str], set[str]]:
        found: list[str] = []
        seen: set[str] = set()
        for word, rule in schema.items():
            if word == "type":
                names = rule if isinstance(rule, list) else [rule]
                if not any(is_of_type(value, name) for name in names):
                    found.append(f"{at or 'the answer'} is no {' or '.join(names)}: {value!r:.80}")
            elif word == "enum":
                if value not in rule:
                    found.append(f"{at} is none of {rule}: {value!r:.80}")
            elif word == "const":
                if value != rule:
                    found.append(f"{at} is not {rule!r}: {value!r:.80}")
            elif word in ("anyOf", "oneOf"):
                self._judge_any(rule, value, at, place, found, seen)
            elif word == "items":
                for i, item in enumerate(value if isinstance(value, list) else []):
                    merge(found, seen, self._judge(rule, item, f"{at}[{i}]", place and place + "[]"))
            elif word == "properties":
                if isinstance(value, dict):
                    self._judge_fields(schema, value, at, place, found, seen)
            elif word == "additionalProperties":
                others = [name for name in value if name not in schema.get("properties", {})] if isinstance(value, dict) else []
                for name in others if isinstance(rule, dict) else []:
                    merge(found, seen, self._judge(rule, value[name], f"{at}.{name}", place + ".*"))
            elif word not in TEXTS and word != "required":
                raise AssertionError(f"a schema has the word '{word}', which {__name__} does not know")
        return found, seen

    def _judge_any(self, rules: list[dict[str, Any]], value: Any, at: str, place: str, found: list[str],
                   seen: set[str]) -> None:
        all_found = []
        for rule in rules:
            wrong, seen_there = self._judge(rule, value, at, place)
            if not wrong:
                seen |= seen_there
                return
            all_found.append(wrong)
        found += min(all_found, key=len)

    def _judge_fields(self, schema: dict[str, Any], value: dict[str, Any], at: str, place: str, found: list[str],
                      seen: set[str]) -> None:
        fields = schema["properties"]
        found += [f"{at}.{name} is not there" for name in schema["required"] if name not in value]
        if not schema.get("additionalProperties"):
            found += [f"{at}.{name} is in no schema" for name in value if name not in fields]
        for name in set(fields) & set(value):
            if value[name] is not None:
                seen.add(f"{place}.{name}")
            merge(found, seen, self._judge(fields[name], value[name], f"{at}.{name}", f"{place}.{name}"))


def merge(found: list[str], seen: set[str], judged: tuple[list[str], set[str]]) -> None:
    found += judged[0]
    seen |= judged[1]


def fields_of(schema: dict[str, Any], place: str = "") -> Iterator[str]:
    """The places of all fields: `.best.value`, `.checkpoints[].path`, `.metrics.*.last`. Those of an answer that is a
    list are those of its items."""
    for rule in schema.get("anyOf", []):
        yield from fields_of(rule, place)
    if "items" in schema:
        yield from fields_of(schema["items"], place and place + "[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from fields_of(schema["additionalProperties"], place + ".*")
    for name, field in schema.get("properties", {}).items():
        yield f"{place}.{name}"
        yield from fields_of(field, f"{place}.{name}")
