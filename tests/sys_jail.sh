#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# narrowsd started by root drops to its own user and shuts itself in: who it is, what it may not write, what still works.
. tests/lib.sh
[ "$(id -u)" = 0 ] || skip "needs root"
status() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$box/status"; }
# shut_in UID: identity, capabilities, filters of the box and of all its threads
shut_in() {
	for t in /proc/"$box"/task/*/status; do
		[ "$(awk '/^Uid:/ { print $2 $3 $4 $5 }' "$t")" = "$1$1$1$1" ] || fail "a thread of another user: $(grep ^Uid "$t")"
		for set in CapInh CapPrm CapEff CapBnd CapAmb; do
			[ -z "$(sed -n "s/^$set:[[:space:]]*//p" "$t" | tr -d 0)" ] || fail "a thread has $(grep "^$set" "$t")"
		done
		[ "$(sed -n 's/^NoNewPrivs:[[:space:]]*//p' "$t")" = 1 ] && [ "$(sed -n 's/^Seccomp:[[:space:]]*//p' "$t")" = 2 ] || fail "a thread is free"
	done
}
works() {
	NARROWS_TASK= "$bin/nwrun" -b "$xsp" dd if=/dev/zero of="$tmp/out" bs=64k count=100 2>/dev/null || fail "nwrun"
	until_true 10 sh -c "curl -sf '$url/sessions.json' | grep -q '\"closed'" || fail "no session"
	nw control all status >/dev/null 2>"$tmp/err" || grep -q "no provider" "$tmp/err" || fail "control: $(cat "$tmp/err")"
	nw backup "$tmp/copy.db" >/dev/null || fail "backup"
	rm -f "$tmp/copy.db"
}

# --- a directory that nobody but root reaches: uid 0 without capabilities ---
case $tmp in /tmp/*) ;; *) skip "temporary files are not in /tmp" ;; esac
chmod 700 "$tmp"
start_box
[ "$(stat -c %u "$tmp/state/narrows.db")" = 0 ] || fail "the store changed hands"
[ "$(grep -c daemon.shut-in "$tmp/box.log")" = 1 ] || fail "the log: $(grep -c daemon.shut-in "$tmp/box.log") lines"
grep -q 'daemon.shut-in user=root uid=0 capabilities=none landlock=[a-z]* seccomp=yes note=' "$tmp/box.log" || fail "the log: $(grep shut-in "$tmp/box.log")"
shut_in 0
works
stop_box

# --- no account: root's directory, made by an older release, goes to a number of its own with all that is in there ---
chmod 755 "$tmp"
: >"$tmp/box.log"
before=$(sql "select count(*) from session")
[ "$(stat -c %u "$tmp/state")" = 0 ] || fail "the state is not root's"
if ! getent passwd narrows >/dev/null; then
	start_box
	uid=$(stat -c %u "$tmp/state")
	[ "$uid" -ge 60706 ] && [ "$uid" -le 61183 ] || fail "the box is $uid: $(grep shut-in "$tmp/box.log")"
	shut_in "$uid"
	[ -z "$(find "$tmp/state" -type f -links 1 ! -uid "$uid" ! -name first-password)" ] || fail "not the box's: $(find "$tmp/state" ! -uid "$uid")"
	[ "$(sql "select count(*) from session")" = "$before" ] || fail "sessions are lost"
	works
	stop_box
	start_box
	shut_in "$uid"
	stop_box
	chown -R 0:0 "$tmp/state"
fi

# --- a directory that the user can have: all files of root in there change hands, once ---
chmod 755 "$tmp"
: >"$tmp/box.log"
uid=$(id -u nobody)
nw enroll -o "$tmp" dtn1 >/dev/null || fail "enroll"
ln -s /etc/hostname "$tmp/state/narrows.db.link"
ln "$tmp/dtn1.crt" "$tmp/state/narrows.db.second"
before=$(sql "select count(*) from session")
start_box -o user=nobody -o listen-xsp-tls=127.0.0.1/0 -o listen-https=127.0.0.1/0
shut_in "$uid"
[ -z "$(find "$tmp/state" -type f -links 1 ! -uid "$uid")" ] || fail "not nobody's: $(find "$tmp/state" ! -uid "$uid")"
[ "$(stat -c %u /etc/hostname "$tmp/state/narrows.db.second" | tr '\n' ' ')" = "0 0 " ] || fail "a file of root's behind a link changed hands"
[ "$(sql "select count(*) from session")" = "$before" ] || fail "sessions are lost"
works
tls=$(sed -n 's/^xsp-tls //p' "$tmp/state/narrowsd.run")
"$bin/blipp" -b "tls://$tls" -H dtn1 -o tls-dir="$tmp" -i 100ms --once 2>"$tmp/blipp.log" || fail "blipp: $(cat "$tmp/blipp.log")"

# --- certificates are read again, tokens are redeemed ---
nw revoke dtn1 >/dev/null || fail "revoke"
until_true 10 grep -q tls.reload "$tmp/box.log" || fail "the box does not see a certificate revoked"
[ -z "$(find "$tmp/state" -type f -links 1 ! -uid "$uid")" ] || fail "root left files: $(find "$tmp/state" -type f ! -uid "$uid")"
https=https://$(sed -n 's/^https //p' "$tmp/state/narrowsd.run" | tr / :)
token=$(nw enroll --token dtn2)
"$bin/narrows-host" join -o "$tmp/joined" "$https" "$token" >/dev/null || fail "join"

# --- root makes a copy of a store whose user plants links: nothing outside changes ---
echo precious >"$tmp/victim"
su -s /bin/sh nobody -c "ln -s $tmp/victim $tmp/state/narrows.db.last-backup.new; ln -sf $tmp/victim $tmp/state/narrows.db.last-backup" || fail "cannot plant a link"
nw backup "$tmp/copy.db" >/dev/null || fail "backup beside planted links"
[ "$(cat "$tmp/victim")" = precious ] && [ "$(stat -c %u "$tmp/victim")" = 0 ] || fail "root's note of a copy follows a link"
grep -q "$tmp/copy.db" "$tmp/state/narrows.db.last-backup" || fail "no note of the copy"
rm -f "$tmp/copy.db"

# --- root enrolls for a box whose user plants links: nothing outside changes or changes hands ---
mkdir "$tmp/rootdir"
as_user() { su -s /bin/sh nobody -c "$1" || fail "cannot plant: $1"; }
as_user "rm -f $tmp/state/tls/lock && ln -s $tmp/victim $tmp/state/tls/lock"
nw enroll -o "$tmp" planted >/dev/null 2>&1 && fail "enroll follows a planted lock"
[ "$(stat -c %u "$tmp/victim")" = 0 ] && [ "$(cat "$tmp/victim")" = precious ] || fail "root gave a file away"
as_user "rm $tmp/state/tls/lock && mv $tmp/state/tls $tmp/state/tls.own && ln -s $tmp/rootdir $tmp/state/tls"
nw enroll -o "$tmp" planted >/dev/null 2>&1 && fail "enroll follows a planted directory"
[ -z "$(ls -A "$tmp/rootdir")" ] || fail "root wrote into $(ls -A "$tmp/rootdir")"
as_user "rm $tmp/state/tls && mv $tmp/state/tls.own $tmp/state/tls"
nw enroll -o "$tmp" planted >/dev/null || fail "enroll without links"

# --- a directory of keys that has become a link out of the state directory leads nowhere ---
if grep -q landlock=yes "$tmp/box.log"; then
	token=$(nw enroll --token dtn3)
	cp -r "$tmp/state/tls" "$tmp/away"
	chown -R nobody "$tmp/away"
	chmod -R a+rwX "$tmp/away"
	find "$tmp/away" -type f | sort | xargs sha256sum >"$tmp/before"
	mv "$tmp/state/tls" "$tmp/state/tls.was"
	ln -s "$tmp/away" "$tmp/state/tls"
	"$bin/narrows-host" join -o "$tmp/joined" "$https" "$token" >/dev/null 2>&1 && fail "the box wrote outside its directories"
	find "$tmp/away" -type f | sort | xargs sha256sum | cmp -s - "$tmp/before" || fail "files outside the state directory changed"
	rm "$tmp/state/tls"
	mv "$tmp/state/tls.was" "$tmp/state/tls"
fi
kill -HUP "$box"
sleep 0.2
stop_box
rm "$tmp/state/narrows.db.link" "$tmp/state/narrows.db.second"

# --- by default: the account narrows, else the owner of the state directory ---
: >"$tmp/box.log"
start_box
shut_in "$uid"
grep -q 'shut-in user=nobody' "$tmp/box.log" || fail "the owner of the directory: $(grep shut-in "$tmp/box.log")"
works
stop_box
if unshare -m true 2>/dev/null; then
	{ cat /etc/passwd; echo narrows:x:45678:45678::/nonexistent:/usr/sbin/nologin; } >"$tmp/passwd"
	cat >"$tmp/run.sh" <<-EOF
		mount --bind "$tmp/passwd" /etc/passwd
		exec "$bin/narrowsd" -d -o state-dir="$tmp/new" -o listen-xsp=127.0.0.1/0 -o listen-http=127.0.0.1/0
	EOF
	unshare -m sh "$tmp/run.sh" 2>"$tmp/box.log" &
	box=$!
	pids="$pids $box"
	until_true 10 test -f "$tmp/new/narrowsd.run" || fail "the box does not start"
	shut_in 45678
	[ "$(stat -c %u "$tmp/new" "$tmp/new/narrows.db" | tr '\n' ' ')" = "45678 45678 " ] || fail "the account's directory"
	stop_box
fi

# --- what a configured user lacks is said; somebody else's directory is left alone ---
refused() {
	why=$1
	shift
	"$bin/narrowsd" -d -o state-dir="$tmp/x" -o listen-xsp=127.0.0.1/0 -o listen-http=127.0.0.1/0 "$@" 2>"$tmp/err" && fail "it starts: $*"
	grep -q "$why" "$tmp/err" || fail "$*: wants \"$why\": $(cat "$tmp/err")"
}
refused "no such account" -o user=nosuchuser
chmod 700 "$tmp"
refused "does not reach" -o user=nobody
chmod 755 "$tmp"
mkdir "$tmp/mine"
: >"$tmp/mine/letter"
refused "files of others" -o user=nobody -o state-dir="$tmp/mine"
[ "$(stat -c %u "$tmp/mine" "$tmp/mine/letter" | tr '\n' ' ')" = "0 0 " ] || fail "a directory of others changed hands"
mkdir "$tmp/keys"
refused "directory of keys" -o user=nobody -o listen-https=127.0.0.1/0 -o tls-dir="$tmp/keys"
echo "PASS sys_jail: the box is its user, and shut in"
