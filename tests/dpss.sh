# SPDX-License-Identifier: BSD-3-Clause
# What the tests of the storage system share: . tests/lib.sh and cd "$tmp" first.

start() { # start NAME COMMAND ...: waits for the port file; a second start waits for the first one's end, and takes its port
	name=$1
	shift
	[ ! -f "$name.pid" ] || wait "$(cat "$name.pid")" 2>/dev/null || true
	port=$(cat "$name.port" 2>/dev/null || echo 0)
	rm -f "$name.port"
	"$@" -l "127.0.0.1/$port" -P "$name.port" >/dev/null 2>>"$name.err" &
	echo $! >"$name.pid"
	pids="$pids $!"
	until_true 10 test -s "$name.port" || fail "$name does not start: $(cat "$name.err")"
}
server() { start "s$1" "$bin/dpss-server" -s "s$1" -d "s$1/a" -d "s$1/b" -L "s$1.log"; }
ups() { [ "$("$bin/dpss" servers | grep -c ' up ')" = "$1" ]; }
grant() { # grant SERVER MASTER BLOCKS BYTES
	mkdir -p "s$1/a" "s$1/b"
	"$bin/dpss-server" -s "s$1" -d "s$1/a" -d "s$1/b" -g "$2" "$3" "$4" >"s$1.$2" || fail "grant"
}
add() { "$bin/dpss" server-add "127.0.0.1/$(cat "s$1.port")" "s$1.${2:-master}" || fail "server-add $1"; }
