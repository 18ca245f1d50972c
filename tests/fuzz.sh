#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Coverage-guided fuzzing of every tests/fuzz_*.c with clang's libFuzzer, ASan and UBSan, for FUZZ_SECONDS (60) each.
# Starts from a copy of tests/corpus/*; what it finds stays in build/fuzz/NAME. usage: tests/fuzz.sh [tests/ROOM/fuzz_NAME.c ...]
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${FUZZ_SECONDS:-60}
failed=0

# Which rooms a target stands on, and their flags, are the Makefile's business.
build() {
	make -s --no-print-directory CC=clang T="$1" --eval='
fuzz-one: R = $(call room_of,$(T))
fuzz-one:
	clang $(filter-out -MMD -MP,$(BASE)) -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	    -o build/fuzz/$(notdir $(T))/$(notdir $(T)) $(T).c \
	    $(filter-out $(MAINS) $(HOOKS),$(foreach d,$(BELOW_$(R)),$(sort $(wildcard $d/*.c)))) $(call link,$(R))' fuzz-one
}

[ $# -gt 0 ] || set -- $(find tests -name "fuzz_*.c" | sort)
for t in "$@"; do
	source=${t%.c}
	t=${source##*/}
	dir=build/fuzz/$t
	mkdir -p "$dir/corpus" && cp -R "tests/corpus/${t#fuzz_}/." "$dir/corpus" && build "$source" || { failed=1; continue; }
	if "$dir/$t" -max_total_time="$seconds" -artifact_prefix="$dir/" "$dir/corpus" >"$dir/log" 2>&1; then
		echo "PASS $t: $(sed -n 's/^Done \([0-9]*\) runs.*/\1 inputs/p' "$dir/log") in $seconds s," \
		    "$(sed -n 's/.*DONE *\(cov: [0-9]*\).*/\1/p' "$dir/log")"
	else
		failed=1
		echo "FAIL $t: see $dir/log"
		tail -n 30 "$dir/log" | sed 's/^/    /'
	fi
done
exit $failed
