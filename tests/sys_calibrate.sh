#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The conclusions of the box hold on simulated data: a short run of `make calibrate` with one seed.
. tests/lib.sh
"$B/bin/calibrate" -q || fail "a conclusion is wrong more often than its bound allows"
