"""Checks that what the operator pages name exists: test files, tests, cases of tests, case files, vectors.

usage: check_operator_pages.py SOURCE_FOLDER

In a table of docs/operators, `a-b` and `a-b-*` after the name of a .json file are vectors of that page's corpus
folder ("each of `a`, `b`": ends of their names);
`Suite.Name` after the name of a _test.cc file is a GoogleTest or RapidCheck test in it, `snake_case` a name within it.
"""

import json
import pathlib
import re
import sys

TOKEN = re.compile(r"`([^`\n]+)`|([\w./-]+\.(?:json|cc|h))\b|\]\(([^)#\s]+)[^)]*\)")
TEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+)\s*,\s*(\w+)")
# Folders that hold the project's own sources.
SOURCES = ("corpus", "fuzz", "harness", "reference", "reports")


class Project:
    def __init__(self, root):
        self.root = root
        self.files = {}
        self.tests = {}  # of each file's name
        for folder in SOURCES:
            for path in sorted((root / folder).rglob("*")):
                if path.is_file():
                    self.files.setdefault(path.name, []).append(path)
                if path.name.endswith("_test.cc"):
                    found = {".".join(match) for match in TEST.findall(path.read_text(encoding="utf-8"))}
                    self.tests.setdefault(path.name, set()).update(found)

    def texts(self, name):
        return [path.read_text(encoding="utf-8") for path in self.files.get(name, [])]

    def has_test(self, file, name):
        pattern = re.compile(re.escape(name).replace(r"\*", ".*"))
        return any(pattern.fullmatch(test) for test in self.tests.get(file, ()))

    def vectors(self, operator, name):
        """The ids in a case file of the operator, or None if there is no such file."""
        path = self.root / "corpus" / operator / name
        if not path.is_file():
            return None
        return {case.get("id") for case in json.loads(path.read_text(encoding="utf-8"))["cases"]}


def problem_of(project, page, file, token, is_part):
    """What is wrong with a quoted name after the name of a file, or None. A part of vectors' names ends some."""
    if file is None or " " in token:
        return None
    if file.endswith("_test.cc") and re.fullmatch(r"[A-Z]\w*\.[A-Z*][\w*]*", token):
        return None if project.has_test(pathlib.Path(file).name, token) else f"no test {token} in {file}"
    if file.endswith(".json"):
        ids = project.vectors(page.stem, file)
        if ids is None:
            return None  # said of the file itself
        pattern = re.compile(re.escape(token).replace(r"\*", ".*"))
        if any(pattern.fullmatch(name) or (is_part and f"-{token}" in name) for name in ids):
            return None
        return f"no vector {token} in {file}"
    if file.endswith("_test.cc") and re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)+", token):
        quoted = (f'"{token}"', f"{token}")
        return None if any(q in text for q in quoted for text in project.texts(file)) else f"no {token} in {file}"
    return None


def check_line(project, page, line):
    """Problems of one line of a table: names count for the file named last before them."""
    if "|" not in line:
        return
    for cell in line.split("|"):
        file = None
        for quoted, named, link in TOKEN.findall(cell):
            if link:
                if "://" not in link and not (page.parent / link).exists():
                    yield f"no file {link}"
            elif named:
                file = named
                exists = project.vectors(page.stem, named) is not None or pathlib.Path(named).name in project.files
                if not exists:
                    yield f"no file {named}"
            else:
                problem = problem_of(project, page, file, quoted, "each of" in cell)
                if problem:
                    yield problem


def problems_of(project, page, text):
    for number, line in enumerate(text.splitlines(), start=1):
        for problem in check_line(project, page, line):
            yield f"{page.name}:{number}: {problem}"


def misses(project, page):
    """Lines with one wrong name each that go unnoticed: the check is checked before it is believed."""
    lines = (
        "| gone_test.cc |",
        "| gone.json |",
        "| judge_test.cc `Judge.IsGone` |",
        "| geometry_test.cc `Judge.AsksForShapeAndType` |",
        "| operators_test.cc `no_such_rejection` |",
        f"| {next((project.root / 'corpus' / page.stem).glob('*.json')).name} `no-such-vector` |",
        "| [gone](../../gone) |",
    )
    return [line for line in lines if not list(problems_of(project, page, line))]


def main(root):
    project = Project(root)
    pages = [page for page in sorted((root / "docs" / "operators").glob("*.md")) if (root / "corpus" / page.stem).is_dir()]
    if not pages:
        sys.exit("no operator pages found")
    problems = [problem for page in pages for problem in problems_of(project, page, page.read_text(encoding="utf-8"))]
    problems += [f"unnoticed: {line}" for line in misses(project, pages[0])]
    print("\n".join(problems + [f"{len(pages)} pages, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
