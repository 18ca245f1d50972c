# SPDX-License-Identifier: BSD-3-Clause
# PATIENCE: how many times longer than on an idle machine a test waits for what must happen; from the environment, else
# measured: the processes that want a processor, by processor. A test multiplies its time-outs by it, and those of the
# programs that it starts, never a pause of its own. Use: . tests/patience.sh
PROCESSORS=${PROCESSORS:-$(nproc)}
export PROCESSORS
# without a process of its own, because each of several hundred tests asks
patience_now() {
	read -r load _ _ busy _ </proc/loadavg
	load=${load%.*} busy=${busy%%/*}
	[ "$load" -lt "$busy" ] || busy=$load
	echo $((1 + busy / PROCESSORS))
}
PATIENCE=${PATIENCE:-$(patience_now)}
export PATIENCE
# patience: the machine may have become busier since the test began
patience() { [ "$(patience_now)" -gt "$PATIENCE" ] && patience_now || echo "$PATIENCE"; }
