#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A clock that is 90 s off is said on the session, and its times are put right: of a host, of a program beside a right collector
# (as in a container or under faketime), of a collector beside a right program, and of a lone host. A right clock changes nothing.
. tests/lib.sh
faketime -f -90s true 2>/dev/null || skip "there is no faketime"

start_box -o session-linger=1s
cat >"$tmp/move.py" <<'END'
import os, socket, sys, time
if sys.argv[1] == "receive":
    server = socket.create_server(("127.0.0.1", 0))
    open(sys.argv[2] + ".new", "w").write(str(server.getsockname()[1]))
    os.rename(sys.argv[2] + ".new", sys.argv[2])
    peer = server.accept()[0]
    while peer.recv(65536):
        pass
else:
    peer = socket.create_connection(("127.0.0.1", int(open(sys.argv[2]).read())))
    for i in range(40):
        peer.sendall(bytes(200000))
        time.sleep(0.05)
END
FAKETIME_DONT_FAKE_MONOTONIC=1
export FAKETIME_DONT_FAKE_MONOTONIC
# at OFFSET COMMAND ...: with a clock so far off
at() {
	if [ "$1" = 0 ]; then
		shift
		exec "$@"
	fi
	exec faketime -f "$@"
}
# collects HOST OFFSET
collects() {
	(at "$2" "$bin/blipp" -d -b "$xsp" -H "$1" -i 1 -o probes=load -o configuration=no) >>"$tmp/blipp.log" 2>&1 &
	pids="$pids $!"
}
# moves NAME RECEIVER-OFFSET
moves() {
	(at "$2" "$bin/nwrun" -H "r$1" -q -t "$1" python3 -S "$tmp/move.py" receive "$tmp/port.$1") &
	receiver=$!
	until_true 20 test -s "$tmp/port.$1" || fail "$1: no receiver"
	"$bin/nwrun" -H "s$1" -q -t "$1" python3 -S "$tmp/move.py" send "$tmp/port.$1" || fail "$1: the sender"
	wait $receiver || fail "$1: the receiver"
}
there() { [ "$(sql "SELECT count(DISTINCT host_id) FROM metadata WHERE event_type = 'nw:clock'")" -ge "$1" ]; }
collects rprogram 0
collects rcollector +90s
collects rboth -90s
until_true 20 there 3 || fail "no clock: $(cat "$tmp/blipp.log")"
moves right 0 &
moves program +90s &
moves collector 0 &
moves both -90s &
moves host -90s
(at +90s "$bin/nwrun" -H lone -q -t lone sh -c 'head -c 3M /dev/zero >"$0"; sleep 0.5; cat "$0" >"$0.out"' "$tmp/in")
judged() { [ "$(nw sessions --json | grep -c '"state":"closed".*"analysed":true')" = 6 ]; }
until_true 30 judged || fail "not judged: $(nw sessions)"
nw sessions --json | sed 's/.*"id":\([0-9]*\),.*"task_id":"\([a-z]*\)".*/\1 \2/' >"$tmp/list"
while read -r id name; do
	nw report "$id" --json >"$tmp/$name.json" || fail "$name: no document"
done <"$tmp/list"
# without chrony the bound comes from the exchange of time stamps; the report names host and bound
nw report "$(sed -n "s/ lone$//p" "$tmp/list")" >"$tmp/said" && grep -q '^  lone: clock .*right within ' "$tmp/said" || fail "the clock in the report: $(cat "$tmp/said")"
python3 - "$tmp" "$(date +%s)" <<'END' || fail "the documents"
import json, sys
WANT = {"right": [], "program": ["A sender on rprogram has a clock of its own, 90 s ahead of"], "collector": ["rcollector", "90 s ahead"],
        "both": ["The clock of rboth is 90 s behind"], "host": ["The clock of rhost is 90 s behind"], "lone": ["The clock of lone is 90 s ahead"]}
for name, want in WANT.items():
    d = json.load(open(f"{sys.argv[1]}/{name}.json"))
    s, notes = d["session"], " ".join(d["quality"]["notes"])
    assert 0 < s["duration_s"] < 45, (name, s["duration_s"], notes)
    assert abs(int(s["start_ns"]) / 1e9 - int(sys.argv[2])) < 45, (name, "start", s["start"])
    assert all(w in notes for w in want) and (want or "taken off" not in notes), (name, notes)
END
