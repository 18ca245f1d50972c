#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The benchmark of I/O paths: states are what they are called, files are read by the statistics, a matrix goes on.
. tests/lib.sh
iomodel=$bin/iomodel
file=$tmp/file
case $(stat -f -c %T "$tmp") in
tmpfs) file=$(mktemp /var/tmp/iomodel.XXXXXX); trap 'rm -f "$file"; lib_cleanup' EXIT ;;
esac
run() { "$iomodel" run -F 16MiB -M 1MiB "$@"; }

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
[ "$(stat -c %s "$file")" = 16777216 ] || fail "the file changed its length"

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
"$bin/narrows" stat models --size 4096 "$tmp/compat/out-0.csv" >"$tmp/models" || fail "narrows stat models of -C"
grep -q '"n":199' "$tmp/models" || fail "-C: not 199 operations: $(cat "$tmp/models")"
"$bin/narrows" stat models "$tmp/cached/out-0.csv" >"$tmp/models" || fail "narrows stat models"
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

# A matrix that was interrupted goes on: what is done is not done again.
"$iomodel" matrix -q -R 1 -n 3 -t 0.05 -F 32MiB -M 32MiB "$tmp/matrix" "$file" 2>"$tmp/progress" &
matrix=$!
pids="$pids $matrix"
until_true 20 test -e "$tmp/matrix/discard-read-off0-1024-1/done" || fail "the matrix does not run: $(cat "$tmp/progress")"
kill -9 $matrix
wait $matrix 2>/dev/null || :
before=$(find "$tmp/matrix" -name done | wc -l)
"$iomodel" matrix -q -R 1 -n 3 -t 0.05 -F 32MiB -M 32MiB "$tmp/matrix" "$file" 2>"$tmp/progress" || fail "$(tail -n 3 "$tmp/progress")"
grep -q " $before were done before" "$tmp/progress" || fail "the matrix began anew: $(tail -n 1 "$tmp/progress"), $before done"
"$iomodel" table -c "$tmp/matrix" >"$tmp/table" || fail "table"
[ "$(tail -n +2 "$tmp/table" | wc -l)" = "$(find "$tmp/matrix" -name done | wc -l)" ] || fail "the table has not every cell"
