# SPDX-License-Identifier: BSD-3-Clause
# PATIENCE: how many times longer than on an idle machine a test waits for what must happen; from the environment, else
# measured: the processes that want a processor, by processor. A test multiplies its time-outs by it, and those of the
# programs that it starts, never a pause of its own. Use: . tests/patience.sh
PROCESSORS=${PROCESSORS:-$(nproc)}
export PROCESSORS
# patience_now: into $patience_now, without a process, because each of several hundred tests asks
patience_now() {
	read -r load _ _ busy _ </proc/loadavg
	load=${load%.*} busy=${busy%%/*}
	[ "$load" -lt "$busy" ] || busy=$load
	patience_now=$((1 + busy / PROCESSORS))
}
[ -n "${PATIENCE:-}" ] || { patience_now && PATIENCE=$patience_now; }
export PATIENCE
# patience_grown: into $patience_now; the machine may have become busier since the test began
patience_grown() { patience_now; [ "$patience_now" -gt "$PATIENCE" ] || patience_now=$PATIENCE; }
patience() { patience_grown; echo "$patience_now"; }
# seconds: the machine's, since it began, into $seconds
seconds() { read -r seconds _ </proc/uptime && seconds=${seconds%.*}; }
