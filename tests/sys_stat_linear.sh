#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `narrows stat` for many metrics at once, as a person calls it: answers, options, files beside the table, bad input.
. tests/lib.sh
narrows=$bin/narrows
cars=tests/cases/be/r-mtcars-none/data.csv
swiss=tests/cases/lasso/swiss/data.csv

# says EXPRESSION ARGUMENTS..: Python over the answer d is true
says() {
	what=$1
	shift
	"$narrows" stat "$@" --cases >"$tmp/answer" 2>"$tmp/err" || fail "stat $*: $(cat "$tmp/err")"
	python3 - "$what" "$tmp/answer" <<'P' || fail "not so: $what: stat $*"
import json, sys
d = json.load(open(sys.argv[2]))
near = lambda a, b: abs(a - b) <= 1e-9 * abs(b)
sys.exit(0 if eval("(" + sys.argv[1] + ")") else 1)
P
}
# refuses STDERR-PATTERN ARGUMENTS..: status 2, one line, nothing on stdout
refuses() {
	pattern=$1
	shift
	rc=0
	"$narrows" stat "$@" --cases >"$tmp/answer" 2>"$tmp/err" </dev/null || rc=$?
	[ "$rc" = 2 ] || fail "status $rc of stat $*"
	[ ! -s "$tmp/answer" ] || fail "output beside the error: stat $*"
	[ "$(wc -l <"$tmp/err")" = 1 ] || fail "not one line: $(cat "$tmp/err")"
	grep -q -- "$pattern" "$tmp/err" || fail "stat $*: $(cat "$tmp/err")"
}

# --- answers ---
says 'near(d["coefficients"][1], -5.344471572722677) and near(d["r2"], 0.7528327936582646)' \
	lm --response response --predictors wt "$cars"
says 'd["names"][3] == "wt^3" and d["df"] == 28' lm --response response --predictors wt --degree 3 "$cars"
# R: summary(lm(mpg ~ wt)): t -9.559, p 1.294e-10
says 'abs(d["table"][1]["t"] + 9.559044) < 1e-5 and abs(d["table"][1]["p"] / 1.293959e-10 - 1) < 1e-4' \
	lm --response response --predictors wt "$cars"
says 'len(d["coefficients"]) == 1 and d["df"] == 31' lm --response response --predictors wt --no-intercept "$cars"
says '["cyl", "disp", "wt"] in d["clusters"] and d["edges"] == 2 and near(d["min_abs_r"]["wt"], 0.7824957944632408)' \
	cluster --faithful --response response --rho0 0.8 "$cars"
says 'd["metrics"] == ["wt", "qsec", "am"] and d["predicted_r2"] < d["r2"]' select --faithful --response response "$cars"
says 'near(d["f_remove"], 3.4657359027997265)' select --response response "$cars"
says 'd["f_remove"] == 9 and d["terms_total"] == 20 and d["aliased"] == ["vs^2", "am^2"]' \
	select --response response --quadratic raw --f-remove 9 --better --alias-tolerance 1e-7 "$cars"
says 'd["2"]["nonzero"] == 4 and list(d["2"]["coef"])[0] == "Agriculture"' lasso --response response --lambda 2,0.5 "$swiss"
says 'd["0.01"]["nonzero"] == 5 and near(d["0"]["r2"], 0.7067350015927254)' lasso --response response "$swiss"
says 'near(d["press"], 2814.6520215285886) and d["folds"] == 47 and near(d["blocked_cv_r2"], d["predicted_r2"])' \
	validate --response response --folds 47 "$swiss"
says 'near(d["pearson"][0][5], -0.8676593765172279) and d["n"] == 32 and round(d["spearman"][0][5], 6) == -0.886422' \
	correlation --spearman "$cars"
says '"spearman" not in d and d["n_pairs"][0][1] == 32' correlation --missing pairwise "$cars"

# --- the same columns in another order and unit, through a pipe and compressed ---
awk -F, 'NR == 1 { print $11 "," $1 "," $7 "," $9 "," $6; next } { print $11 "," $1 "," $7 * 1e12 "," $9 "," $6 / 1e9 }' \
	"$cars" >"$tmp/moved.csv"
says 'sorted(d["metrics"]) == ["am", "qsec", "wt"] and near(d["r2"], 0.8496635563617072)' select --faithful --response response - <"$tmp/moved.csv"
xz -k "$tmp/moved.csv"
says 'near(d["r2"], 0.8496635563617072)' select --faithful --response response "$tmp/moved.csv.xz"

# --- a reduction with everything beside it: 3 chunks, the response is 2 a + b, c copies a, t is the time ---
awk 'BEGIN { srand(5); print "y,a,b,c,flat,t,n1,n2"
	for (i = 0; i < 300; i++) { a = rand(); b = rand(); e = rand()
		printf "%.9f,%.9f,%.9f,%.9f,0.1,%d,%.9f,%.9f\n", 2 * a + b + e / 10, a, b, a * 1e6 + rand() * 1.5e5, i, rand(), rand() } }' >"$tmp/box.csv"
printf 'label,first_row,end_row,role\nday1,0,100,train\nday2,100,200,verify\nday3,200,300,verify\n' >"$tmp/chunks.csv"
printf 'n*\nflat\n' >"$tmp/main.txt"
says '{"a", "b"} <= set(d["selection"]["metrics"]) and d["selection"]["zero_variation"] == ["flat"]
	and d["training_rows"] == 100 and list(d["verification"]) == ["day2", "day3"] and len(d["scan"]) == 21
	and d["scan"]["1"]["clusters"] == 6 and d["scan"]["0.95"]["clusters"] == 5
	and d["summary"]["sdr_mean_out_of_sample_r2"] > 0.9 > 0.3 > d["summary"]["main_mean_r2"]
	and len(d["rand_subsets"]) == 5 and d["rand_seed"] == 7' \
	reduce --faithful --response y --chunks "$tmp/chunks.csv" --thresholds --main "$tmp/main.txt" --draws 5 --seed 7 "$tmp/box.csv"
cp "$tmp/answer" "$tmp/first"
"$narrows" stat reduce --faithful --response y --chunks "$tmp/chunks.csv" --thresholds --main "$tmp/main.txt" --draws 5 --seed 7 --cases "$tmp/box.csv" |
	cmp - "$tmp/first" || fail "two runs differ"
says 'd["selection"]["metrics"] == ["a", "b"] and d["selection"]["threshold"] in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
	and d["selection"]["out_of_sample_r2"] > 0.9 and d["training_rows"] == 200' \
	reduce --response y --chunks "$tmp/chunks.csv" --train day1,day3 "$tmp/box.csv"
"$narrows" stat reduce --csv --response y --scan 0.5,0.9 "$tmp/box.csv" >"$tmp/answer"
[ "$(head -n 1 "$tmp/answer" | cut -d, -f1-3)" = name,clusters,zero_variation ] && [ "$(wc -l <"$tmp/answer")" = 3 ] ||
	fail "the scan as CSV: $(cat "$tmp/answer")"

# --- no answer is an answer ---
printf 'y,a,b\n1,1,2\n2,2,1\n4,3,7\n' >"$tmp/short.csv"
says 'd["status"] == "underdetermined" and d["r2"] is None' lm --response y "$tmp/short.csv"
says 'd["status"] == "underdetermined" and "r2" not in d and d["rank"] == 2' select --faithful --response y "$tmp/short.csv"
printf 'y,a\n3,1\n3,2\n3,4\n' >"$tmp/flat.csv"
says 'd["status"] == "constant_response"' select --response y "$tmp/flat.csv"
says 'd["status"] == "constant_response" and d["press"] is None' validate --response y "$tmp/flat.csv"
says 'd["status"] == "insufficient" and d["n"] == 0' lm --response y - <<'C'
y,a
,1
2,
C

# --- bad input ---
refuses 'no column "nope"' lm --response nope "$cars"
refuses 'response COLUMN' lm "$cars"
refuses 'no predictor "nope"' lm --response response --predictors nope "$cars"
refuses 'needs one predictor' lm --response response --degree 2 "$cars"
refuses 'none, raw or centered' select --response response --quadratic cubic "$cars"
refuses 'listwise or pairwise' cluster --response response --missing never "$cars"
refuses '--rho0' cluster --response response --rho0 2 "$cars"
refuses 'no chunk "day9"' reduce --response y --chunks "$tmp/chunks.csv" --train day9 "$tmp/box.csv"
refuses 'chunks.csv:2: rows 0 to 100 of 32' reduce --response response --chunks "$tmp/chunks.csv" "$cars"
refuses 'no metric is one of the main' reduce --response response --main "$tmp/main.txt" "$swiss"
printf '[["wt"], ["nope"]]' >"$tmp/rand.json"
refuses 'random set 1: no metric "nope"' reduce --response response --rand "$tmp/rand.json" "$cars"
printf '[["wt"' >"$tmp/rand.json"
refuses 'rand.json:1:' reduce --response response --rand "$tmp/rand.json" "$cars"
refuses 'numbers with commas' reduce --response response --scan 0..1 "$cars"
printf 'y,a\n1,2\n2,high\n' >"$tmp/words.csv"
refuses 'words.csv:3:3' lasso --response y "$tmp/words.csv"
echo "answers, options, files and refusals"
