#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The benchmark of I/O paths: states are what they are called, files are read by the statistics, a matrix goes on.
. tests/lib.sh
iomodel=$bin/iomodel
file=$tmp/file
case $(stat -f -c %T "$tmp") in
tmpfs) file=$(mktemp /var/tmp/iomodel.XXXXXX); trap 'rm -f "$file"; lib_cleanup' EXIT ;;
esac
run() { "$iomodel" run -F 4MiB -M 1MiB "$@"; }

# Every way to move bytes moves all of them, in every layout.
for call in pread lseek mmap uring; do
	[ $call != uring ] || "$iomodel" run -F 4096 -M 4096 -n 1 -i uring "$tmp/try" "$file" >/dev/null 2>&1 || continue
	for layout in off0 seq rnd rnd65536 stride4096 stride4096,4096 reverse0; do
		for way in -r -w; do
			run $way -i $call -l $layout -n 300 "$tmp/cell" "$file" >"$tmp/said" || fail "$call $layout $way: $(cat "$tmp/said")"
			[ "$(tail -n +2 "$tmp/cell/out-0.csv" | wc -l)" = 300 ] || fail "$call $layout $way: operations are missing"
			! cut -d, -f6 "$tmp/cell/out-0.csv" | grep -q '^[1-9]' || fail "$call $layout $way: errors"
		done
	done
done
[ "$(stat -c %s "$file")" = 4194304 ] || fail "the file changed its length"

# States: every page of a cached file is in memory before an access, and none of an uncached one before the first.
run -s cached -l rnd -n 300 "$tmp/cached" "$file" >/dev/null || fail "cached"
[ "$(tail -n +2 "$tmp/cached/out-0.csv" | cut -d, -f7 | sort -u)" = 1 ] || fail "a cached file is not cached"
if run -s uncached -l rnd -n 100 "$tmp/uncached" "$file" >/dev/null 2>"$tmp/why"; then
	[ "$(sed -n 2p "$tmp/uncached/out-0.csv" | cut -d, -f7)" = 0 ] || fail "an uncached file is cached"
	grep -q ' cachedBefore:0.00' "$tmp/uncached/params.txt" || fail "params.txt does not say what was verified"
else
	grep -q 'cannot be made uncached' "$tmp/why" || fail "uncached: $(cat "$tmp/why")"
fi
run -s discard -w -n 100 "$tmp/discard" "$file" >/dev/null || fail "discard"
grep -q 'file:/dev/null ' "$tmp/discard/params.txt" || fail "a discarded write went elsewhere"

# Bytes are those that the kernel counted.
read_bytes=$(awk -F, '$1 == "self_rchar" { print $4 }' "$tmp/cached/proc.csv")
[ "$read_bytes" -ge $((300 * 4096)) ] && [ "$read_bytes" -le $((300 * 4096 + 200000)) ] || fail "rchar $read_bytes"

# The files of the first benchmark: no operation 0, the sync as last row; the statistics read both forms.
run -C -l seq -n 200 "$tmp/compat" "$file" >/dev/null || fail "-C"
[ "$(head -n 1 "$tmp/compat/out-0.csv")" = "start_time, duration, " ] || fail "-C: header"
[ "$(wc -l <"$tmp/compat/out-0.csv")" = 201 ] || fail "-C: $(wc -l <"$tmp/compat/out-0.csv") lines"
"$bin/narrows" stat models --format json --size 4096 "$tmp/compat/out-0.csv" >"$tmp/models" || fail "narrows stat models of -C"
grep -q '"n":199' "$tmp/models" || fail "-C: not 199 operations: $(cat "$tmp/models")"
"$bin/narrows" stat models --format json "$tmp/cached/out-0.csv" >"$tmp/models" || fail "narrows stat models"
grep -q '"n":300' "$tmp/models" || fail "not 300 operations: $(cat "$tmp/models")"

# Threads have files of their own.
run -j 3 -l rnd -n 50 "$tmp/threads" "$file" >/dev/null || fail "-j"
[ "$(cat "$tmp/threads"/out-[012].csv | grep -c read)" = 150 ] || fail "-j: operations are missing"

# What cannot be is refused with words, and nothing is left.
! run -D -a 1000 "$tmp/bad" "$file" 2>"$tmp/why" || fail "O_DIRECT of 1000 bytes"
grep -q 'multiples of 4096' "$tmp/why" || fail "O_DIRECT: $(cat "$tmp/why")"
! run -F 1000000000000000 "$tmp/bad" "$tmp/large" 2>"$tmp/why" || fail "a file larger than the disk"
grep -q 'free' "$tmp/why" || fail "free space: $(cat "$tmp/why")"
! run -l sideways "$tmp/bad" "$file" 2>/dev/null || fail "an unknown layout"
! run -d nosuchdisk "$tmp/bad" "$file" 2>/dev/null || fail "an unknown device"

# A matrix that was interrupted goes on: what is done is not done again.
"$iomodel" matrix -q -R 1 -n 3 -t 1 -F 32MiB -M 32MiB "$tmp/matrix" "$file" 2>"$tmp/progress" &
matrix=$!
pids="$pids $matrix"
until_true 20 test -e "$tmp/matrix/discard-read-off0-1024-1/done" || fail "the matrix does not run: $(cat "$tmp/progress")"
kill -9 $matrix
wait $matrix 2>/dev/null || :
before=$(find "$tmp/matrix" -name done | wc -l)
"$iomodel" matrix -q -R 1 -n 3 -t 1 -F 32MiB -M 32MiB "$tmp/matrix" "$file" 2>"$tmp/progress" || fail "$(tail -n 3 "$tmp/progress")"
grep -q " $before were done before" "$tmp/progress" || fail "the matrix began anew: $(tail -n 1 "$tmp/progress"), $before done"
"$iomodel" table -c "$tmp/matrix" >"$tmp/table" || fail "table"
[ "$(tail -n +2 "$tmp/table" | wc -l)" = "$(find "$tmp/matrix" -name done | wc -l)" ] || fail "the table has not every cell"

# The paper's tables beside ours, of that matrix.
"$bin/narrows" stat tables --csv "$tmp/matrix" >"$tmp/tables" || fail "narrows stat tables"
"$bin/narrows" stat tables "$tmp/matrix" >"$tmp/matrices" && grep -Eq '^R-off0 +[^ ]+ / 1.46e\+05 ' "$tmp/matrices" &&
	[ "$(grep -c '^Table .*, ours / paper:$' "$tmp/matrices")" = 5 ] || fail "the tables for people: $(cat "$tmp/matrices")"
python3 - "$tmp/tables" <<'END' || fail "tables"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert {r["table"] for r in rows} == {"1a", "1b", "2", "3", "4"}, {r["table"] for r in rows}
def at(table, row, column): return next(r for r in rows if (r["table"], r["row"], r["column"]) == (table, row, column))
assert at("1a", "R-seq", "1K")["paper"] == "108000000" and 1e6 < float(at("1a", "R-seq", "1K")["ours"]) < 1e11
assert float(at("2", "R C seq", "read b_avg")["ours"]) >= 262144
assert float(at("3", "cached R <= 4K off0", "I")["ours"]) > 0 and at("3", "cached R > 4K rnd", "c")["ours"] != ""
shares = [float(r["ours"]) for r in rows if r["table"] == "4" and r["row"] == "C-off0-off0 R"]
assert len(shares) == 5 and abs(sum(shares) - 100) < 1e-6, shares
assert at("4", "C-seq-reverse R", "uncached")["ours"] == "" and at("4", "C-seq-reverse R", "uncached")["paper"] == "54"
END
! "$bin/narrows" stat tables "$tmp/cell" 2>/dev/null || fail "tables of no matrix"

# The figures of that matrix, whose quick form lacks Figure 6; with such cells all are drawn, of as many operations as were made.
"$bin/narrows" stat figures --csv "$tmp/matrix" "$tmp/figures" >"$tmp/drawn" || fail "narrows stat figures"
grep -q '^6,,0,not measured' "$tmp/drawn" && [ ! -e "$tmp/figures/figure6.svg" ] || fail "Figure 6 of nothing: $(cat "$tmp/drawn")"
for size in 4096 262144; do
	run -s cached -m seq -l reverse0 -n 20 -a $size "$tmp/matrix/cached-read-seq+reverse0-$size-1" "$file" >/dev/null || fail "reverse"
done
"$bin/narrows" stat figures --csv "$tmp/matrix" "$tmp/figures" >"$tmp/drawn" || fail "narrows stat figures, again"
python3 - "$tmp/figures" "$tmp/drawn" <<'END' || fail "figures"
import csv, re, sys, xml.dom.minidom
ops = {r["figure"]: int(r["operations"]) for r in csv.DictReader(open(sys.argv[2]))}
assert set(ops) == set("234567") and min(ops.values()) >= 3 and ops["6"] == 40, ops
def paths(figure, kind):
    page = xml.dom.minidom.parse(f"{sys.argv[1]}/figure{figure}.svg")
    return [p.getAttribute("d") for p in page.getElementsByTagName("path") if p.getAttribute("class").split()[:1] == [kind] and p.parentNode.tagName == "svg"]
assert [len(paths(n, "line")) for n in "23456"] == [1, 1, 2, 4, 0] and len(paths("7", "line")) >= 2
assert [len(paths(n, "dots")) for n in "23456"] == [1, 1, 2, 0, 5]
assert 20 <= sum(d.count("M") for d in paths("6", "dots")) <= 40
assert all(1 <= paths(n, "dots")[0].count("M") <= ops[n] for n in "23")
assert all(re.fullmatch(r"M[-0-9. LM]+", d) for n in "2357" for d in paths(n, "line"))
END
! "$bin/narrows" stat figures "$tmp/matrix" 2>/dev/null || fail "figures without a folder for them"
! "$bin/narrows" stat figures "$tmp/cell" "$tmp/figures" 2>/dev/null || fail "figures of no matrix"

# Classes against the truth: models of two runs say of the run between them which operations the page cache served. A machine
# that was busy in one of the runs alone teaches nothing: then all runs are made again.
classes_measure() {
	for size in 4096 65536 1048576; do
		rm -rf "$tmp"/train-* "$tmp"/hot-* "$tmp"/cold-*
		run -M 2MiB -s cached -l rnd -n 1000 -t 2 -a $size -S 3 "$tmp/train-a" "$file" >/dev/null || fail "train $size"
		run -M 2MiB -s cached -l rnd -n 1000 -t 2 -a $size -S 5 "$tmp/hot-$size" "$file" >/dev/null || fail "cached $size"
		run -M 2MiB -s cached -l rnd -n 1000 -t 2 -a $size -S 4 "$tmp/train-b" "$file" >/dev/null || fail "train $size"
		run -M 2MiB -s uncached -D -l rnd -n 1000 -t 2 -a $size -S 5 "$tmp/cold-$size" "$file" >/dev/null || skip "no O_DIRECT here"
		# A model for each size: one line over all of them is as wide as the noise of its largest size.
		"$bin/narrows" stat models --csv --name cached "$tmp"/train-*/out-0.csv >"$tmp/cached.csv" || fail "models of $size"
		[ "$(head -n 1 "$tmp/cached.csv")" = name,small_I,small_c,large_I,large_c,status,rel_err_pct,durations ] || fail "models --csv"
		for truth in hot cold; do
			"$bin/narrows" stat classify --format json --models "$tmp/cached.csv" "$tmp/$truth-$size/out-0.csv" >"$tmp/$truth.$size" ||
				fail "classify $truth $size"
		done
	done
}
cat >"$tmp/classes.py" <<'END'
import json, sys
def counts(truth):
    all = {}
    for size in (4096, 65536, 1048576):
        for k, n in json.load(open(f"{sys.argv[1]}/{truth}.{size}"))["counts"].items(): all[k] = all.get(k, 0) + n
    return all
hot, cold = counts("hot"), counts("cold")
right = [c[k] / sum(c.values()) for c, k in ((hot, "cached"), (cold, "uncached"))]
print("right: %.1f %% of cached, %.1f %% of uncached" % (100 * right[0], 100 * right[1]))
assert min(right) >= 0.95, (hot, cold)
END
paced
n=0
until
	classes_measure
	python3 "$tmp/classes.py" "$tmp" 2>"$tmp/why"
do
	n=$((n + 1))
	[ $n -lt 5 ] || fail "classes: $(cat "$tmp/why")"
done

# Traces of other programs.
printf '5, 1000, 0, 4096\n6, 1100, 0, 4096, 8192\n7, 900000, 1, 4096\n8, 1050, 0, 4096\n9, x\n' >"$tmp/fio.log"
"$bin/narrows" stat models --format json --from fio "$tmp/fio.log" >"$tmp/models" && grep -q '"n":3' "$tmp/models" || fail "fio: $(cat "$tmp/models")"
"$bin/narrows" stat models --format json --from fio --op write "$tmp/fio.log" | grep -q '"n":1' || fail "fio writes"
cat >"$tmp/dxt" <<'END'
# DXT, file_id: 1, file_name: /f
# Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)
 X_MPIIO       0  write        0               0      1048576      0.0010      0.0100
 X_POSIX       0  write        0               0      1048576      0.0020      0.0060  [OST: 3]
 X_POSIX       0   read        0               0        65536      0.0100      0.0101
 X_POSIX       0   read        1           65536        65536      0.0102      0.0103
END
"$bin/narrows" stat models --format json --from dxt "$tmp/dxt" >"$tmp/models" && grep -q '"size":65536,"n":2' "$tmp/models" || fail "dxt: $(cat "$tmp/models")"
"$bin/narrows" stat models --format json --from dxt --op write "$tmp/dxt" | grep -q '"limit":0.004' || fail "dxt writes"
! "$bin/narrows" stat models --format json --from pcap "$tmp/dxt" 2>/dev/null || fail "an unknown form"
! "$bin/narrows" stat models --format json --from fio "$tmp/dxt" 2>/dev/null || fail "no operation of that form"
