#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs make on a target and says how far the compiler is. usage: conf/build.sh TARGET [VARIABLE=VALUE ...]
set -eu
. "${0%/*}/progress.sh"
target=$1

# what make would compile, counted before anything is compiled
files=$(make -n "$@" 2>/dev/null | grep -c -e ' -c -o ' || :)
[ "$files" -gt 20 ] || exec make --no-print-directory "$@"
log=$(mktemp)
trap 'rm -f "$log" "$log.begin"' EXIT
touch "$log.begin"

compiled() {
	echo "narrows: compiling $target: file $(find build -name '*.o' -newer "$log.begin" | wc -l) of $files"
}

make --no-print-directory -j"$(nproc)" "$@" >"$log" 2>&1 &
progress $! compiled || {
	cat "$log" >&2
	exit 1
}
