#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `narrows stat`: every kind on good input, standard input, compressed files; bad input is one line on stderr with file,
# line and column, status 2 and nothing on stdout.
. tests/lib.sh
# as programs ask: --csv goes before --cases
stat() {
	kind=$1
	shift
	"$bin/narrows" stat "$kind" --cases "$@"
}

# same WHAT EXPECTED ACTUAL
same() { [ "$2" = "$3" ] || fail "$1: got $3, want $2"; }

# bad PATTERN ARGUMENTS ...: one line that matches, status 2, no output
bad() {
	pattern=$1
	shift
	status=0
	stat "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
	[ "$status" = 2 ] || fail "stat $*: status $status"
	[ ! -s "$tmp/out" ] || fail "stat $*: output"
	same "stat $*: lines on stderr" 1 "$(wc -l <"$tmp/err")"
	grep -Eq "$pattern" "$tmp/err" || fail "stat $*: $(cat "$tmp/err")"
}

# --- good input ---
printf 't,a,b,name\n0,0.1,,x\n1,0.1,1e22,y\n2,+.1e0,NA,"z, ""q"""\n' >"$tmp/s.csv"
same summary '{"t":{"n":3,"mean":1,"sd":1,"min":0,"max":2,"sum":3,"lag1_autocorrelation":0,"median":1,"p90":1.8,"p99":1.98},"a":{"n":3,"mean":0.1,"sd":0,"min":0.1,"max":0.1,"sum":0.30000000000000004,"lag1_autocorrelation":null,"median":0.1,"p90":0.1,"p99":0.1},"b":{"n":1,"mean":1e22,"sd":null,"min":1e22,"max":1e22,"sum":1e22,"lag1_autocorrelation":null,"median":1e22,"p90":1e22,"p99":1e22}}' \
	"$(stat summary "$tmp/s.csv")"
stat summary "$tmp/s.csv" >"$tmp/plain"
for pack in "gzip .gz" "xz .xz" "zstd .zst"; do
	command -v "${pack% *}" >/dev/null || continue
	"${pack% *}" -q -c "$tmp/s.csv" >"$tmp/s.csv${pack#* }"
	stat summary "$tmp/s.csv${pack#* }" | cmp -s - "$tmp/plain" || fail "${pack% *}"
done
stat summary - <"$tmp/s.csv" | cmp -s - "$tmp/plain" || fail "standard input"
sed 's/$/\r/' "$tmp/s.csv" >"$tmp/crlf.csv"
stat summary "$tmp/crlf.csv" | cmp -s - "$tmp/plain" || fail "CRLF"
{ printf '\357\273\277'; cat "$tmp/s.csv"; printf '\n\n'; } >"$tmp/bom.csv"
stat summary "$tmp/bom.csv" | cmp -s - "$tmp/plain" || fail "byte order mark, blank lines at the end"
same "header only" '{"a":{"n":0,"mean":null,"sd":null,"min":null,"max":null,"sum":null,"status":"insufficient","lag1_autocorrelation":null,"median":null,"p90":null,"p99":null}}' \
	"$(echo a | stat summary -)"
same "summary --csv" "name,n,mean,sd,min,max,sum,lag1_autocorrelation,median,p90,p99" "$(stat summary --csv "$tmp/s.csv" | head -n 1)"
same "summary --group" '"mean": 2' "$(printf 'g,v\na,1\nb,9\na,3\n' | stat summary --group g --pretty - | grep -o '"mean": 2$\|"mean": 2,' | head -n 1 | tr -d ,)"

printf 'component,n,mean,sd\nnet.read,60,118e6,9e6\ndisk.read,60,106e6,4e6\ndisk.write,0,,\n' >"$tmp/tuples.csv"
stat bottleneck "$tmp/tuples.csv" >"$tmp/out"
grep -q '"lowest":"disk.read".*"candidates":\["disk.read"\],"unique":true' "$tmp/out" || fail "bottleneck: $(cat "$tmp/out")"
stat bottleneck --csv "$tmp/tuples.csv" | grep -q '^net.read,60,60,118000000,' || fail "bottleneck --csv"
printf 'a,b\n1,2\n2,3\n1.5,2.5\n1,2.2\n' | stat ttest --alpha 0.01 - | grep -q '"significant":' || fail ttest
awk 'BEGIN { srand(1); print "duration"; for (i = 0; i < 3000; i++) print (i % 3 ? 1e-4 : 5e-3) * exp(rand() / 5) }' >"$tmp/d.csv"
stat density "$tmp/d.csv" >"$tmp/out"
grep -q '"class_counts":\[2000,1000\]' "$tmp/out" || fail "density"
same "density --csv" 513 "$(stat density --csv "$tmp/d.csv" | wc -l)"
awk 'BEGIN { srand(1); print "t,y"; for (i = 0; i < 300; i++) print i "," (i < 200 ? 10 : 14) + rand() + rand() + rand() + rand() }' >"$tmp/c.csv"
stat changes "$tmp/c.csv" | grep -q '"changepoints":\[200\]' || fail "changes"
# the published rule has one word, and the word of earlier versions for today's rule changes nothing
stat density --faithful "$tmp/d.csv" >"$tmp/published"
cmp -s "$tmp/out" "$tmp/published" && fail "density --faithful is the default"
stat density --better "$tmp/d.csv" | cmp -s - "$tmp/out" || fail "--better has an effect"
stat changes --penalty '4 ln n' --min-segment 10 --ar --csv "$tmp/c.csv" | grep -q '^200,300,15.' || fail "changes --csv"

printf 'g,v\na,1\nb,9\na,3\n' >"$tmp/groups.csv"
"$bin/narrows" stat summary --group g "$tmp/groups.csv" >"$tmp/out"
grep -Eq '^a +2 +2 ' "$tmp/out" && grep -Eq '^b +1 +9 ' "$tmp/out" && grep -Eq '^total +3 +4.33333 ' "$tmp/out" ||
	fail "summary --group for people: $(cat "$tmp/out")"
same "summary --group --csv" "b,1,9,,9,9,9,9,9,9" "$("$bin/narrows" stat summary --csv --group g "$tmp/groups.csv" | sed -n 3p)"

# --- io-model files, models and classes ---
io=tests/cases/formats/io-model-4096-off0-rnd-r
stat density --grid 0 $io/out-0.csv | grep -q '"n":2999' || fail "density of an io-model file: the last row is the sync"
stat density --keep-last $io/out-0.csv | grep -q '"n":3000' || fail "density --keep-last"
stat models $io/out-0.csv tests/cases/formats/io-model-first-version/output.txt >"$tmp/out"
grep -q '"sizes":\[{"size":1024,"n":200,.*{"size":4096,"n":2999,' "$tmp/out" || fail "models of io-model files: $(cat "$tmp/out")"
printf 'name,small_I,small_c,large_I,large_c\nfast,1e-6,0,1e-6,0\n' >"$tmp/models.csv"
printf 'size,duration\n1,1e-7\n1,1e-3\n' >"$tmp/ops.csv"
same classify '{"class":["fast","slow"],"counts":{"fast":1,"slow":1}}' \
	"$(stat classify --models "$tmp/models.csv" --otherwise slow "$tmp/ops.csv")"
stat classify --csv --models "$tmp/models.csv" "$tmp/ops.csv" | grep -qx '1,0.001,uncached' || fail "classify --csv"

# a trace whose clock is coarser than the operations says so, and drops nothing
for i in 1 2 3; do printf ' X_POSIX 0 read %s 0 4096 0.0010 0.0010 [1]\n' $i; done >"$tmp/dxt.txt"
printf ' X_POSIX 0 read 4 0 4096 0.0010 0.0013 [1]\n X_POSIX 0 read 5 0 4096 0.0020 0.0010 [1]\n' >>"$tmp/dxt.txt"
stat models --from dxt "$tmp/dxt.txt" >"$tmp/out" 2>"$tmp/said"
grep -q 'the clock of this trace is 100.*s; 3 of 4 operations are faster than it, and count as one step: limits are upper bounds' "$tmp/said" &&
	grep -q 'left out, without a size or a duration: 1 operations' "$tmp/said" &&
	grep -q '"size":4096,"n":4,.*"clock_s":0.0001,"below_clock":3,"left_out":1' "$tmp/out" ||
	fail "the clock of a trace: $(cat "$tmp/said" "$tmp/out")"

# what models prints as CSV is what classify reads
"$bin/narrows" stat models -f csv --name mine --size 4096 $io/out-0.csv >"$tmp/mine.csv"
grep -q '^name,small_I,small_c,large_I,large_c,status,rel_err_pct,durations$' "$tmp/mine.csv" || fail "models --csv: $(cat "$tmp/mine.csv")"
"$bin/narrows" stat classify --models "$tmp/mine.csv" --size 4096 $io/out-0.csv | grep -Eq '^ *mine +27[0-9][0-9]$' ||
	fail "classify with the models of models --csv"

# --- other separators and marks; forms ---
printf 'y;x\n1,5;2\n2,5;4\n' >"$tmp/semicolon.csv"
printf 'y,x\n1.5,2\n2.5,4\n' >"$tmp/point.csv"
tr ';' '\t' <"$tmp/semicolon.csv" >"$tmp/tab.csv"
same "--decimal ," "$(stat summary "$tmp/point.csv")" "$(stat summary --decimal , "$tmp/semicolon.csv")"
same "--sep tab" "$(stat summary "$tmp/point.csv")" "$(stat summary --sep tab --decimal , "$tmp/tab.csv")"
"$bin/narrows" stat summary "$tmp/point.csv" | grep -Eq '^y +2 +2 +0.707107 +1.5 +2.5 +4' || fail "the table for people"
for kind in ttest correlation "lm --response y" "validate --response y --folds 2" "lasso --response y --lambda 1"; do
	"$bin/narrows" stat $kind -f csv "$tmp/point.csv" >"$tmp/out" || fail "$kind -f csv"
	[ "$(wc -l <"$tmp/out")" -ge 2 ] || fail "$kind -f csv: no rows"
	[ "$(awk -F, '{ print NF }' "$tmp/out" | sort -u | wc -l)" = 1 ] || fail "$kind -f csv: ragged"
	"$bin/narrows" stat $kind "$tmp/point.csv" >"$tmp/out" || fail "$kind for people"
	grep -q '[{}]' "$tmp/out" && fail "$kind for people is JSON"
done
nbsp=$(printf '\302\240')
"$bin/narrows" stat density "$tmp/d.csv" | sed "s/$nbsp/ /g" >"$tmp/out"
grep -q '2 classes again in [0-9]* % of the samples drawn from them' "$tmp/out" || fail "density for people: $(cat "$tmp/out")"
grep -aEq '^B +5[.][0-9]+ ms' "$tmp/out" || fail "a class with its unit: $(cat "$tmp/out")"

# --- bad input ---
printf 'a,b\n1,2\n3\n' >"$tmp/ragged.csv"
printf 'y;x\n1;2\n' >"$tmp/semicolon.csv"
bad 'not a number .fields apart by semicolons. --sep' summary "$tmp/semicolon.csv"
stat summary "$tmp/s.csv" 2>&1 >/dev/null | grep -q 'left out, not numbers: name' || fail "no word about the column of names"
bad "$tmp/ragged.csv:3:2: row ends after 1 of 2 fields" summary "$tmp/ragged.csv"
# a European file, thousands, numbers beyond a fit; a fit without any error, a component that all others are compared with
printf 'y;a\n1,5;2,25\n' >"$tmp/europe.csv"
bad "$tmp/europe.csv:2:3: more fields than the header's 1 .fields apart by semicolons, and decimal commas. --decimal" summary "$tmp/europe.csv"
printf 'a\n"12,345,678"\n' >"$tmp/grouped.csv"
bad '"12,345,678" is not a number .thousands apart by commas' summary "$tmp/grouped.csv"
printf 'y,x\n1e308,1\n1.2e308,2\n1.7e308,3\n-1e308,4\n' >"$tmp/large.csv"
bad 'the values are too large for a fit' lm --response y "$tmp/large.csv"
printf 'y,x\n1,1\n2,2\n3,3\n4,4\n5,5\n6,6\n' >"$tmp/line.csv"
stat lm --response y "$tmp/line.csv" | grep -q '"the fit is perfect: standard errors, t, p and F are rounding"' || fail "no word about a perfect fit"
printf 'a,b\n1,2\n2,3\n3,5\n4,4\n' >"$tmp/pairs.csv"
"$bin/narrows" stat bottleneck --paired "$tmp/pairs.csv" >"$tmp/out"
grep -q '^method *paired$' "$tmp/out" && grep -q '^component *values in all *values ' "$tmp/out" && grep -q '^a .* lowest ' "$tmp/out" || fail "bottleneck --paired: $(cat "$tmp/out")"
printf 'a,b\n1,2,3\n' >"$tmp/wide.csv"
bad "$tmp/wide.csv:2:5: more fields" summary "$tmp/wide.csv"
printf 'a,b\n1,2\n1,2\n1,x7\n' >"$tmp/word.csv"
bad "$tmp/word.csv:4:3: column 2 \\(b\\): \"x7\" is not a number" summary "$tmp/word.csv"
printf 'a\n"1\n2\n' >"$tmp/quote.csv"
bad "$tmp/quote.csv:2:1: quote that is never closed" summary "$tmp/quote.csv"
printf 'a\n1\0002\n' >"$tmp/nul.csv"
bad "$tmp/nul.csv:2:2: NUL byte" summary "$tmp/nul.csv"
printf 'a,a\n1,2\n' >"$tmp/twice.csv"
bad 'two columns are named "a"' summary "$tmp/twice.csv"
: >"$tmp/empty.csv"
bad "$tmp/empty.csv:1:1: no header" summary "$tmp/empty.csv"
bad "$tmp/none.csv: No such file" summary "$tmp/none.csv"
bad "$tmp: Is a directory" summary "$tmp"
echo garbage >"$tmp/s.gz"
bad "$tmp/s.gz: corrupt data" summary "$tmp/s.gz"
head -c 60 "$tmp/s.csv.gz" >"$tmp/cut.gz"
bad "$tmp/cut.gz: corrupt data" summary "$tmp/cut.gz"
bad 'stdin:1:1: no header' summary -
bad 'no column "q"' density --column q "$tmp/s.csv"
bad 'choose with --column' density "$tmp/s.csv"
bad 'unknown kind "sumary"' sumary "$tmp/s.csv"
bad 'unknown option "--alfa"' ttest --alfa 1 "$tmp/s.csv"
bad 'alpha: "2" is not a number from 0 to 1' ttest --alpha 2 "$tmp/s.csv"
bad 'alpha: wants a value' ttest "$tmp/s.csv" --alpha
bad 'a comma cannot be both' summary --sep , --decimal , "$tmp/s.csv"
bad 'one character, or .tab' summary --sep ab "$tmp/s.csv"
bad 'not a number .a decimal comma. --decimal' changes --column y --sep tab "$tmp/tab.csv"
bad 'is not table, csv or json' summary -f xml "$tmp/s.csv"
bad 'given twice' ttest --alpha 0.1 --alpha 0.2 "$tmp/s.csv"
bad 'no file given' ttest
bad 'one file at a time' summary "$tmp/s.csv" "$tmp/s.csv"
bad 'a t-test compares 2 groups, here are 3' ttest "$tmp/tuples.csv"
printf 'a,b\n1,2\n2,3\n' >"$tmp/ab.csv"
bad 'need a value per window' bottleneck --n-eff "$tmp/tuples.csv"
cp $io/out-0.csv "$tmp/ops-0.csv"
bad 'access size unknown' models "$tmp/ops-0.csv"
stat models --size 4096 "$tmp/ops-0.csv" | grep -q '"size":4096' || fail "models --size"
bad 'ab.csv:1:1: no column "small_I"' classify --models "$tmp/ab.csv" "$tmp/ops.csv"
bad 'wants --models' classify "$tmp/ops.csv"

# --- help ---
stat --help | grep -q '^  density ' || fail "stat --help"
stat density --help | grep -q -- '--h-min H' || fail "stat density --help"
