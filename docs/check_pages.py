#!/usr/bin/env python3
"""Checks README.md and the other pages of the root and of docs: every link and anchor leads somewhere, the navigation of the
site has every page once, docs/contents.md leads to every page, every command, option and script in them exists, and every
function of a table row "| `function` | [file](path.cc) |" stands in its file.

usage: check_pages.py SOURCE_FOLDER [--program QCONFORM]

Commands are looked up in what `qconform COMMAND --help` and `scripts/NAME --help` print; without --program these are
not checked. Options are those between the command and the next |, ;, &, # or " -- ".
"""

import argparse
import functools
import pathlib
import re
import subprocess
import sys
import tempfile

import page

# `qconform` and scripts as words of their own: not part of a path, an option's value or a name.
COMMAND = re.compile(r"(?<![\w./-])(?:\S*/)?(qconform|scripts/[\w./-]+)(?![\w./:@-])(?: ([^|;&#<>]*))?")
# What stands before a word that is run; elsewhere it may be part of a sentence.
BEGINS_COMMAND = re.compile(r"(?:^|[|;&(]|\$|\bdo|\b[A-Z_]+=\S+|\breplay)\s*$")
# A row that says which function of which file does something.
FUNCTION = re.compile(r"\| `([A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)` \| \[[^]]*\]\(([^)]*\.(?:cc|h))\) \|")
# In code that starts other programs, options are theirs.
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*|-[a-zA-Z])(?=[\s=]|$)")


class Problems:
    def __init__(self, root):
        self.root = root
        self.found = []

    def add(self, path, number, text):
        self.found.append(f"{path.relative_to(self.root)}:{number}: {text}")


def check_links(root, pages, problems):
    count = 0
    for each in pages.values():
        for link in each.links():
            if page.is_outside(link.target):
                continue
            count += 1
            target, _, anchor = link.target.partition("#")
            path = (each.path.parent / target).resolve() if target else each.path
            if root not in path.parents or not path.exists():
                problems.add(each.path, link.number, f"no file {target}")
            elif anchor and path.suffix == ".md":
                other = pages.get(path) or page.Page(path)
                if anchor not in other.slugs:
                    problems.add(each.path, link.number, f"no heading #{anchor} in {path.relative_to(root)}")
            elif anchor:
                problems.add(each.path, link.number, f"an anchor of a file that is no page: {link.target}")
    return count


def check_functions(pages, problems):
    for each in pages.values():
        for number, line in enumerate(each.path.read_text(encoding="utf-8").splitlines() if each.path.exists() else [], 1):
            problem = function_problem(each.path.parent, line)
            if problem:
                problems.add(each.path, number, problem)


def function_problem(folder, line):
    """What is wrong with a row that names a function and its file, or None."""
    row = FUNCTION.search(line)
    path = folder / row[2] if row else None
    if not row or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    is_there = all(re.search(rf"\b{name}\b", text) for name in row[1].split("::"))
    is_called = re.search(rf"\b{row[1].split('::')[-1]}\(", text)
    return None if is_there and is_called else f"no function {row[1]} in {row[2]}"


def check_navigation(root, problems):
    config = root / "docs/site/mkdocs.yml"
    named = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", config.read_text(encoding="utf-8"), re.MULTILINE)
    there = [str(path.relative_to(root / "docs")) for path in sorted((root / "docs").rglob("*.md"))]
    there += ["index.md", "contributing.md", "changelog.md", "security.md", "roadmap.md", "code-of-conduct.md"]
    for name in sorted(set(named) | set(there)):
        if named.count(name) != 1 or name not in there:
            problems.add(config, 1, f"{name}: {named.count(name)} times in the navigation, {there.count(name)} in docs")


def check_contents(root, pages, problems):
    contents = root / "docs/contents.md"
    reached = {(contents.parent / link.target.partition("#")[0]).resolve() for link in pages[contents].links()}
    for path in set(pages) - reached - {contents, root / "README.md"}:
        problems.add(contents, 1, f"no link to {path.relative_to(root)}")


class Helps:
    """What the program and the scripts say of themselves."""

    def __init__(self, root, program):
        self.root, self.program = root, program
        self.commands = self._commands_of(())

    @functools.lru_cache(maxsize=None)
    def text(self, words):
        command = [str(self.program), *words[1:]] if words[0] == "qconform" else [str(self.root / words[0]), *words[1:]]
        result = subprocess.run(command + ["--help"], capture_output=True, text=True, check=False, timeout=60,
                                stdin=subprocess.DEVNULL, cwd=tempfile.gettempdir())
        return result.stdout if result.returncode == 0 else ""

    def _commands_of(self, words):
        found = re.search(r"^Subcommands:\n((?:  .*\n?)*)", self.text(("qconform", *words)), re.MULTILINE)
        return set(re.findall(r"^  ([a-z][\w-]*)", found.group(1), re.MULTILINE)) if found else set()

    @functools.lru_cache(maxsize=None)
    def options(self, words):
        return set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*|-[a-zA-Z])(?![\w-])", self.text(words)))

    def problem_of(self, name, rest, begins_command):
        """What is wrong with a command, or None."""
        words = [name]
        arguments = (rest or "").split()
        if name == "qconform":
            # A synopsis has "qconform COMMAND".
            if not arguments or not re.fullmatch(r"[a-z]+", arguments[0]):
                arguments = [argument for argument in arguments if argument in ("--help", "--version")]
            elif arguments[0] not in self.commands | {"manual", "worker"}:
                return f"no command: qconform {arguments[0]}" if begins_command else None
            else:
                words.append(arguments.pop(0))
                if arguments and arguments[0] in self._commands_of(tuple(words[1:])):
                    words.append(arguments.pop(0))
        elif not (self.root / name).is_file():
            return None if (self.root / name).is_dir() else f"no script {name}"
        if "--" in arguments:
            arguments = arguments[:arguments.index("--")]
        text = re.sub(r"'[^']*'|\"[^\"]*\"", "", " ".join(arguments))
        unknown = [option for option in OPTION.findall(text) if option not in self.options(tuple(words))]
        return f"{' '.join(words)} has no option {', '.join(unknown)}" if unknown else None


def check_commands(pages, helps, problems):
    count = 0
    for each in pages.values():
        if each.path.name == "CHANGELOG.md":  # also of what was there once
            continue
        codes = [(block.number, line) for block in each.blocks
                 for line in re.sub(r"\\\n\s*", " ", "\n".join(block.lines)).splitlines()]
        for number, code in codes + each.code_spans():
            for match in COMMAND.finditer(code):
                count += 1
                begins_command = bool(BEGINS_COMMAND.search(code[:match.start()]))
                problem = helps.problem_of(match.group(1), match.group(2), begins_command)
                if problem:
                    problems.add(each.path, number, problem)
    return count


def unnoticed(root, helps):
    """Mistakes that the check takes for right: it is checked itself before it is believed."""
    there = root / "README.md"
    mistakes = ["[x](docs/gone.md)", "[x](#gone)", "[two\nlines](docs/numerics.md#gone)", "[x](../outside)"]
    if helps:
        mistakes += ["`qconform gone`", "    qconform run --gone 1", "    qconform report junit --until-killed",
                     "`qconform\nrun --gone`", "    x=1 qconform run \\\n      --gone", "    scripts/test --gone",
                     "```\n$ qconform replay a.json --gone | head\n```", "`scripts/gone`", "1. Do this:\n\n       qconform run --gone"]
    for text in mistakes:
        problems = Problems(root)
        pages = {there: page.Page(there, "# Heading\n\n" + text + "\n")}
        check_links(root, pages, problems)
        if helps:
            check_commands(pages, helps, problems)
        if not problems.found:
            yield f"unnoticed: {text!r}"
    problems = Problems(root)
    contents = root / "docs/contents.md"
    check_contents(root, {contents: page.Page(contents, "# Heading\n"), root / "docs/gate.md": None}, problems)
    if not problems.found:
        yield "unnoticed: a page that contents.md does not lead to"
    if not function_problem(root, "| a step | `gone` | [main.cc](harness/cli/main.cc) |"):
        yield "unnoticed: a function that is gone"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--program", type=lambda text: pathlib.Path(text).resolve())
    options = parser.parse_args()
    pages = {path: page.Page(path) for path in page.pages_of(options.root)}
    problems = Problems(options.root)
    links = check_links(options.root, pages, problems)
    check_navigation(options.root, problems)
    check_contents(options.root, pages, problems)
    check_functions(pages, problems)
    helps = Helps(options.root, options.program) if options.program else None
    commands = check_commands(pages, helps, problems) if helps else 0
    lines = problems.found + list(unnoticed(options.root, helps))
    counted = f", {commands} commands" if helps else ""
    print("\n".join(lines + [f"{len(pages)} pages, {links} links{counted}: {len(lines)} problems"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
