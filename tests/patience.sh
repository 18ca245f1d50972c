# SPDX-License-Identifier: BSD-3-Clause
# PATIENCE: how many times longer than on an idle machine a test waits for what must happen; from the environment, else
# measured: the processes that want a processor, by processor. A test multiplies its time-outs by it, and those of the
# programs that it starts, never a pause of its own. Use: . tests/patience.sh
PROCESSORS=${PROCESSORS:-$(nproc)}
export PROCESSORS
# patience_now: into $patience_now, without a process, because each of several hundred tests asks; the tests' own variables stay
patience_now() {
	read -r patience_load _ _ patience_now _ </proc/loadavg
	patience_load=${patience_load%.*} patience_now=${patience_now%%/*}
	[ "$patience_load" -lt "$patience_now" ] || patience_now=$patience_load
	patience_now=$((1 + patience_now / PROCESSORS))
}
[ -n "${PATIENCE:-}" ] || { patience_now && PATIENCE=$patience_now; }
export PATIENCE
# patience_grown: into $patience_now; the machine may have become busier since the test began
patience_grown() { patience_now; [ "$patience_now" -gt "$PATIENCE" ] || patience_now=$PATIENCE; }
patience() { patience_grown; echo "$patience_now"; }
# uptime_now: seconds since the machine began, into $uptime_now
uptime_now() { read -r uptime_now _ </proc/uptime && uptime_now=${uptime_now%.*}; }
