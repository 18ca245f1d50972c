# SPDX-License-Identifier: BSD-3-Clause
# PATIENCE: how many times longer than on an idle machine a test waits for what must happen; from the environment, else
# measured: the processes that want a processor, by processor. A test multiplies its time-outs by it, and those of the
# programs that it starts, never a pause of its own. Use: . tests/patience.sh
patience_now() { awk -v n="$(nproc)" '{ split($4, now, "/"); busy = now[1] > $1 ? now[1] : $1; print 1 + int(busy / n) }' /proc/loadavg; }
PATIENCE=${PATIENCE:-$(patience_now)}
export PATIENCE
# patience: the machine may have become busier since the test began
patience() { [ "$(patience_now)" -gt "$PATIENCE" ] && patience_now || echo "$PATIENCE"; }
