#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A host's baseline: sent once, trained by the box, and from then on every session's file operations have classes. The truth is
# brought about here: a file that is in the page cache, and a file that was dropped, whose every block is read once.
. tests/lib.sh
dir=$tmp
case $(stat -f -c %T "$tmp") in
tmpfs) dir=$(mktemp -d /var/tmp/baseline.XXXXXX); trap 'rm -rf "$dir"; lib_cleanup' EXIT ;;
esac
start_box
cat >"$tmp/walk.py" <<'END'
import os, random, sys
path, state = sys.argv[1:]
random.seed(1)
fd = os.open(path, os.O_RDONLY)
size, end = 1 << 14, os.fstat(fd).st_size
places = list(range(0, end, size))
random.shuffle(places)
if state == "cached":
    for at in range(0, end, 1 << 20): os.pread(fd, 1 << 20, at)
else:
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
if os.fork() == 0:                                   # the child's file is an object of its own: the loop above does not count
    for at in places: os.pread(fd, size, at)
    os._exit(0)
os.wait()
END
# walk STATE TASK: reads a file in random order below nwrun
walk() {
	"$bin/nwrun" -t "$2" python3 -S "$tmp/walk.py" "$dir/data" "$1" || fail "walk $1"
	until_true 30 sh -c "'$bin/narrows' -s '$tmp/state' report --json last >'$tmp/$2.json' && grep -q '\"io\":{' '$tmp/$2.json'" ||
		fail "no io in the report of $2: $(head -c 300 "$tmp/$2.json")"
}
head -c 67108864 /dev/urandom >"$dir/data" && sync "$dir/data"

# Without a baseline: the kernel's count says that a cached file came from the page cache.
walk cached before
python3 - "$tmp/before.json" <<'END' || fail "before a baseline"
import json, sys
io = json.load(open(sys.argv[1]))["io"]
f = [f for f in io["files"] if f["path"].endswith("/data")]
# the child read all of the file; what the parent's own process read from the device may be others' pages, of its start
assert f and max(f, key=lambda x: x["ops"])["named_by"] == "evidence", f
assert not io["models"] and "baseline" not in io["sentence"]
END

"$bin/iomodel" baseline -q -t 0.1 -F 64MiB -M 256KiB -N "long seek=disk of the test" "$tmp/base" "$dir/file" 2>"$tmp/said" || fail "$(tail -n 5 "$tmp/said")"
grep -q 'the box has .* sizes' "$tmp/said" || fail "not sent: $(tail -n 3 "$tmp/said")"
ran=$(grep -c ' us$' "$tmp/said")
[ "$ran" -ge 50 ] || fail "only $ran cells"
# Resumed, nothing runs again; the newest baseline counts.
"$bin/iomodel" baseline -q -t 0.1 -F 64MiB -M 256KiB -N "long seek=disk of the test" "$tmp/base" "$dir/file" 2>"$tmp/said" || fail "$(tail -n 5 "$tmp/said")"
! grep -q ' us$' "$tmp/said" || fail "cells ran again"
! "$bin/iomodel" baseline -N "no class=x" "$tmp/base" "$dir/file" 2>/dev/null || fail "a name for no class"

nw baselines >"$tmp/listed" || fail "baselines"
grep -q 'measured 20.* ago$' "$tmp/listed" && grep -Eq '^ +read +page cache +[0-9]+ +[^ ]+.* (ok|refused)' "$tmp/listed" ||
	fail "baselines: $(cat "$tmp/listed")"

walk cached warm
walk uncached cold
nw report last >"$tmp/report" || fail "report"
grep -q 'disk.read .*% of operations' "$tmp/report" && grep -q "against the host's baseline" "$tmp/report" || fail "the report has no classes: $(cat "$tmp/report")"
python3 - "$tmp" <<'END' || fail "classes"
import json, sys
def of(name):
    io = json.load(open(f"{sys.argv[1]}/{name}.json"))["io"]
    # the child's reads: random steps
    return io, max((f for f in io["files"] if f["path"].endswith("/data")), key=lambda f: f["ops"])
def share(f, *names):
    return sum(k["share_ops"] for k in f["classes"] if k["name"] in names)
def cached(f):
    return share(f, "page cache")
io, warm = of("warm")
cio, cold = of("cold")
print("cached file: %.1f %% page cache, lost %.3f s; dropped file: %.1f %% page cache, lost %.3f s of %.3f s" %
    (100 * cached(warm), warm["lost_s"], 100 * cached(cold), cold["lost_s"], cold["time_s"]))
assert warm["named_by"] == cold["named_by"] == "baseline" and warm["ops"] >= 4096
# a cached operation that was held up is as slow as a device that is fast: it may be either
assert cached(warm) >= 0.85 and share(warm, "page cache", "either") >= 0.95 and share(cold, "page cache", "either") <= 0.05, (warm, cold)
assert warm["lost_s"] < 0.2 * cold["lost_s"] and cold["lost_s"] > 0.5 * cold["time_s"]
assert "baseline" in io["sentence"]
names = {(m["class"], m["name"], m["named_by"], m["stage"]) for m in io["models"]}
assert ("page cache", "page cache", "baseline", "disk.read") in names, names
assert ("page cache", "page cache", "baseline", "disk.write") in names, names
if any(m["class"] in ("long seek", "device") and m["stage"] == "disk.read" for m in io["models"]):   # a file system with O_DIRECT
    # alone, or one class with the other ways to the device, where the durations do not differ
    assert {("long seek", "disk of the test", "administrator", "disk.read"), ("device", "disk of the test", "administrator", "disk.read")} & names, names
assert len(io["models"]) == len({(m["class"], m["stage"]) for m in io["models"]})   # of one baseline only
steps = {s["kind"]: s["steps"] for s in cold["steps"]}
assert steps["random"] > 0.9 * (cold["ops"] - 1), steps
END
id=$(python3 -c "import json; print(json.load(open('$tmp/warm.json'))['session']['id'])")
curl -fsS "$url/session/$id?all=1" | grep -q 'Time lost in file operations' || fail "the page has no such section"
