#!/usr/bin/env python3
"""Prepares what mkdocs builds the site from: the pages of the project, and those that are generated.

usage: prepare.py SOURCE_FOLDER --program QCONFORM --schemas FOLDER --out FOLDER

Pages are written for GitHub. mkdocs gets the same text with what its Markdown needs: anchors as GitHub makes them, code
in fences, a blank line before lists. A link to a file outside docs leads to a page that shows the file; a link to a
folder becomes the folder's name, because a folder of sources is not part of the site.
"""

import argparse
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import commands  # noqa: E402
import lists  # noqa: E402
import page  # noqa: E402
import schemas  # noqa: E402

# Pages that do not lie in docs, and where they stand on the site.
MOVED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md",
         "SECURITY.md": "security.md", "ROADMAP.md": "roadmap.md", "CODE_OF_CONDUCT.md": "code-of-conduct.md"}
SHOWN_LINES = 400  # of a file that is not a page
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".hpp": "cpp", ".inc": "cpp", ".c": "c", ".py": "python", ".json": "json",
             ".yml": "yaml", ".yaml": "yaml", ".mjs": "javascript"}


class Site:
    def __init__(self, root, out):
        self.root, self.out = root, out
        self.shown = set()  # files that have a page of their own

    def place_of(self, path):
        """Where a page or picture of the project stands on the site, or None."""
        name = str(path.relative_to(self.root))
        if name in MOVED:
            return MOVED[name]
        return name.removeprefix("docs/") if name.startswith("docs/") and path.is_file() else None

    def link(self, of, link):
        """The text for a link of a page."""
        if page.is_outside(link.target) or link.target.startswith("#"):
            return None
        target, _, anchor = link.target.partition("#")
        path = (of.path.parent / target).resolve()
        place = self.place_of(path)
        if place is None and path.is_dir():
            name = str(path.relative_to(self.root))
            text = link.text.strip("`").rstrip("/")
            return f"`{name}`" if text in (name, path.name) else f"{link.text} (`{name}`)"
        if place is None:
            self.shown.add(path)
            place = f"files/{path.relative_to(self.root)}.md"
        here = pathlib.PurePosixPath(self.place_of(of.path)).parent
        up = "../" * len(here.parts)
        mark = "!" if of.text[link.start] == "!" else ""
        # A page that is called by its file has a title here.
        text = self.title_of(path) if link.text.strip("`") in (path.name, f"docs/{path.name}") else link.text
        return f"{mark}[{text}]({up}{place}{'#' + anchor if anchor else ''})"

    def title_of(self, path):
        headings = page.Page(path).headings if path.suffix == ".md" else []
        return headings[0].text if headings else path.name

    def convert(self, each):
        text = each.text
        for link in reversed(each.links()):
            replacement = self.link(each, link)
            if replacement is not None:
                # Lines keep their numbers.
                newlines = text.count("\n", link.start, link.end) - replacement.count("\n")
                text = text[:link.start] + replacement + "\n" * newlines + text[link.end:]
        return convert_lines(page.Page(each.path, text))

    def write_pages(self):
        for path in page.pages_of(self.root):
            target = self.out / self.place_of(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.convert(page.Page(path)), encoding="utf-8")
        shutil.copytree(self.root / "docs/images", self.out / "images", dirs_exist_ok=True)
        for name in ("extra.css", "extra.js"):
            shutil.copy(self.root / "docs/site" / name, self.out)

    def write_files(self):
        for path in sorted(self.shown):
            name = path.relative_to(self.root)
            lines = path.read_text(encoding="utf-8").splitlines()
            text = [f"# {name}", ""]
            if len(lines) > SHOWN_LINES:
                text += [f"The first {SHOWN_LINES} of {len(lines)} lines.", ""]
            text += [f"~~~~{LANGUAGES.get(path.suffix, 'text')}", *lines[:SHOWN_LINES], "~~~~"]
            target = self.out / "files" / f"{name}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(text) + "\n", encoding="utf-8")


def language_of(block):
    if block.info:
        return block.info.split()[0]
    return "console" if any(line.startswith("$ ") for line in block.lines) else "text"


def convert_lines(of):
    """The page's text in the Markdown of mkdocs."""
    blocks = {block.number - (1 if is_fenced(of, block) else 0): block for block in of.blocks}
    headings = {heading.number: heading for heading in of.headings}
    result = []
    for number, line in enumerate(of.lines, start=1):
        if number in blocks:
            block = blocks[number]
            margin = "    " if block.in_list else ""
            result += [f"{margin}~~~~{language_of(block)}", *(margin + each for each in block.lines), f"{margin}~~~~"]
        elif of.is_code[number - 1] or page.COMMENT.match(line):
            continue
        elif number in headings:
            heading = headings[number]
            # mkdocs takes a page's title as it is.
            anchor = f" {{#{heading.slug}}}" if heading.level > 1 else ""
            result.append(f"{'#' * heading.level} {heading.text}{anchor}")
        else:
            result.append(convert_text(line, result[-1] if result else ""))
            if page.LIST_ITEM.match(line) and len(result) > 1 and is_paragraph(result[-2]):
                result.insert(-1, "")
    return "\n".join(result) + "\n"


def is_fenced(of, block):
    return block.number > 1 and bool(page.FENCE.match(of.lines[block.number - 2]))


def is_paragraph(line):
    return bool(line.strip()) and not page.LIST_ITEM.match(line) and not line.startswith((" ", "|", "#", "~~~~"))


def convert_text(line, previous):
    # GitHub starts no list in the middle of an item's text.
    if previous.strip() and re.match(r"^\s+\d+\. ", line):
        return line.replace(". ", "\\. ", 1)
    return line


def navigation(text, generated):
    """The configuration with generated pages in place of the lines NAME: FOLDER/*."""
    def pages(match):
        indent, title, folder = match.groups()
        lines = [f"{indent}- {title}:"]
        lines += [f'{indent}    - "{name}": {folder}/{file}' for name, file in generated[folder]]
        return "\n".join(lines)
    return re.sub(r"^( +)- ([^:\n]+): (\w+)/\*$", pages, text, flags=re.MULTILINE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--program", required=True)
    parser.add_argument("--schemas", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    root, pages = options.root, options.out / "pages"
    shutil.rmtree(options.out, ignore_errors=True)
    pages.mkdir(parents=True)
    site = Site(root, pages)
    site.write_pages()
    site.write_files()
    files = [*options.schemas.glob("*.schema.json"), *(root / "corpus/schema").glob("*.schema.json"),
             root / "waivers/waivers-1.schema.json"]
    generated = {"commands": commands.write(options.program, pages / "commands"),
                 "lists": lists.write(options.program, pages / "lists"),
                 "schemas": schemas.write(sorted(files, key=lambda path: path.name), pages / "schemas")}
    config = (root / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    (options.out / "mkdocs.yml").write_text(navigation(config, generated), encoding="utf-8")
    print(f"{sum(1 for _ in pages.rglob('*.md'))} pages, {len(site.shown)} of them files that pages link to")


if __name__ == "__main__":
    main()
