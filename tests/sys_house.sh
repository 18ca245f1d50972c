#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The house is as the Makefile draws it: no call against an arrow, no circle of more than three files in a room,
# no line of C above 100 columns, clang-format has nothing to change, and the programs in the kernel are those of their sources.
set -eu
B=${B:-build/release}
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

python3 - "$B" >"$bad" <<'PYTHON'
import glob, os, re, subprocess, sys

build = sys.argv[1]
make = open("Makefile").read().replace("\\\n", " ")


def words(name):
    """The words of a variable, those of others that it names included."""
    value = re.search(rf"^{re.escape(name)} *:?= *(.*)$", make, re.M).group(1).split()
    return [w for v in value for w in (words(v[2:-1]) if v.startswith("$(") else [v])]


rooms = words("ROOMS")
below = {r: words("BELOW_" + r) for r in rooms}

defined, calls = {}, {}  # symbol: (room, file); (room, file): symbols
for room in rooms:
    for path in sorted(glob.glob(f"{build}/obj/{room}/*.o")):
        file = os.path.basename(path)[:-2]
        if file.startswith("preload") or not os.path.exists(f"{room}/{file}.c"):
            continue  # nwrun.so is a program of its own; objects of files that are gone
        calls[room, file] = set()
        for line in subprocess.check_output(["nm", path], text=True).splitlines():
            kind, name = line.split()[-2:]
            if kind == "U":
                calls[room, file].add(name)
            elif kind in "TDRBC" and name != "main":
                defined[name] = (room, file)
assert len(calls) > 100, "the objects are not built"

for (room, file), names in sorted(calls.items()):
    for name in sorted(names):
        if name in defined and defined[name][0] not in below[room]:
            print(f"{room}/{file}.c calls {name}() of {defined[name][0]}/, which is not below {room}/")


def circles(edges):
    """Strongly connected parts of a graph (Tarjan 1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in edges[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            found.append(stack[stack.index(v):])
            del stack[stack.index(v):]

    for v in edges:
        if v not in index:
            visit(v)
    return found


for room in rooms:
    edges = {f: {defined[n][1] for n in names if n in defined and defined[n][0] == room and defined[n][1] != f}
             for (r, f), names in calls.items() if r == room}
    for circle in circles(edges):
        if len(circle) > 3:
            print(f"{room}: {len(circle)} files call each other in a circle: {' '.join(sorted(circle))}")
        elif len(circle) > 1:
            print(f"{room}: a circle of {len(circle)}: {' '.join(sorted(circle))}", file=sys.stderr)

for path in sorted(glob.glob("*/**/*.[ch]", recursive=True)):
    if not path.startswith("build/"):
        for number, line in enumerate(open(path, errors="replace"), 1):
            if len(line.rstrip("\n").expandtabs(8)) > 100:
                print(f"{path}:{number}: more than 100 columns")
PYTHON

# other versions lay the same style out in other ways
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	find . -path ./build -prune -o -name '*.[ch]' -print | sed 's|^./||' |
	    xargs -P 2 -n 32 clang-format --dry-run 2>&1 | sed -n 's/ \[-Wclang-format-violations\]$//p' | sort -u >>"$bad"
else
	echo "untested: clang-format 14 is not installed: the layout is not checked"
fi
# The committed objects are those of their sources; another compiler makes other bytes.
if clang --version 2>/dev/null | grep -q 'version 14\.' && command -v llvm-strip >/dev/null && [ -e /usr/include/bpf/bpf_helpers.h ]; then
	for p in host/*/bpf/*.bpf.c; do
		sh conf/bpf.sh "$p" | cmp -s - "${p%.bpf.c}.o" || echo "${p%.bpf.c}.o is not that of its source: make magnet-object outside-object"
	done >>"$bad"
else
	echo "clang 14 or libbpf's headers are not installed: the objects of the programs in the kernel are not checked"
fi
[ ! -s "$bad" ] || { cat "$bad"; exit 1; }
