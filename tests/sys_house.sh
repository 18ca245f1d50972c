#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The house is as the Makefile draws it: no call and no #include outside a room's MAY_ list, no public header on a private one,
# no room above 11,000 lines or 60 files, no file name twice, no circle of more than three files in a room, no line of C
# above 100 columns, clang-format has nothing to change, no name of an event type outside its header, and the programs in the
# kernel are those of their sources.
set -eu
B=${B:-build/release}
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

python3 - "$B" >"$bad" <<'PYTHON'
import ctypes, glob, os, re, subprocess, sys

build = sys.argv[1]
make = open("Makefile").read().replace("\\\n", " ")
words = lambda name: [w for found in re.findall(rf"^{re.escape(name)} *[:+]?= *(.*)$", make, re.M) for w in found.split()]
rooms = [w for w in words("ROOMS") if not w.startswith("$")] + re.findall(r"^ROOMS *\+= *\$\(if \$\(\w+\),(\S+)\)$", make, re.M)
may = {r: words("MAY_" + r) for r in rooms}
for room in rooms:
    for below in may[room]:
        if below not in rooms[:rooms.index(room)]:
            print(f"Makefile: MAY_{room} names {below}, which is not a room before it")


def room_of(path):
    """The innermost room that holds a file, or None."""
    return max((r for r in rooms if path.startswith(r + "/")), key=len, default=None)


sources = [p for p in sorted(glob.glob("*/**/*.[ch]", recursive=True)) if not p.startswith("build/")]

libc = ctypes.CDLL(None)  # nwrun.so defines its functions again: a call of one names no room
defined = {}  # symbol: [(room, file)]; calls has (room, file): symbols
objects = [p for room in rooms for p in sorted(glob.glob(f"{build}/obj/{room}/*.o"))
           if os.path.exists(f"{room}/{os.path.basename(p)[:-2]}.c")]  # not those of files that are gone
of = {p: (os.path.dirname(p)[len(f"{build}/obj/"):], os.path.basename(p)[:-2]) for p in objects}
calls = {where: set() for where in of.values()}
for line in subprocess.check_output(["nm", "-A", *objects], text=True).splitlines():
    path, symbol = line.split(":", 1)
    kind, name = symbol.split()[-2:]
    if kind == "U":
        calls[of[path]].add(name)
    elif kind in "TDRBC" and name != "main" and not hasattr(libc, name):
        defined.setdefault(name, []).append(of[path])
for room in rooms:  # an object that is missing would be an object that is not checked
    missing = [p for p in glob.glob(room + "/*.c") if p in sources and (room, os.path.basename(p)[:-2]) not in calls]
    unbuilt = {"host/switch": not os.path.exists("/usr/include/net-snmp/net-snmp-config.h"),
               "host/slurm": not os.path.exists("/usr/include/slurm/spank.h"),
               "gridftp": not glob.glob("/usr/lib/*/pkgconfig/globus-net-manager.pc")}  # without the libraries that they need
    if missing and not unbuilt.get(room, unbuilt.get(room.split("/")[0])):
        print(f"{' '.join(missing)}: not built")

for (room, file), names in sorted(calls.items()):
    for name in sorted(names):
        homes = [r for r, _ in defined.get(name, [])]
        if homes and not {room, *may[room]} & set(homes):
            print(f"{room}/{file}.c calls {name}() of {homes[0]}/, which MAY_{room} does not name")

for path in sources:
    room = room_of(path)
    for name in re.findall(r'^#\s*include "([^"]+)"', open(path, errors="replace").read(), re.M):
        home = room_of(name)
        if home and path.startswith("include/"):
            print(f"{path} includes {name}, a private header of {home}/")
        elif home and room and home not in (room, *may[room]):
            print(f"{path} includes {name} of {home}/, which MAY_{room} does not name")

grown = {"daemon": (11450, 66)}  # the room that no wall has divided yet does not grow
for room in rooms:
    files = [p for p in sources if os.path.dirname(p) == room]
    lines = sum(open(p, errors="replace").read().count("\n") for p in files)
    lines_max, files_max = grown.get(room, (11000, 60))
    if lines > lines_max or len(files) > files_max:
        print(f"{room}: {lines} lines in {len(files)} files, where a room has at most {lines_max} in {files_max}")

# two installed headers: narrows/event.h, and the records of a program in the kernel
twice = {"event.h"}
names = {}
for path in sources:
    if not path.startswith("tests/"):
        names.setdefault(os.path.basename(path), []).append(path)
for name, paths in sorted(names.items()):
    if len(paths) > 1 and name not in twice:
        print(f"one name, {len(paths)} files: {' '.join(paths)}")


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
    edges = {f: {home for n in names for r, home in defined.get(n, []) if r == room and home != f}
             for (where, f), names in calls.items() if where == room}
    for circle in circles(edges):
        if len(circle) > 3:
            print(f"{room}: {len(circle)} files call each other in a circle: {' '.join(sorted(circle))}")
        elif len(circle) > 1:
            print(f"{room}: a circle of {len(circle)}: {' '.join(sorted(circle))}", file=sys.stderr)

for path in sources:
    for number, line in enumerate(open(path, errors="replace"), 1):
        if len(line.rstrip("\n").expandtabs(8)) > 100:
            print(f"{path}:{number}: more than 100 columns")

# include/narrows/eventtype.h has the names of event types; a dictionary of the store is bytes of old documents
for path in sorted(glob.glob("*/**/*.[ch]", recursive=True)):
    if path.startswith(("build/", "tests/")) or path in ("include/narrows/eventtype.h", "store/ground/original_dict.c"):
        continue
    code = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), open(path, errors="replace").read(), flags=re.S)
    for literal in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', code):
        if re.search(r"(?<![\w.])(?:ps|nw|nl):(?:[a-z]|$)", literal[1]):
            number = code.count("\n", 0, literal.start()) + 1
            print(f"{path}:{number}: {literal[0]} is an event type: include/narrows/eventtype.h has the names")
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
