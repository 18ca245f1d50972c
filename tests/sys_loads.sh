#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What nwrun loads into programs fits into old and foreign ones. No box is needed.
set -eu
. tests/patience.sh
B=$(cd "${B:-build/release}" && pwd)
fail() { printf 'FAIL: %s\n' "$*"; exit 1; }

# --- hosts with glibc 2.28 load both libraries: no function has a newer version ---
for so in nwrun.so nwrun-collect.so; do
	objdump -T "$B/bin/$so" | grep -o 'GLIBC_[0-9.]*)* *[A-Za-z_0-9]*' | sort -u >"/tmp/sys_loads.$$" || :
	newer=$(awk '{ split($1, v, "[_.)]"); if (v[2] > 2 || v[3] > 28) print }' "/tmp/sys_loads.$$")
	n=$(wc -l <"/tmp/sys_loads.$$")
	rm -f "/tmp/sys_loads.$$"
	[ "$n" -gt 10 ] || fail "$so: objdump shows $n functions of the C library"
	[ -z "$newer" ] || fail "$so needs $newer"
done
