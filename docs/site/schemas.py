"""A page for each JSON Schema: its members, their types and what they say."""

import json

from commands import code, escaped

# What a schema says of a value beside its type, in the words of the page.
LIMITS = (("minimum", "at least {}"), ("maximum", "at most {}"), ("minLength", "at least {} characters"),
          ("maxLength", "at most {} characters"), ("minItems", "at least {} entries"),
          ("maxItems", "at most {} entries"), ("pattern", "like {}"), ("format", "{}"))


def named(reference):
    """A link to the section of a definition."""
    name = reference.rpartition("/")[2]
    return f"[{escaped(name)}](#{anchor(name)})" if reference.startswith("#/$defs/") else code(reference)


def anchor(name):
    return "of-" + name.lower().replace("_", "-")


def type_of(schema):
    """What a value may be, on one line."""
    if schema is True or schema == {}:
        return "anything"
    if "$ref" in schema:
        return named(schema["$ref"])
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    if "enum" in schema:
        return ", ".join(code(json.dumps(value)) for value in schema["enum"])
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return " or ".join(type_of(each) for each in schema[several])
    kind = schema.get("type", "object" if "properties" in schema else "anything")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        items = schema.get("items", schema.get("prefixItems"))
        if isinstance(items, list):
            return "array of " + ", ".join(type_of(each) for each in items)
        return "array of " + type_of(items) if items else "array"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return "object of " + type_of(schema["additionalProperties"])
    return kind


def text_of(schema):
    if not isinstance(schema, dict):
        return ""
    limits = [words.format(code(str(schema[key])) if key == "pattern" else schema[key])
              for key, words in LIMITS if key in schema]
    parts = [escaped(schema.get("description", "").replace("\n", " "))]
    if limits:
        parts.append("(" + ", ".join(limits) + ")")
    return " ".join(part for part in parts if part)


def rows_of(schema, prefix=""):
    """A row for each member, those of an object without a name of its own below it."""
    required = schema.get("required", [])
    for name, member in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        optional = "" if name in required else "optional"
        yield f"| {code(path)} | {type_of(member)} | {optional} | {text_of(member)} |"
        inner, mark = member, "."
        while isinstance(inner, dict) and isinstance(inner.get("items"), dict):
            inner, mark = inner["items"], "[]" + mark
        if isinstance(inner, dict) and "properties" in inner:
            yield from rows_of(inner, path + mark)


def members_of(schema):
    rows = list(rows_of(schema))
    if not rows:
        return [type_of(schema)]
    return ["| member | value | | |", "|---|---|---|---|", *rows]


def page_of(schema, name):
    text = [f"# {schema.get('title', name)}", "", f"File `{name}`. {escaped(schema.get('description', ''))}", ""]
    text += members_of(schema)
    for definition, body in schema.get("$defs", {}).items():
        text += ["", f"## {definition} {{#{anchor(definition)}}}", "", text_of(body), ""]
        text += members_of(body)
    return "\n".join(text) + "\n"


def write(schemas, folder):
    """Writes the pages of these files, and gives (title, name of the page) of each."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = []
    for path in schemas:
        schema = json.loads(path.read_text(encoding="utf-8"))
        name = path.name.removesuffix(".schema.json")
        (folder / f"{name}.md").write_text(page_of(schema, path.name), encoding="utf-8")
        pages.append((name.rpartition("-")[0], f"{name}.md"))
    return pages
