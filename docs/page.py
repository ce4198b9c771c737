"""Pages in GitHub's Markdown: their text, headings, links and blocks of code. The checks and the site share it."""

import dataclasses
import re

FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})\s*([^`]*)$")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
LIST_ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s+")
COMMENT = re.compile(r"^\s*<!--\s*(.*?)\s*-->\s*$")
CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# The text may hold brackets once; (?<!\\) leaves "\[" alone.
LINK = re.compile(r"(?<!\\)!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
OUTSIDE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


@dataclasses.dataclass
class Block:
    """Code, fenced or indented."""

    number: int  # of its first line, counted from 1
    info: str  # what stands behind the fence; "" where it is indented
    lines: list  # without fence and indentation
    comments: list  # texts of the HTML comments right above
    in_list: bool = False  # it belongs to the item of a list


@dataclasses.dataclass
class Heading:
    number: int
    level: int
    text: str
    slug: str


@dataclasses.dataclass
class Link:
    number: int
    text: str
    target: str
    start: int  # of the whole link in Page.text
    end: int


def is_outside(target):
    """Whether a link leads to another site."""
    return bool(OUTSIDE.match(target)) or target.startswith("//")


def slug_of(text):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"[^\w\- ]", "", text.strip().lower())
    return text.replace(" ", "-")


class Page:
    def __init__(self, path, text=None):
        self.path = path
        self.text = path.read_text(encoding="utf-8") if text is None else text
        self.lines = self.text.splitlines()
        self.blocks = []
        self.is_code = [False] * len(self.lines)  # of each line, fences included
        self._find_blocks()
        self.headings = self._find_headings()
        self.slugs = {heading.slug for heading in self.headings}

    def _find_blocks(self):
        comments, item, i = [], 0, 0  # item: how far the text of the list's item is indented; 0 outside lists
        while i < len(self.lines):
            line = self.lines[i]
            fence = FENCE.match(line)
            if fence:
                i = self._take_fence(i, fence, comments)
                comments = []
                continue
            after = self.lines[i - 1] if i > 0 else ""
            if line.strip() and line.startswith(" " * (item + 4)) and (not after.strip() or COMMENT.match(after)):
                i = self._take_indented(i, item + 4, comments)
                comments = []
                continue
            comment = COMMENT.match(line)
            if comment:
                comments.append(comment.group(1))
            elif line.strip():
                comments = []
                start = LIST_ITEM.match(line)
                item = len(start.group()) if start else item if line.startswith(" ") else 0
            i += 1

    def _take_fence(self, first, fence, comments):
        indent, mark, info = fence.groups()
        last = first + 1
        while last < len(self.lines) and not re.match(r"^ {0,3}" + mark[0] + "{%d,}\\s*$" % len(mark), self.lines[last]):
            last += 1
        lines = [line.removeprefix(indent) for line in self.lines[first + 1:last]]
        self._add(first, last + 1, Block(first + 2, info.strip(), lines, comments))
        return last + 1

    def _take_indented(self, first, indent, comments):
        last = first
        while last < len(self.lines) and (self.lines[last].startswith(" " * indent) or not self.lines[last].strip()):
            last += 1
        while not self.lines[last - 1].strip():
            last -= 1
        lines = [line[indent:] for line in self.lines[first:last]]
        self._add(first, last, Block(first + 1, "", lines, comments, indent > 4))
        return last

    def _add(self, first, end, block):
        self.blocks.append(block)
        for i in range(first, min(end, len(self.lines))):
            self.is_code[i] = True

    def _find_headings(self):
        headings, seen = [], {}
        for i, line in enumerate(self.lines):
            match = None if self.is_code[i] else HEADING.match(line)
            if not match:
                continue
            slug = slug_of(match.group(2))
            seen[slug] = seen.get(slug, -1) + 1
            if seen[slug]:
                slug += f"-{seen[slug]}"
            headings.append(Heading(i + 1, len(match.group(1)), match.group(2), slug))
        return headings

    def masked(self):
        """The text with code and comments replaced by as many x, so that places stay the same."""
        lines = ["x" * len(line) if code else line for line, code in zip(self.lines, self.is_code)]
        text = "\n".join(lines) + ("\n" if self.text.endswith("\n") else "")
        text = re.sub(r"<!--.*?-->", lambda match: re.sub(r"[^\n]", "x", match.group()), text, flags=re.DOTALL)
        return CODE_SPAN.sub(lambda match: re.sub(r"[^\n]", "x", match.group()), text)

    def links(self):
        masked = self.masked()
        return [Link(masked.count("\n", 0, match.start()) + 1, self.text[match.start(1):match.end(1)], match.group(2),
                     match.start(), match.end())
                for match in LINK.finditer(masked)]

    def code_spans(self):
        """(line, text) of every `code` in the text."""
        lines = ["" if code else line for line, code in zip(self.lines, self.is_code)]
        text = "\n".join(lines)
        return [(text.count("\n", 0, match.start()) + 1, " ".join(match.group(2).split()))
                for match in CODE_SPAN.finditer(text)]


def pages_of(root):
    """The pages of the project, README first."""
    names = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "ROADMAP.md", "CODE_OF_CONDUCT.md"]
    return [root / name for name in names] + sorted((root / "docs").rglob("*.md"))
