# SPDX-License-Identifier: BSD-3-Clause
# Progress of long work: . conf/progress.sh. A terminal has one line that is rewritten; elsewhere a line is printed when the
# work says something new, and at least every two seconds.

# progress PID FUNCTION: prints what FUNCTION writes, until process PID ends; returns the status of PID, a child of this shell
progress() {
	said= quiet=0
	while kill -0 "$1" 2>/dev/null; do
		sleep 0.9
		now=$($2 || :)
		if [ -t 1 ]; then
			printf '\r%s\033[K' "$now"
		elif [ "$now" != "$said" ] || [ "$quiet" = 1 ]; then
			printf '%s\n' "$now"
			quiet=0
		else
			quiet=1
		fi
		said=$now
	done
	[ ! -t 1 ] || printf '\r\033[K'
	wait "$1"
}
