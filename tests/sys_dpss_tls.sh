#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The storage system in TLS: users are the names in certificates, owners of data say who reads, strangers get nothing, and what
# is in clear stays on loopback.
. tests/lib.sh
. tests/dpss.sh
cd "$tmp"

mkdir ca other localhost alice bob mallory
"$bin/narrows" -s "$tmp/ca" enroll --server -o "$tmp/localhost" localhost >/dev/null || fail "enroll localhost"
for who in alice bob; do "$bin/narrows" -s "$tmp/ca" enroll -o "$tmp/$who" "$who" >/dev/null || fail "enroll $who"; done
"$bin/narrows" -s "$tmp/other" enroll -o "$tmp/mallory" alice >/dev/null || fail "enroll mallory"
tls_start() { # tls_start NAME COMMAND ...
	name=$1
	shift
	"$@" -T "$tmp/localhost" -l localhost/0 -P "$name.port" >/dev/null 2>>"$name.err" &
	pids="$pids $!"
	until_true 10 test -s "$name.port" || fail "$name does not start: $(cat "$name.err")"
}
for i in 1 2; do
	grant $i master 200 8192
	tls_start s$i "$bin/dpss-server" -s s$i -d s$i/a -d s$i/b
done
mkdir master
tls_start m "$bin/dpss-master" -s master
export DPSS_MASTER=localhost/$(cat m.port)
as() { who=$1; shift; "$bin/dpss" -T "$tmp/$who" "$@"; }
for i in 1 2; do
	! as alice server-add "localhost/$(cat s$i.port)" s$i.master 2>why || fail "a user adds servers"
	grep -q "only at the master's own machine" why || fail "reason: $(cat why)"
	as localhost server-add "localhost/$(cat s$i.port)" s$i.master || fail "server-add"
done
up() { [ "$(as alice servers | grep -c ' up ')" = 2 ]; }
until_true 10 up || fail "servers do not come up: $(cat m.err)"

head -c 300000 /dev/urandom >file
as alice -b 8192 -c 2 load file hers || fail "load"
as alice unload hers out && cmp out file || fail "the owner's own set"
! as bob unload hers out.bob 2>why || fail "a stranger reads"
grep -q 'no set of this name for you' why || fail "reason: $(cat why)"
! as bob sets | grep -q hers || fail "a stranger sees the set"
! as bob allow hers bob read 2>/dev/null || fail "a stranger allows himself"
as alice allow hers bob read || fail "allow"
as bob unload hers out.bob && cmp out.bob file || fail "an allowed user"
! as bob drop hers 2>/dev/null || fail "a reader drops"
as alice allow hers bob none || fail "allow none"
! as bob unload hers out.bob2 2>/dev/null || fail "a right that was taken back"
! as mallory sets >/dev/null 2>&1 || fail "a certificate of another authority"
! "$bin/dpss" sets >/dev/null 2>&1 || fail "a client in clear"
! "$bin/tv_sim" -T "$tmp/alice" -u -t 1 hers >why 2>&1 || fail "blocks in clear beside TLS"
"$bin/tv_sim" -T "$tmp/alice" -k -t 1 -r 5 -n 10 -w 6 hers >said && grep -q ' 50 received, 0 lost' said || fail "a viewer in TLS: $(cat said)"
! "$bin/dpss-server" -s s1 -d s1/a -l 0.0.0.0/0 >/dev/null 2>why || fail "in clear beyond loopback"
grep -q 'only with -T' why || fail "reason: $(cat why)"
