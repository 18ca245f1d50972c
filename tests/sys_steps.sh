#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Steps that a program marks by nw_step_begin() and nw_step_end(): number, time inside and between steps are the loop's own account,
# with libnarrows linked in, loaded with the program, and loaded by Python; the calls do nothing without nwrun.
. tests/lib.sh
paced
start_box

# a loop without workers that reads its batches itself, and whose steps wait for a device, which is a sleep here
cat >"$tmp/loop.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "narrows/step.h"

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int
main(int argc, char *argv[])
{
	static char batch[100000];
	double began = now(), between = 0, inside = 0, ended;
	int fd = open(argv[1], O_RDONLY), i;

	(void)argc;
	nw_step_end();
	ended = now();
	for (i = 0; i < 60; i++) {
		if (pread(fd, batch, sizeof(batch), (off_t)i * 100000) < 0)
			return 1;
		usleep((useconds_t)atoi(argv[2]));
		nw_step_begin();
		nw_step_begin(); /* does nothing */
		began = now();
		between += began - ended;
		usleep((useconds_t)atoi(argv[3]));
		nw_step_end();
		nw_step_end();
		ended = now();
		inside += ended - began;
	}
	usleep(300000); /* after the last step: between no steps */
	printf("%.6f %.6f\n", inside, between);
	return 0;
}
C
flags="-O1 -std=gnu11 -Wall -Wextra -Werror -Iinclude -I."
# a library with a sanitizer's runtime has no place in a program without
case $B in *asan | *tsan | *cov) shared= library=host/lib/step.c ;; *) shared=yes library=$B/lib/libnarrows.a ;; esac
${CC:-cc} $flags -no-pie -o "$tmp/loop-archive" "$tmp/loop.c" "$library" || fail "a program at a fixed address"
${CC:-cc} $flags -o "$tmp/loop-pie" "$tmp/loop.c" "$library" || fail "a program at any address"
head -c 6000000 /dev/zero >"$tmp/file"
"$tmp/loop-archive" "$tmp/file" 1000 1000 >/dev/null || fail "the calls need nwrun"

judged() {
	id=$(nw sessions --json | grep "\"task_id\":\"$1\"" | sed -n 's/.*"id":\([0-9]*\).*/\1/p' | head -n 1)
	[ -n "$id" ] && nw report "$id" --json >"$tmp/$1.json" 2>/dev/null && grep -q '"state": *"closed".*"sentence"' "$tmp/$1.json"
}
loop() {
	task=$1
	shift
	timeout $((60 * PATIENCE)) "$bin/nwrun" -i 0.1 -H here -t "$task" "$@" >"$tmp/$task.truth" || fail "$task"
	until_true 20 judged "$task" || fail "$task: no verdict"
	python3 - "$tmp/$task.json" $(cat "$tmp/$task.truth") <<'PY' || fail "$task"
import json, sys
doc, inside, between = json.load(open(sys.argv[1])), float(sys.argv[2]), float(sys.argv[3])
(s,) = doc["steps"]
print(s, inside, between)
assert s["n"] == 60 and s["host"] == "here" and s["by"] == "marks", s
assert abs(s["inside_s"] - inside) < 0.01 * inside and abs(s["between_s"] - between) < 0.01 * between + 0.002, s
share = between / (between + inside)
assert abs(s["between_share"] - share) < 0.005 and abs(s["mean_s"] - inside / 60) < 0.01 * inside, s
assert " took 60 steps of " in s["sentence"] and ("accelerator" in s["sentence"]) == (share > 0.1), s["sentence"]
assert s["sentence"] in doc["verdict"]["reasons"], doc["verdict"]["reasons"]
over = [x for x in s["over_time"] if x is not None]
assert len(over) >= 5 and abs(sum(over) / len(over) - share) < 0.15, over
PY
}
loop archive "$tmp/loop-archive" "$tmp/file" 20000 10000
loop pie "$tmp/loop-pie" "$tmp/file" 500 20000
if [ -n "$shared" ]; then
	cat >"$tmp/loop.py" <<'PY'
import ctypes, sys, time
steps = ctypes.CDLL(sys.argv[1])
now, inside, between = time.monotonic, 0, 0
steps.nw_step_end()
ended = now()
with open(sys.argv[2], "rb", buffering=0) as f:
    for _ in range(60):
        f.read(100000)
        time.sleep(0.01)
        steps.nw_step_begin()
        began = now()
        time.sleep(0.005)
        steps.nw_step_end()
        between, inside, ended = between + began - ended, inside + now() - began, now()
print(inside, between)
PY
	loop python python3 "$tmp/loop.py" "$PWD/$B/lib/libnarrows.so" "$tmp/file"
fi
id=$(nw sessions --json | grep '"task_id":"archive"' | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
nw report "$id" | grep -q "^Steps: loop-archive on here took 60 steps of .*, and .* of its loop's time lay between steps" || fail "the report has no steps"
curl -sf "$url/session/$id" >"$tmp/page" && grep -q 'id="steps"' "$tmp/page" && grep -q "took 60 steps of" "$tmp/page" || fail "the page has no steps"
nw report "$id" --check || fail "the document contradicts itself"

# a loop without marks, and a worker that fills its queue: steps by the loop's calls; one that reads from another program takes none
cat >"$tmp/fetch.py" <<'PY'
import multiprocessing, subprocess, sys, time
now, inside, between = time.monotonic, 0, 0
def work(queue):
    for _ in range(61):
        time.sleep(0.01)
        queue.put(bytes(20000))
if sys.argv[1] == "worker":
    queue = multiprocessing.Queue(2)
    multiprocessing.Process(target=work, args=(queue,), daemon=True).start()
    get = queue.get
else:
    maker = subprocess.Popen(["sh", "-c", "for i in $(seq 61); do sleep 0.01; head -c 20000 /dev/zero; done"], stdout=subprocess.PIPE)
    get = lambda: maker.stdout.read(20000)
for i in range(61):
    asked = now()
    get()
    began = now()
    time.sleep(0.005 if i < 60 else 0)
    between, inside = between + began - asked, inside + now() - began
print(inside, between)
PY
for task in worker program; do
	timeout $((60 * PATIENCE)) "$bin/nwrun" -i 0.1 -H here -t "$task" python3 "$tmp/fetch.py" "$task" >"$tmp/$task.truth" || fail "$task"
	until_true 20 judged "$task" || fail "$task: no verdict"
done
python3 - "$tmp" <<'PY' || fail "steps by calls"
import json, sys
steps = json.load(open(sys.argv[1] + "/program.json"))["steps"]
assert steps == [], steps
inside, between = map(float, open(sys.argv[1] + "/worker.truth").read().split())
(s,) = json.load(open(sys.argv[1] + "/worker.json"))["steps"]
print(s, inside, between)
assert s["by"] == "calls" and abs(s["n"] - 60) <= 3, s
assert abs(s["between_share"] - between / (between + inside)) < 0.15 and abs(s["mean_s"] - inside / 60) < 0.4 * inside / 60, s
assert "as its calls tell, and fetched its batches for" in s["sentence"] and "accelerator" not in s["sentence"], s["sentence"]
PY
stop_box
