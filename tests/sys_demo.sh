#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The demo itself, smaller: two real transfers, and the limited one judged right.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
out=$(DEMO_ONCE=1 DEMO_DIR="$dir/demo" DEMO_MIB=192 DEMO_PORT=0 sh tests/demo.sh) || { echo "$out"; exit 1; }
echo "$out"
for want in "demo-free" "demo-limited" "limited this transfer" "page: http://127.0.0.1:" "CSV: "; do
	case $out in *"$want"*) ;; *) echo "FAIL: no \"$want\""; exit 1 ;; esac
done
