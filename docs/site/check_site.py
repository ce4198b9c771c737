#!/usr/bin/env python3
"""Checks the built site: every link, anchor, picture, script and style leads to a file of the site, and no page loads
anything from elsewhere.

usage: check_site.py FOLDER
"""

import pathlib
import sys
import urllib.parse
from html.parser import HTMLParser

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "srcset")}


class Document(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            if name in ("href", "src", "srcset") and value:
                self.links.append((tag, name, value))


def problems_of(folder, path, documents):
    for tag, name, value in documents[path].links:
        parts = urllib.parse.urlsplit(value)
        if parts.scheme or parts.netloc:
            if (tag, name) in LOADED and parts.scheme not in ("data",):
                yield f"loads {value}"
            continue
        target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target = target / "index.html"
        if folder not in target.parents or not target.is_file():
            yield f"no file {value}"
        elif parts.fragment and target in documents and urllib.parse.unquote(parts.fragment) not in documents[target].anchors:
            yield f"no anchor {value}"


def main(folder):
    # 404.html is shown for any address, so that its own links are absolute.
    pages = [path for path in sorted(folder.rglob("*.html")) if path.name != "404.html"]
    documents = {path: Document(path.read_text(encoding="utf-8")) for path in pages}
    if not (folder / "index.html") in documents or not (folder / "search/search_index.json").is_file():
        sys.exit(f"check_site: {folder}: no site with a search index")
    lines = [f"{path.relative_to(folder)}: {problem}" for path in pages for problem in problems_of(folder, path, documents)]
    links = sum(len(document.links) for document in documents.values())
    print("\n".join(lines + [f"{len(pages)} pages, {links} links: {len(lines)} problems"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
