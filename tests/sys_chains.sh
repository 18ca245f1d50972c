#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Who waits for whom: of programs joined by pipes or local sockets the report names the waits in order, and the program
# behind which all others wait; and of a loop with worker processes the share of its time that the loop itself counts.
. tests/lib.sh
paced
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
start_box
# the interpreter itself: what is first in PATH may be a script that becomes it
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$tmp/python3"
PATH=$tmp:$PATH

# a link of a chain: its name, bytes/s, and whether the pace is computing
cat >"$tmp/link.py" <<'PY'
import os, sys, time
rate, computes = float(sys.argv[1]), sys.argv[2] == "computes"
while data := os.read(0, 65536):
    end = time.process_time() + len(data) / rate
    if computes:
        while time.process_time() < end:
            pass
    elif rate < 1e9:
        time.sleep(len(data) / rate)
    while data:
        data = data[os.write(1, data):]
PY
for name in first second third; do cp "$tmp/link.py" "$tmp/$name.py"; done
head -c 6000000 /dev/zero >"$tmp/file"
# the same over local sockets: each link reads one end of a pair, and writes an end of the next
cat >"$tmp/sockets.py" <<'PY'
import os, socket, subprocess, sys
there, slow = sys.argv[1], sys.argv[2]
names = ["first", "second", "third"]
pairs = [socket.socketpair() for _ in range(2)]
inputs = [os.open(there + "/file", os.O_RDONLY), pairs[0][1].fileno(), pairs[1][1].fileno()]
outputs = [pairs[0][0].fileno(), pairs[1][0].fileno(), os.open("/dev/null", os.O_WRONLY)]
run = [subprocess.Popen(["python3", f"{there}/{n}.py", "5e6" if n == slow else "1e12", "computes"], stdin=i, stdout=o)
       for n, i, o in zip(names, inputs, outputs)]
for pair in pairs:
    pair[0].close()
    pair[1].close()
sys.exit(max(p.wait() for p in run))
PY
# a loop with workers: its own account of the time in get() is the truth
cat >"$tmp/loop.py" <<'PY'
import multiprocessing, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
def work(tasks, batches, seconds):
    while tasks.get() is not None:
        burn(seconds)
        batches.put(bytes(20000))
if __name__ == "__main__":
    workers, batches_n, load, step = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    context = multiprocessing.get_context("fork")
    tasks, batches = context.Queue(), context.Queue(2 * workers)
    started = [context.Process(target=work, args=(tasks, batches, load)) for _ in range(workers)]
    for p in started:
        p.start()
    for _ in range(batches_n):
        tasks.put(1)
    waited, begin = 0, time.monotonic()
    for _ in range(batches_n):
        asked = time.monotonic()
        batches.get()
        waited += time.monotonic() - asked
        time.sleep(step) if len(sys.argv) > 5 else burn(step)
    print(waited / (time.monotonic() - begin))
    for p in started:
        tasks.put(None)
    for p in started:
        p.join()
PY

# the shape of PyTorch's loader: a queue of indices for each worker, one queue of results, two batches ahead, in order
cat >"$tmp/loader.py" <<'PY'
import multiprocessing, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
def work(indices, results, load):
    while (i := indices.get(timeout=60)) is not None:
        burn(load)
        results.put((i, bytes(20000)))
if __name__ == "__main__":
    workers, batches_n, load, step = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    context = multiprocessing.get_context("fork")
    results, indices = context.Queue(), [context.Queue() for _ in range(workers)]
    started = [context.Process(target=work, args=(q, results, load), daemon=True) for q in indices]
    for p in started:
        p.start()
    for i in range(2 * workers):
        indices[i % workers].put(i)
    waited, begin, have = 0, time.monotonic(), {}
    for i in range(batches_n):
        asked = time.monotonic()
        while i not in have:
            have.update([results.get(timeout=60)])
        waited += time.monotonic() - asked
        del have[i]
        if i + 2 * workers < batches_n:
            indices[i % workers].put(i + 2 * workers)
        burn(step)
    print(waited / (time.monotonic() - begin))
    for q in indices:
        q.put(None)
PY
# a pool: a thread of the loop's process receives results while the loop computes, and workers take turns at a lock; the workers of
# the first kind are killed while they wait
cat >"$tmp/pool.py" <<'PY'
import concurrent.futures, multiprocessing, sys, time
load, step = float(sys.argv[3]), float(sys.argv[4])
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
def work(k):
    time.sleep(load)
    return bytes(20000)
def loop(batches, n):
    waited, begin = 0, time.monotonic()
    for _ in range(n):
        asked = time.monotonic()
        next(batches)
        waited += time.monotonic() - asked
        burn(step)
    print(waited / (time.monotonic() - begin))
if __name__ == "__main__":
    workers, n, fork = int(sys.argv[1]), int(sys.argv[2]), multiprocessing.get_context("fork")
    if len(sys.argv) > 5:
        with concurrent.futures.ProcessPoolExecutor(workers, mp_context=fork) as pool:
            loop(pool.map(work, range(n)), n)
    else:
        with fork.Pool(workers) as pool:
            loop(pool.imap(work, range(n)), n)
PY
# a tree: a parent that starts compilers, one after the other, and a linker
cat >"$tmp/compile.py" <<'PY'
import sys, time
data, end = open(sys.argv[1]).read(65536), time.process_time() + float(sys.argv[2])
while time.process_time() < end:
    pass
open(sys.argv[3], "w").write(data)
PY
cp "$tmp/compile.py" "$tmp/links.py"
cat >"$tmp/build.py" <<'PY'
import subprocess, sys
there = sys.argv[1]
open(there + "/file").read(100)
for i in range(4):
    subprocess.run(["python3", there + "/compile.py", there + "/file", "0.3", f"{there}/{i}.o"], check=True)
subprocess.run(["python3", there + "/links.py", there + "/0.o", "0.1", there + "/program"], check=True)
PY

# two programs that hand files on, of so many blocks: the writer renames a file when it is whole, and the reader looks again and again
cat >"$tmp/writes.py" <<'PY'
import os, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
files, blocks = int(sys.argv[3]), int(sys.argv[4])
for i in range(files):
    with open(f"{sys.argv[1]}/{i}.part", "wb") as f:
        for _ in range(blocks):
            burn(float(sys.argv[2]))
            f.write(bytes(1 << 18 if files < 50 else 1 << 13))
    os.rename(f"{sys.argv[1]}/{i}.part", f"{sys.argv[1]}/{i}")
PY
cat >"$tmp/reads.py" <<'PY'
import os, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
for i in range(int(sys.argv[3])):
    while not os.path.exists(f"{sys.argv[1]}/{i}"):
        time.sleep(0.02)
    with open(f"{sys.argv[1]}/{i}", "rb") as f:
        while f.read(1 << 18):
            burn(float(sys.argv[2]))
PY
# two programs that take turns at a lock of a file, by flock(2) or fcntl(2); the second begins when the first has the lock
for name in keeps asks; do
	cat >"$tmp/$name.py" <<'PY'
import fcntl, os, sys, time
lock, left, right = {"flock": fcntl.flock, "fcntl": fcntl.lockf}[sys.argv[2]], *(float(x) for x in sys.argv[3:])
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
while left < 0.06 and not os.path.exists(sys.argv[1] + ".held"):
    time.sleep(0.01)
with open(sys.argv[1], "r+b") as f:
    f.read(100)
    for _ in range(int(1.5 / max(left, 0.06))):
        lock(f, fcntl.LOCK_EX)
        open(sys.argv[1] + ".held", "w").close()
        burn(left)
        lock(f, fcntl.LOCK_UN)
        time.sleep(right)
PY
done
session_of() { nw sessions -n 100 --json | grep "\"task_id\":\"$1\"" | sed -n 's/.*"id":\([0-9]*\).*/\1/p' | head -n 1; }
judged() {
	id=$(session_of "$1")
	[ -n "$id" ] && nw report "$id" --json >"$tmp/$1.json" 2>/dev/null && grep -q '"state": *"closed".*"sentence"' "$tmp/$1.json"
}
run() {
	task=$1
	shift
	timeout $((60 * PATIENCE)) "$bin/nwrun" -i 0.1 -H here -t "$task" "$@" || fail "$task"
}

# chain TASK LIMIT WAIT ...: the limit is a node of that name, and "who>whom" waited for half of the time at least
chain() {
	task=$1
	shift
	until_true 20 judged "$task" || fail "$task: no verdict"
	python3 - "$tmp/$task.json" "$@" <<'PY' || fail "$task: $*"
import json, sys
c = json.load(open(sys.argv[1]))["chain"]
nodes = [n["name"].split(".py")[0] for n in c["nodes"]]
waits = {f"{nodes[e['waiter']]}>{nodes[e['holder']]}": e["share"] for e in c["edges"] if e["holder"] is not None}
print(c["sentence"], waits)
assert c["limit"] is not None and nodes[c["limit"]] == sys.argv[2], c["sentence"]
for wait in sys.argv[3:]:
    who, whom = wait.split(">")
    assert waits[wait] >= 0.5, wait
    assert waits.get(f"{whom}>{who}", 0) < 0.3, wait
assert c["sentence"].count(" waited ") == len(sys.argv) - 3, c["sentence"]
said = json.load(open(sys.argv[1]))["verdict"]["sentence"]
assert sys.argv[2] + ".py (python3)" in said.split(" held the bytes")[0] and c["sentence"] in said, said
PY
}

# three links over pipes, the slow one at each place; and over local sockets, at the ends
for slow in first second third; do
	rate() { [ "$1" = $slow ] && echo 5e6 || echo 1e12; }
	run pipe-$slow sh -c "cd $tmp; python3 first.py $(rate first) computes <file |
		python3 second.py $(rate second) computes | python3 third.py $(rate third) computes >/dev/null"
	[ $slow = second ] || run socket-$slow python3 "$tmp/sockets.py" "$tmp" $slow
done
chain pipe-first first "second>first" "third>second"
chain pipe-second second "first>second" "third>second"
chain pipe-third third "first>second" "second>third"
chain socket-first first "second>first" "third>second"
chain socket-third third "first>second" "second>third"

# two programs that compute on one processor wait for the processor, each for the other; on a machine without other work the
# document has no such edge of programs that rest
run crowded taskset -c 0 sh -c "cd $tmp; python3 first.py 1e7 computes <file | python3 second.py 1e7 computes >/dev/null"
until_true 20 judged crowded || fail "crowded: no verdict"
python3 - "$tmp/crowded.json" <<'PY' || fail "crowded: no run queue"
import json, sys
c = json.load(open(sys.argv[1]))["chain"]
queues = [e for e in c["edges"] if e["by"] == "run queue"]
print(c["sentence"], queues)
assert {c["nodes"][e["waiter"]]["name"].split(".py")[0] for e in queues} == {"first", "second"}, queues
for e in queues:
    node = c["nodes"][e["waiter"]]
    assert e["holder"] is None and e["waits_for"] == "processor" and "used_by" in e and e["bytes"] == 0, e
    assert e["share"] == node["starved_share"] >= 0.2 and any(x and x >= 0.2 for x in e["over_time"]), (e, node)
assert all("used_by" not in e and e["holder"] is not None for e in c["edges"] if e not in queues), c["edges"]
PY
id=$(session_of crowded)
[ "$(nw report "$id" | grep -c '^  .*\.py (python3) waited .* for a processor')" = 2 ] || fail "the report has no wait for a processor"
curl -sf "$url/session/$id" >"$tmp/page" || fail "no page"
[ "$(grep -o 'without a processor [0-9]' "$tmp/page" | wc -l)" = 2 ] || fail "the picture has no wait for a processor"
[ "$(grep -o 'data-label="For what"><span>[^/]*a processor<' "$tmp/page" | wc -l)" = 2 ] || fail "the table has no wait for a processor"

# the loop's own account, within 4 points on a machine at rest; the account counts as waiting what the loop waited for a processor
loop() {
	task=$1
	shift
	program=$1
	shift
	run "$task" python3 "$tmp/$program.py" "$@" >"$tmp/$task.truth"
	until_true 20 judged "$task" || fail "$task: no verdict"
	loop_check "$task" "$program"
}
# loop_check TASK PROGRAM
loop_check() {
	python3 - "$tmp/$1.json" "$(cat "$tmp/$1.truth")" "$PATIENCE" "$2" <<'PY' || fail "$1"
import json, sys
c, truth = json.load(open(sys.argv[1]))["chain"], float(sys.argv[2])
loop = next(i for i, n in enumerate(c["nodes"]) if "worker" not in n["name"])
share = sum(e["share"] for e in c["edges"] if e["waiter"] == loop and e["holder"] is not None)
starved = c["nodes"][loop]["starved_share"] or 0
print(c["sentence"], share, starved, truth)
slack, name = 0.04 * int(sys.argv[3]) * (1 if starved < 0.05 else 2), sys.argv[4] + ".py (python3)"
if name[0] == "l": # a pool's account begins with the start of its workers
    assert -slack < truth - share < slack + starved, (share, starved, truth)
assert "its 2 workers" in c["sentence"] or truth < 0.05 + starved
# the verdict's own sentence: the end of the chain, and the chain in order
v = json.load(open(sys.argv[1]))["verdict"]
print(v["sentence"])
whom = "the 2 workers of " + name if truth > 0.3 else name
assert v["stage"] == "host" and v["sentence"].startswith(f"In this transfer, {whom} on here held the bytes for "), v["sentence"]
assert c["sentence"][:-1] in v["sentence"] and v["words"] == f"{whom} on here", v
# nothing is promised of a program that lacked a processor
limit = c["nodes"][c["limit"]]
lacked = (limit["starved_share"] or 0) >= 0.3 * limit["held_share"]
assert (v["effect_from"] == "chain") == (c["second_share"] >= 0.1 and not lacked), v
PY
}
loop slow-workers loop 2 40 0.06 0.01
loop slow-step loop 2 60 0.002 0.02
loop loader-workers loader 2 40 0.04 0.005
loop loader-step loader 2 40 0.005 0.03
loop pool-workers pool 2 100 0.04 0.005
# workers that wait all the time, for a few bytes of tasks, and are killed in their waits, too
loop pool-step pool 2 60 0.005 0.03
loop futures-step pool 2 60 0.005 0.03 futures
for task in pool-step futures-step; do
	python3 - "$tmp/$task.json" <<'PY' || fail "$task: the waits of the workers"
import json, sys
c = json.load(open(sys.argv[1]))["chain"]
names = [n["name"] for n in c["nodes"]]
print(c["sentence"], names)
assert sorted(names) == ["pool.py (python3)", "the 2 workers of pool.py (python3)"], names
assert sum(e["share"] for e in c["edges"] if e["waiter"] != c["limit"] and e["holder"] is not None) >= 0.3 and names[c["limit"]] == "pool.py (python3)"
PY
done
# workers that take turns at a lock wait for the loop, not for each other
python3 - "$tmp/slow-step.json" <<'PY' || fail "slow-step: the waits for a turn"
import json, sys
edges = json.load(open(sys.argv[1]))["chain"]["edges"]
print(edges)
assert sum(e["share"] for e in edges if e["waiter"] != 0 and e["by"] == "semaphore") >= 0.3
PY

# a worker at its limit, and another processor that blipp knows to be free: the card counts the workers that the rest can take.
# Work beside the test may take that processor, which the test's own count tells.
idle() { awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { print ($5 + $6) / hz }' /proc/stat; }
"$bin/blipp" -f /dev/null -b "$xsp" -H here -i 200ms 2>>"$tmp/blipp.log" &
blipp=$! pids="$pids $!"
until_true 10 grep -q box.connected "$tmp/blipp.log" || fail "blipp does not come: $(cat "$tmp/blipp.log")"
free=
for i in 1 2 3; do
	before="$(cut -d ' ' -f 1 /proc/uptime) $(idle)"
	run one-worker-$i python3 "$tmp/loader.py" 1 60 0.03 0.004 >/dev/null
	free=$(echo "$before $(cut -d ' ' -f 1 /proc/uptime) $(idle)" | awk '($4 - $2) / ($3 - $1) >= 0.85 { print "yes" }')
	[ -z "$free" ] || break
done
kill $blipp
if [ -n "$free" ]; then
	until_true 20 judged one-worker-$i || fail "one-worker-$i: no verdict"
	python3 - "$tmp/one-worker-$i.json" <<'PY' || fail "no card for more workers"
import json, sys
cards = [(c["title"], c["gain"]) for c in json.load(open(sys.argv[1]))["advice"]]
print(cards)
assert [c for c in cards if c[0].startswith("Start ") and c[0].endswith(" workers instead of 1") and 1.2 <= c[1] <= 10], cards
PY
else
	echo "untested: the card for more workers: no processor was free"
fi

run tree python3 "$tmp/build.py" "$tmp"
until_true 20 judged tree || fail "tree: no verdict"
python3 - "$tmp/tree.json" <<'PY' || fail "tree"
import json, sys
d = json.load(open(sys.argv[1]))
c, v = d["chain"], d["verdict"]
print(c["sentence"], v["sentence"], [(e["waiter"], e["holder"], e["share"], e["by"]) for e in c["edges"]])
names = [n["name"] for n in c["nodes"]]
assert names[c["limit"]] == "4 processes of compile.py (python3)" and len(names) == 3, names
edges = [e for e in c["edges"] if e["by"] != "run queue"]
assert all(e["by"] == "child" and names[e["waiter"]] == "build.py (python3)" for e in edges) and len(edges) == 2
assert v["stage"] == "host" and "4 processes of compile.py (python3) on here held the bytes" in v["sentence"], v["sentence"]
PY

# the reader of another program's files waits for that program; a reader that is slow itself waits for none
mkdir "$tmp/early" "$tmp/late" "$tmp/many"
run handed sh -c "python3 $tmp/writes.py $tmp/early 0.03 6 8 & python3 $tmp/reads.py $tmp/early 0 6; wait"
run behind sh -c "python3 $tmp/writes.py $tmp/late 0 6 8 & python3 $tmp/reads.py $tmp/late 0.03 6; wait"
# far more small files than have a place each, after those that the interpreters read
run handed-many sh -c "python3 $tmp/writes.py $tmp/many 0.01 150 1 & python3 $tmp/reads.py $tmp/many 0 150; wait"
for task in handed behind handed-many; do
	until_true 20 judged $task || fail "$task: no verdict"
	python3 - "$tmp/$task.json" <<'PY' || fail "$task: files"
import json, sys
d = json.load(open(sys.argv[1]))
c = d["chain"] or {"nodes": [], "edges": [], "sentence": None}
names = [n["name"].split(".py")[0] for n in c["nodes"]]
waits = {(names[e["waiter"]], names[e["holder"]]): e["share"] for e in c["edges"] if e["by"] == "file"}
print(c["sentence"], waits, d["verdict"]["sentence"])
if "handed" in sys.argv[1]:
    assert waits[("reads", "writes")] >= 0.4 and len(waits) == 1 and names[c["limit"]] == "writes", waits
else:
    assert not waits, waits
PY
done

head -c 1000 "$tmp/file" >"$tmp/lock"
for by in flock fcntl; do
	rm -f "$tmp/lock.held"
	run lock-$by sh -c "python3 $tmp/keeps.py $tmp/lock $by 0.1 0.01 & python3 $tmp/asks.py $tmp/lock $by 0.001 0; wait"
	until_true 20 judged lock-$by || fail "lock-$by: no verdict"
	python3 - "$tmp/lock-$by.json" <<'PY' || fail "lock-$by"
import json, sys
c = json.load(open(sys.argv[1]))["chain"]
names = [n["name"].split(".py")[0] for n in c["nodes"]]
waits = {(names[e["waiter"]], names[e["holder"]]): e["share"] for e in c["edges"] if e["by"] == "lock"}
print(c["sentence"], waits)
assert waits[("asks", "keeps")] >= 0.4, waits
PY
done

# two programs with a queue in shared memory, between a mutex and two conditions that both share; and two that take turns at the
# mutex alone, of which one hardly ever waits
cat >"$tmp/queue.py" <<'PY'
import ctypes, mmap, os, sys, time
libc, path, role = ctypes.CDLL(None), sys.argv[1], sys.argv[2]
burns = float(sys.argv[3])
MUTEX, FILLED, EMPTIED, COUNT = 0, 64, 128, 192
with open(path + ".begun" if role in ("gives", "holds") else path, "w+b" if role in ("gives", "holds") else "r+b") as f:
    f.truncate(4096)
    shared = mmap.mmap(f.fileno(), 4096)
at = ctypes.addressof(ctypes.c_char.from_buffer(shared))
def call(name, *args):
    rc = getattr(libc, "pthread_" + name)(*(a if not isinstance(a, int) else ctypes.c_void_p(at + a) for a in args))
    assert rc == 0, (name, rc)
if role in ("gives", "holds"):
    kind = ctypes.create_string_buffer(64)
    for thing, places in (("mutex", (MUTEX,)), ("cond", (FILLED, EMPTIED))):
        call(thing + "attr_init", kind)
        getattr(libc, f"pthread_{thing}attr_setpshared")(kind, 1)
        for place in places:
            call(thing + "_init", place, kind)
    os.rename(path + ".begun", path)
count = ctypes.c_int.from_address(at + COUNT)
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
open(sys.argv[0]).read(100)
for _ in range(40 if role in ("gives", "takes") else 15 if role == "holds" else 100):
    if role == "gives":
        burn(burns)
    call("mutex_lock", MUTEX)
    if role in ("holds", "wants"):
        burn(burns)
    while count.value == (4 if role == "gives" else 0) and role in ("gives", "takes"):
        call("cond_wait", EMPTIED if role == "gives" else FILLED, MUTEX)
    count.value += {"gives": 1, "takes": -1}.get(role, 0)
    if role in ("gives", "takes"):
        call("cond_signal", FILLED if role == "gives" else EMPTIED)
    call("mutex_unlock", MUTEX)
    if role == "takes":
        burn(burns)
    if role == "holds":
        time.sleep(0.02)
    if role == "wants" and not os.path.exists(path):
        break
if role == "holds":
    os.unlink(path)
PY
for name in gives takes holds wants; do cp "$tmp/queue.py" "$tmp/$name.py"; done
# shared TASK FIRST SECONDS SECOND SECONDS: the second program begins when the first has made the queue
shared() {
	run "$1" sh -c "python3 $tmp/$2.py $tmp/$1.queue $2 $3 & while ! [ -e $tmp/$1.queue ]; do sleep 0.01; done
		python3 $tmp/$4.py $tmp/$1.queue $4 $5; wait"
	until_true 20 judged "$1" || fail "$1: no verdict"
}
shared slow-giver gives 0.03 takes 0.001
shared slow-taker gives 0.001 takes 0.03
shared slow-holder holds 0.1 wants 0.001
# waits TASK BY WAITER HOLDER
waits() {
	python3 - "$tmp/$1.json" "$2" "$3" "$4" <<'PY' || fail "$1"
import json, sys
by, waiter, holder = sys.argv[2:]
c = json.load(open(sys.argv[1]))["chain"]
names = [n["name"].split(".py")[0] for n in c["nodes"]]
waits = {(names[e["waiter"]], names[e["holder"]], e["by"]): e["share"] for e in c["edges"] if e["holder"] is not None}
print(c["sentence"], waits)
assert waits[(waiter, holder, by)] >= 0.4 and max((v for k, v in waits.items() if k[0] == holder), default=0) < 0.2, waits
assert names[c["limit"]] == holder, c["sentence"]
PY
}
waits slow-giver condition takes gives
waits slow-taker condition gives takes
waits slow-holder mutex wants holds

# one program has no chain, and the report no word of it
run alone dd if="$tmp/file" of=/dev/null bs=64k status=none
until_true 20 judged alone || fail "alone: no verdict"
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["chain"] is None' "$tmp/alone.json" || fail "alone: a chain of one"
nw report "$(session_of pipe-second)" | grep -q "^Who waited for whom: .*first.py .*second.py .*computed" || fail "the report has no chain"
nw report "$(session_of alone)" | grep "^Who waited" && fail "alone: the report has a chain"
# the page has the picture: a box for each, the limit marked
id=$(session_of pipe-second)
curl -sf "$url/session/$id" >"$tmp/page" || fail "no page"
grep -q 'svg class="chain"' "$tmp/page" && [ "$(grep -o '<rect[^>]* rx="5"' "$tmp/page" | wc -l)" = 3 ] || fail "the page has no picture of three programs"
[ "$(grep -o '<rect class="limit" rx="5"' "$tmp/page" | wc -l)" = 1 ] || fail "the picture marks no limit"
grep -q 'aria-describedby="chain-words"' "$tmp/page" && grep -q '<p id="chain-words">' "$tmp/page" || fail "the picture is not described"
grep -q '>Computed</th>' "$tmp/page" && ! grep -q '>In steps</th>' "$tmp/page" || fail "the table has columns of zeros"
stop_box
