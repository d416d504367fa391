"""Hooks of MkDocs: links that leave docs/, lists, and the weight of pages in the search.

Pages are read on this site and in the browser of a repository. A link such as `../ARCHITECTURE.md`
works in the repository. A site contains only docs/, so:

* A nav entry `repository/PATH` adds the Markdown file PATH of the repository to the site.
* A link to such a file, from any page, becomes a link to the page of the site.
* A link to a folder of docs/ becomes a link to its README.md, or to its first page.
* A link to any other file of the repository becomes text that names the file.
* A link to a file that does not exist is a warning, which fails `mkdocs build --strict`.
* So is a page that loads anything from another server.
"""

import logging
import posixpath
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "repository/"
FENCE = re.compile(r" *(```|~~~)")
ITEM = re.compile(r"(?P<indent> *)(?P<marker>[*+-]|\d+[.)]) +\S")
# Resources that a browser loads by itself. Mermaid diagrams load a script from another server.
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|link(?![^>]*\brel=[\"']?(?:canonical|prev|next)))\b"
    r"[^>]*\b(?:src|href)=[\"']?(?:https?:)?//|class=[\"']?mermaid"
)
log = logging.getLogger("mkdocs.plugins.tidegate")


def nav_entries(nav):
    """Returns the paths of a nav, in order."""
    if isinstance(nav, str):
        return [nav]
    children = nav.values() if isinstance(nav, dict) else nav or []
    return [path for child in children for path in nav_entries(child)]


class Links(Treeprocessor):
    """Rewrites the relative links and images of one page."""

    page = None
    pages = frozenset()

    def run(self, root):
        for parent in list(root.iter()):
            if parent.tag == "a":
                self.rewrite(parent, "href")
            elif parent.tag == "img":
                self.rewrite(parent, "src")
            elif parent.tag == "td":
                # A cell has `a|b` as `a\|b`. Python-Markdown keeps the backslash.
                for code in parent.iter("code"):
                    code.text = AtomicString((code.text or "").replace("\\|", "|"))

    def rewrite(self, element, attribute):
        url = urlsplit(element.get(attribute, ""))
        if url.scheme or url.netloc or not url.path or url.path.startswith("/"):
            return
        source = self.page.file.src_uri
        inside = not source.startswith(PREFIX)
        place = posixpath.join("docs", source) if inside else source.removeprefix(PREFIX)
        target = posixpath.normpath(posixpath.join(posixpath.dirname(place), unquote(url.path)))
        if target.startswith("..") or not (ROOT / target).exists():
            log.warning("%s: the link target %s does not exist in the repository", place, target)
            return
        to = self.on_site(target)
        if to is None:
            name_file(element, target)
        else:
            relative = posixpath.relpath(to, posixpath.dirname(source) or ".")
            element.set(attribute, url._replace(path=relative).geturl())

    def on_site(self, target):
        """Returns where the site has a file of the repository, as a path of MkDocs."""
        if target in self.pages:
            return PREFIX + target
        if target != "docs" and not target.startswith("docs/"):
            return None
        path = ROOT / target
        if path.is_dir():
            pages = sorted(path.glob("*.md"))
            readme = path / "README.md"
            if not pages:
                return None
            path = readme if readme in pages else pages[0]
        return path.relative_to(ROOT / "docs").as_posix()


def name_file(link, target):
    """Replaces a link by its text, followed by the path of the file unless the text has it."""
    text = "".join(link.itertext())
    link.tag = "span"
    link.attrib.clear()
    if target not in text:
        opening, code = ElementTree.Element("span"), ElementTree.Element("code")
        opening.text, code.text, code.tail = " (", target, ")"
        link.extend([opening, code])


def widen_lists(markdown):
    """Indents what belongs to list items by four spaces a level, as Python-Markdown requires."""
    lines, levels, fenced = [], [], False
    for line in markdown.split("\n"):
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        if text and not fenced:
            item = ITEM.match(line)
            blank = not lines or not lines[-1].strip()
            while levels and indent < levels[-1] and (item or blank):
                levels.pop()
        depth = len([level for level in levels if indent >= level])
        base = levels[depth - 1] if depth else 0
        lines.append(" " * (4 * depth + indent - base) + text if text else "")
        if FENCE.match(line):
            fenced = not fenced
            # ```rust,no_run
            lines[-1] = lines[-1].split(",")[0]
        elif text and not fenced and item:
            levels.append(item.end() - 1)
    return "\n".join(lines)


class RepositoryLinks(Extension):
    """Registers `Links` before the checks that MkDocs makes of links."""

    def __init__(self):
        super().__init__()
        self.links = Links()

    def extendMarkdown(self, md):
        md.treeprocessors.register(self.links, "repository-links", 2)


links = RepositoryLinks()


def on_config(config):
    added = {e.removeprefix(PREFIX) for e in nav_entries(config.nav) if e.startswith(PREFIX)}
    links.links.pages = frozenset(added)
    config.markdown_extensions.append(links)
    config.watch.extend(str(ROOT / path) for path in sorted(added) if (ROOT / path).is_file())
    return config


def on_files(files, config):
    for path in sorted(links.links.pages):
        if (ROOT / path).is_file():
            files.append(File.generated(config, PREFIX + path, abs_src_path=str(ROOT / path)))
    for name in ("search.js", "site.css"):
        path = Path(__file__).with_name(name)
        files.append(File.generated(config, "assets/" + name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    links.links.page = page
    for prefix, boost in config.extra["search_boost"].items():
        if page.file.src_uri.startswith(prefix):
            page.meta["search"] = {"boost": boost}
    return widen_lists(markdown)


def on_post_page(output, page, config):
    for loaded in LOADED.findall(output):
        log.warning("%s loads something from another server: %s", page.file.src_uri, loaded)
    return output
