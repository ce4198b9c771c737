"""Pages of what `qconform list` prints and no page repeats: the defect models, and the corner cases."""

import json
import subprocess

from commands import code, escaped


def listed(program, topic):
    """The entries of `qconform list TOPIC --json`."""
    command = [str(program), "list", topic, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout)


def by_operators(entries):
    """(operators, their entries), in the order of the first entry of each."""
    groups = {}
    for entry in entries:
        groups.setdefault(", ".join(entry["operators"]), []).append(entry)
    return groups.items()


def page_of(title, source, entries, columns):
    """`columns` has (heading, what an entry has there) pairs."""
    text = [f"# {title}", "", f"{len(entries)} entries, as {code(source)} prints them."]
    for operators, group in by_operators(entries):
        text += ["", f"## {operators}", "", "".join(f"| {heading} " for heading, _ in columns) + "|", "|---" * len(columns) + "|"]
        text += ["".join(f"| {cell(entry)} " for _, cell in columns) + "|" for entry in group]
    return "\n".join(text) + "\n"


def evidence_of(defect):
    return escaped(defect["evidence"] or "plausible; no report known")


def computed_by(defect):
    admitted = f" (admitted in {', '.join(defect['admitted'])})" if defect["admitted"] else ""
    return escaped(defect["description"] + admitted)


DEFECTS = (("id", lambda defect: code(defect["id"])), ("what it computes", computed_by),
           ("shows on", lambda defect: escaped(defect["trigger"])), ("rule", lambda defect: escaped(defect["rule"])),
           ("stages", lambda defect: ", ".join(code(stage) for stage in defect["stages"])), ("seen in", evidence_of))
CORNER_CASES = (("id", lambda case: code(case["name"])), ("rules", lambda case: escaped(case["rules"])),
           ("counted", lambda case: escaped(case["label"])), ("why", lambda case: escaped(case["description"])))


def write(program, folder):
    """Writes the pages, and gives (title, name of the page) of each."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = []
    for title, topic, columns in (("All defect models", "defects", DEFECTS), ("All corner cases", "corner-cases", CORNER_CASES)):
        text = page_of(title, f"qconform list {topic} --json", listed(program, topic), columns)
        (folder / f"{topic}.md").write_text(text, encoding="utf-8")
        pages.append((title, f"{topic}.md"))
    return pages
