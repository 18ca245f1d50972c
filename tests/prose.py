#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts words that point at nothing by themselves (it, that, one, who, somebody, ...) per 100 words of prose.

usage: prose.py [-c] [-n WORST] [-l WORDS] [FILE ...]
  -c        check: exit status 1 if a limit is passed
  -n WORST  print the sentences and comments that have most such words
  -l WORDS  print the sentences of Markdown and manuals that have more than WORDS words
Without FILE: README.md, DESIGN.md, the manuals, and every C comment outside tests/ as one group.

Markdown counts without code; a manual counts without macros, their arguments and literal displays.
In a sentence that -l measures, a piece of code is one word.
"""
import argparse, glob, re, sys

POINTERS = re.compile(r"""\b(it|its|this|that|these|those|they|them|one|ones|others|what|which
    |who|whom|whose|whoever|nobody|somebody|anybody|everybody)\b""", re.I | re.X)
LIMITS = {"prose": 4.5, "comments": 4.0}
SENTENCE_WORDS = 25  # in Markdown
DOCUMENT_WORDS = {"DESIGN.md": 3000}  # as wc -w counts
CODE = "\0"  # stands for a piece of code in a sentence
# a sentence ends before a capital, a piece of code or an opening mark; abbreviations do not end one
END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)[.!?][)\"*_]*\s+(?=[A-Z*_(\"\[\0])")


class Text:
    """A file's prose: line and text of each sentence."""

    def __init__(self, path, kind):
        self.path, self.kind, self.sentences, self.part = path, kind, [], []

    def add(self, number, text):
        self.part += [(number, piece) for piece in text.split()]

    def end(self):
        """Ends a paragraph, an item or a cell."""
        sentence = []
        for i, (number, piece) in enumerate(self.part):
            sentence.append((number, piece))
            if i + 1 == len(self.part) or END.search(piece + " " + self.part[i + 1][1]):
                text = " ".join(w for _, w in sentence)
                if words(text):
                    self.sentences.append((sentence[0][0], text))
                sentence = []
        self.part = []

    def words(self):
        return sum(words(s) for _, s in self.sentences)

    def pointers(self):
        return sum(pointers(s) for _, s in self.sentences)


def words(s):
    """Words without code."""
    return sum(1 for w in s.split() if CODE not in w)


def length(s):
    """Words with code, each piece of code as one word; a dash or a sign is none."""
    return sum(1 for w in s.split() if CODE in w or re.search(r"\w", w))


def pointers(s):
    return len(POINTERS.findall(s))


def markdown(path):
    t = Text(path, "prose")
    fence = comment = False
    for number, line in enumerate(open(path), 1):
        if re.match(r"\s*(```|~~~)", line):
            fence = not fence
            t.end()
        if fence or re.match(r"\s*(```|~~~)", line):
            continue
        if comment or line.lstrip().startswith("<!--"):
            comment = "-->" not in line
            continue
        line = re.sub(r"`[^`]+`", CODE, line)
        line = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", line)  # a link is its words
        line = re.sub(r"<https?://[^>]*>", CODE, line)
        if not line.strip() or re.match(r"\s*([-*]|\d+\.) |#", line):
            t.end()
        if line.lstrip().startswith("|"):
            for cell in line.strip().strip("|").split("|"):
                t.add(number, cell)
                t.end()
            continue
        t.add(number, re.sub(r"^\s*([-*#]+|\d+\.) ", "", line))
        if line.startswith("#"):
            t.end()
    t.end()
    return t


BREAKS = re.compile(r"\.(Pp|Sh|Ss|It|Bl|El|Bd|Ed|D1|Dl|Nd|Lp|Dd|Dt|Os|Rs|Re|TP|br|sp)\b")


def manual(path):
    t = Text(path, "prose")
    literal = False
    for number, line in enumerate(open(path), 1):
        if line.startswith(".Bd"):
            literal = "-literal" in line or "-unfilled" in line
        if line.startswith(".Ed"):
            literal = False
        if line.startswith('.\\"') or literal:
            continue
        if BREAKS.match(line):
            t.end()
            if line.startswith(".Nd"):
                t.add(number, line[3:])
                t.end()
        elif line.startswith((".", "'")):
            end = re.search(r" ([.,;:!?])\s*$", line)
            t.add(number, CODE + (end.group(1) if end else ""))
        else:
            line = re.sub(r"\\f[BIPR]|\\&", "", line).replace("\\(em", " - ").replace("\\e", CODE)
            t.add(number, re.sub(r"\\\([a-z]{2}|\\-", " ", line))
    t.end()
    return t


def comments(paths):
    """The comments of C files, each as one sentence, without licence lines."""
    t = Text("comments", "comments")
    for path in paths:
        text = open(path, errors="replace").read()
        for m in re.finditer(r'"(?:\\.|[^"\\\n])*"|/\*(.*?)\*/', text, re.S):
            if m.group(1) is None or m.group(1).lstrip().startswith("SPDX"):
                continue
            words = re.sub(r"\s*\n\s*\*?\s*", " ", m.group(1)).strip()
            t.sentences.append((f"{path}:{text.count(chr(10), 0, m.start()) + 1}", words))
    return t


def tree(pattern):
    """The project's own files of a pattern."""
    return sorted(p for p in glob.glob(pattern, recursive=True) if not p.startswith(("build/", "tests/")))


def read(paths):
    if not paths:
        paths = ["README.md", "DESIGN.md"] + tree("**/*.[1-8]")
        return [reader(p) for p in paths] + [comments(tree("**/*.[ch]"))]
    sources = [p for p in paths if p.endswith((".c", ".h"))]
    return [reader(p) for p in paths if p not in sources] + ([comments(sources)] if sources else [])


def reader(path):
    return markdown(path) if path.endswith(".md") else manual(path)


def print_worst(texts, n):
    worst = []
    for t in texts:
        for number, s in t.sentences:
            if words(s) >= 6 and pointers(s) >= 2:
                place = number if t.kind == "comments" else f"{t.path}:{number}"
                worst.append((pointers(s) / words(s), place, s))
    for rate, place, s in sorted(worst, reverse=True)[:n]:
        print(f"{100 * rate:3.0f} {place}: {s.replace(CODE, '`')[:200]}")


def long_sentences(t, limit):
    return [(n, s) for n, s in t.sentences if length(s) > limit] if t.kind == "prose" else []


def faults(texts):
    """Says which limit is passed, and what to do."""
    for t in texts:
        rate = 100 * t.pointers() / max(t.words(), 1)
        if not t.words():
            yield f"{t.path}: no word was found, so nothing was counted"
        elif rate > LIMITS[t.kind]:
            yield (f"{t.path}: {rate:.1f} pronouns per 100 words, at most {LIMITS[t.kind]} are allowed; "
                   f"`python3 tests/prose.py -n 20{'' if t.kind == 'comments' else ' ' + t.path}` shows where")
        if t.path in DOCUMENT_WORDS and (n := len(open(t.path).read().split())) > DOCUMENT_WORDS[t.path]:
            yield f"{t.path}: {n} words with code and drawings, at most {DOCUMENT_WORDS[t.path]} are allowed"
        for number, s in long_sentences(t, SENTENCE_WORDS) if t.path.endswith(".md") else []:
            yield f"{t.path}:{number}: a sentence of {length(s)} words: {s.replace(CODE, '`')[:90]}"


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("-c", action="store_true")
    p.add_argument("-n", type=int, default=0)
    p.add_argument("-l", type=int, default=0)
    p.add_argument("files", nargs="*")
    a = p.parse_args()
    texts = read(a.files)
    if a.n:
        print_worst(texts, a.n)
    for t in texts if a.l else []:
        for number, s in long_sentences(t, a.l):
            print(f"{t.path}:{number}: {length(s)} words: {s.replace(CODE, '`')}")
    for t in texts:
        print(f"{100 * t.pointers() / max(t.words(), 1):4.1f} pronouns per 100 of {t.words()} words: {t.path}")
    found = list(faults(texts)) if a.c else [f"{t.path}: no word was found" for t in texts if not t.words()]
    for line in found:
        print(f"FAIL: {line}", file=sys.stderr)
    return 1 if found else 0


sys.exit(main())
