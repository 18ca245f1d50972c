# SPDX-License-Identifier: BSD-3-Clause
"""keys.py SCHEMA DOCUMENT: every key of a result document is one that its JSON schema describes, and holds what the
schema says. Stricter than the schema, which leaves room for keys of later versions."""
import json, re, sys

schema = json.load(open(sys.argv[1]))
types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None), "array": list, "object": dict}


def check(value, rule, path):
    if "$ref" in rule:
        rule = schema["$defs"][rule["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in rule:
        return value is None or check(value, rule["anyOf"][0], path)
    names = [rule["type"]] if isinstance(rule["type"], str) else rule["type"]
    assert any(isinstance(value, types[n]) and (n == "boolean" or not isinstance(value, bool)) for n in names), (path, value, names)
    if isinstance(value, str) and "pattern" in rule:
        assert re.search(rule["pattern"], value), (path, value)
    if isinstance(value, list):
        for i, item in enumerate(value):
            check(item, rule["items"], f"{path}[{i}]")
    if isinstance(value, dict):
        for key, item in value.items():
            assert key in rule["properties"], f"{path}.{key} is not described"
            check(item, rule["properties"][key], f"{path}.{key}")
        assert value, f"{path} is empty"


document = json.load(open(sys.argv[2]))
check(document, {"$ref": "#/$defs/" + document["schema"].split("-")[1].split("/")[0]}, document["schema"])
