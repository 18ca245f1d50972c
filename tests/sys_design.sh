#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What DESIGN.md states and the tree can count: the rooms of the house, threads and locks of the box with their files, the files
# outside store/ that use SQLite, and that each file and function it names is there, under one name.
set -eu

python3 - <<'PYTHON'
import glob, os, re, subprocess, sys

text = open("DESIGN.md").read()
wrong = []
say = wrong.append
NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()
sources = [p for p in sorted(glob.glob("*/**/*", recursive=True)) if not p.startswith("build/") and os.path.isfile(p)]
c_files = {p: open(p, errors="replace").read() for p in sources if p.endswith((".c", ".h")) and not p.startswith("tests/")}


def chapter(title):
    found = re.search(rf"^## {title}.*?\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not found:
        sys.exit(f"DESIGN.md has no chapter \"{title}\"")
    return found.group(1)


# --- the rooms: the drawing names every room of the Makefile, and no folder that is not there ---
make = open("Makefile").read().replace("\\\n", " ")
rooms = [w for line in re.findall(r"^ROOMS *[:+]?= *(.*)$", make, re.M) for w in line.split() if not w.startswith("$")] + re.findall(r"^ROOMS *\+= *\$\(if \$\(\w+\),(\S+)\)$", make, re.M)
house = re.search(r"```\n(.*?)```", chapter("The house"), re.S).group(1)
drawn, top = set(), None
for line in house.splitlines():
    head, _, words = line.strip().partition("   ") if line.startswith(" ") else line.partition(" ")
    names = [n.strip().rstrip("/") for n in head.split(",")]
    if not line.startswith(" "):
        top = names[0]
        drawn.add(top)
        names = []
    drawn |= {f"{top}/{n}" for n in names + re.findall(r"(?<![\w./])([a-z]+)/(?![\w])", words)}
for room in sorted(set(rooms) - drawn):
    say(f"\"The house\" does not draw the room {room}")
for folder in sorted(drawn):
    if not os.path.isdir(folder):
        say(f"\"The house\" draws {folder}, which is no folder")

# --- threads and locks of the box: narrowsd's rooms ---
threads = chapter("Threads")
box = {p: t for p, t in c_files.items() if p.split("/")[0] in ("base", "xsp", "pki", "analyze", "store", "web", "daemon")}


def stated(what):
    found = re.search(rf"The box has (\w+) {what}", threads)
    if not found:
        sys.exit(f"\"Threads\" does not say how many {what} the box has")
    return NUMBERS.index(found.group(1))


rows = re.findall(r"^\| [a-z]+(?: \(main\))? \| `([\w/.-]+)` \|", threads, re.M)
starts = ["daemon/narrowsd.c"] + [p for p, t in box.items() for _ in re.findall(r"\bpthread_create\(", t)]
if sorted(rows) != sorted(starts) or stated("threads") != len(starts):
    say(f"threads: the text counts {stated('threads')}, its table has {sorted(rows)}, the tree starts {sorted(starts)}")
listed = re.findall(r"^- `([\w/.-]+)`: ", threads, re.M)
locks = [p for p, t in box.items() for _ in re.findall(r"^\s(?:static )?pthread_(?:mutex|rwlock|spinlock)_t \w+[;\[]", t, re.M)]
locks += [p for p, t in box.items() for _ in re.findall(r"^static pthread_(?:mutex|rwlock)_t", t, re.M)]
if sorted(listed) != sorted(locks) or stated("locks") != len(locks):
    say(f"locks: the text counts {stated('locks')}, its list has {sorted(listed)}, the tree has {sorted(locks)}")

# --- SQLite ---
found = re.search(r"SQLite\s+is\s+used\s+in\s+(.*?)\.(?=\s)", text, re.S)
if not found:
    sys.exit("DESIGN.md does not say which rooms use SQLite")
known = re.findall(r"`([\w/.-]+)`", found.group(1))
users = [p for p, t in c_files.items() if re.search(r"#\s*include <sqlite3|\bsqlite3_\w+\(", t)]
for p in users:
    if not any(p.startswith(k) for k in known):
        say(f"{p} uses SQLite, which DESIGN.md does not say")
for k in known:
    if not any(p.startswith(k) for p in users):
        say(f"DESIGN.md says that {k} uses SQLite, which no file there does")

# --- names: a file stands once under the name that the text has, a function is defined ---
prose = re.sub(r"```.*?```", "", text, flags=re.S)
for name in sorted(set(re.findall(r"`([\w/-]+\.(?:c|h|def|js|sh|py))`", prose))):
    places = [p for p in sources if p == name or (p.endswith("/" + name) and not p.startswith("tests/"))]
    if len(places) != 1:
        say(f"the name {name} stands for {len(places)} files: {' '.join(places)}")
code = "\n".join(c_files.values())
for name in sorted(set(re.findall(r"`(\w+)\(\)`", prose))):
    if not re.search(rf"^{name}\(", code, re.M) and name not in ("read", "main"):
        say(f"the function {name}() is not defined")

print("\n".join(wrong))
sys.exit(bool(wrong))
PYTHON
