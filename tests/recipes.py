#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Applies the recipes of CONTRIBUTING.md to a tree. usage: recipes.py CONTRIBUTING.md TREE; prints the title of each recipe.

A recipe is a section below "## Recipes". A block of C is a new file; the last name in backquotes before the block is its path. A block
of type diff edits files that exist: lines after "--- a/FILE" are context, lines that go (-) and lines that come (+). Line numbers
change too often for a document: the context, compared without regard to blanks, must stand at one place of the file, or first
after a line that holds the TEXT of "@@ TEXT".
"""
import os, re, sys


class Stale(Exception):
    pass


def squeezed(line):
    return " ".join(line.split())


def hunks(lines):
    """The hunks of a diff as (path, text after @@ or None, [(sign, line)])."""
    path, found = None, []
    for line in lines:
        if line.startswith("--- a/"):
            path = line[6:].strip()
            found.append((path, None, []))
        elif line.startswith("@@"):
            found.append((path, line[2:].strip() or None, []))
        elif not line.startswith("+++ b/"):
            found[-1][2].append((line[:1], line[1:]))
    return [h for h in found if h[2]]


def edited(text, path, after, hunk):
    """The text of a file after a hunk."""
    lines = text.split("\n")
    old = [squeezed(line) for sign, line in hunk if sign in " -"]
    if not any(old):
        raise Stale(f"{path}: a change without context")
    begin = 0
    if after:
        begin = next((i for i, line in enumerate(lines) if squeezed(after) in squeezed(line)), None)
        if begin is None:
            raise Stale(f"{path}: no line holds \"{after}\"")
    flat = [squeezed(line) for line in lines]
    places = [i for i in range(begin, len(flat) - len(old) + 1) if flat[i:i + len(old)] == old]
    if not places or (len(places) > 1 and not after):
        raise Stale(f"{path}: {len(places)} places have the lines {old}")
    at, out = places[0], []
    for sign, line in hunk:
        if sign == "+":
            out.append(line)
            continue
        if sign == " ":
            out.append(lines[at])
        at += 1
    return "\n".join(lines[:places[0]] + out + lines[at:])


def recipes(document):
    """Yields (title, [(kind, paragraph before, lines)])."""
    chapter = re.search(r"^## Recipes$(.*?)^## ", open(document).read() + "\n## ", re.M | re.S).group(1)
    for section in re.split(r"^### ", chapter, flags=re.M)[1:]:
        title, body = section.split("\n", 1)
        blocks = re.findall(r"(.*?)^```(\w+)\n(.*?)\n```$", body, re.M | re.S)
        yield title, [(kind, before, text.split("\n")) for before, kind, text in blocks if kind in ("c", "diff")]


def main():
    document, tree = sys.argv[1:]
    for title, blocks in recipes(document):
        print(title)
        for kind, before, lines in blocks:
            try:
                if kind == "diff":
                    for path, after, hunk in hunks(lines):
                        file = os.path.join(tree, path)
                        if not os.path.exists(file):
                            raise Stale(f"{path}: no such file")
                        text = edited(open(file).read(), path, after, hunk)
                        open(file, "w").write(text)
                else:
                    path = re.findall(r"`([\w./-]+\.[ch])`", before)[-1]
                    if os.path.exists(os.path.join(tree, path)):
                        raise Stale(f"{path} exists")
                    open(os.path.join(tree, path), "w").write("\n".join(lines) + "\n")
            except Stale as e:
                sys.exit(f"the recipe \"{title}\" is stale: {e}")


main()
