"""A page for each command, from the manual pages that `qconform manual` writes."""

import html
import pathlib
import re
import subprocess
import tempfile


def plain(text):
    """The text of a line of roff."""
    text = re.sub(r"\\f[A-Z]", "", text)
    return text.replace(r"\&", "").replace(r"\-", "-").replace(r"\e", "\\")


def escaped(text):
    """Text that Markdown shows as it is, in a cell of a table too; `code` stays code."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(code(part[1:-1]) if part.startswith("`") and len(part) > 2 else
                   re.sub(r"([\\`*_{}\[\]#|~])", r"\\\1", html.escape(part, quote=False)) for part in parts)


def code(text):
    """Text as code, in a cell of a table too. What Markdown would take for its own is written as entities."""
    return "<code>" + re.sub(r"[^\w ,.:/=\"'()-]", lambda match: f"&#{ord(match.group())};", text).replace("_", "&#95;") + "</code>"


def sections_of(roff):
    """{heading: its lines}; the title line of the page is left out."""
    sections, lines = {}, []
    for line in roff.splitlines():
        if line.startswith(".SH "):
            lines = sections.setdefault(line[4:], [])
        else:
            lines.append(line)
    return sections


def terms_of(lines):
    """(term, description) of each .TP."""
    terms = []
    for line in lines:
        if line == ".TP":
            terms.append([])
        else:
            terms[-1].append(plain(line))
    return [(term[0], " ".join(term[1:])) for term in terms]


def synopsis_of(lines):
    return " ".join(plain(re.sub(r"^\.[BI] ", "", line)) for line in lines)


def page_of(roff, own_name):
    """The page of one command."""
    sections = sections_of(roff)
    description = plain(" ".join(sections["NAME"])).partition(" - ")[2]
    command = own_name.replace("-", " ")
    text = [f"# {command}", "", escaped(description), "", "```", synopsis_of(sections["SYNOPSIS"]), "```"]
    if "COMMANDS" in sections:
        text += ["", "## Commands", "", "| command | what it does |", "|---|---|"]
        for name, what in terms_of(sections["COMMANDS"]):
            name = name.removesuffix("(1)")
            text.append(f"| [{name.replace('-', ' ')}]({name}.md) | {escaped(what)} |")
    if terms_of(sections.get("OPTIONS", [])):
        text += ["", "## Options", "", "| option | what it does |", "|---|---|"]
        text += [f"| {code(name)} | {escaped(what)} |" for name, what in terms_of(sections["OPTIONS"])]
    notes = [plain(line) for line in sections.get("NOTES", []) if line not in (".nf", ".fi")]
    if notes:
        text += ["", "## Notes", "", "```", *notes, "```"]
    return "\n".join(text) + "\n"


def write(program, folder):
    """Writes the pages, and gives (title, name of the page) of each, the program itself first."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as manual:
        subprocess.run([str(program), "manual", "--out", manual], check=True, stdin=subprocess.DEVNULL)
        names = sorted(path.stem for path in pathlib.Path(manual).glob("*.1"))
        for name in names:
            roff = (pathlib.Path(manual) / f"{name}.1").read_text(encoding="utf-8")
            (folder / f"{name}.md").write_text(page_of(roff, name), encoding="utf-8")
    return [(name.replace("-", " "), f"{name}.md") for name in names]
