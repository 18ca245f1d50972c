#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# nwlog -F ships the transfer logs of real programs: nginx in a format of its own and in its usual one, rclone, and vsftpd. The
# events have the bytes, files and times of the transfers; other lines are skipped, and a wrong format is refused.
. tests/lib.sh

start_box -o flush-interval=20ms -o commit-interval=20ms
mkdir "$tmp/www" "$tmp/from"
head -c 3000000 /dev/urandom >"$tmp/www/big file"
head -c 200000 /dev/urandom >"$tmp/from/one"
ship() { "$bin/nwlog" -1 -F "conf/log-$1.conf" -f "$2" -p "$tmp/$1.journal" -H loghost 2>"$tmp/err" || fail "nwlog -F $1: $(cat "$tmp/err")"; }

printf 'event a\nprogram b\ntime noon\n' >"$tmp/bad.conf"
"$bin/nwlog" -1 -F "$tmp/bad.conf" -f "$tmp/none" -p "$tmp/bad.journal" 2>"$tmp/err" && fail "a wrong format is taken"
grep -q 'line=3 why="the time is unix' "$tmp/err" || fail "a wrong format: $(cat "$tmp/err")"

missing=
if command -v nginx >/dev/null; then
	port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
	format_of() { sed -n "s/^# *log_format narrows '\(.*\)';$/\1/p" "conf/log-$1.conf"; }
	chmod -R 755 "$tmp"
	cat >"$tmp/nginx.conf" <<CONF
daemon off; pid $tmp/nginx.pid; error_log $tmp/nginx.err;
events { }
http {
	log_format narrows '$(format_of nginx)'; log_format server '$(format_of nginx-server)';
	access_log $tmp/nginx.log narrows; access_log $tmp/nginx-server.log server; access_log $tmp/nginx-combined.log;
	client_body_temp_path $tmp/t1; proxy_temp_path $tmp/t2; fastcgi_temp_path $tmp/t3; uwsgi_temp_path $tmp/t4; scgi_temp_path $tmp/t5;
	server { listen 127.0.0.1:$port; root $tmp/www; }
}
CONF
	nginx -c "$tmp/nginx.conf" 2>/dev/null &
	pids="$pids $!"
	got() { curl -s -f -o "$tmp/got" "http://127.0.0.1:$port/big%20file"; }
	until_true 20 got || fail "nginx: $(cat "$tmp/nginx.err")"
	until_true 10 test -s "$tmp/nginx-combined.log" || fail "nginx logs nothing"
	for f in nginx nginx-server nginx-combined; do
		ship $f "$tmp/$f.log"
	done
	nw sql --csv "SELECT * FROM event" >"$tmp/events"
	[ "$(grep -c 'transfer.http' "$tmp/events")" = 3 ] || fail "nginx's events: $(cat "$tmp/events")"
	[ "$(grep -c '/big%20file' "$tmp/events")" = 3 ] || fail "nginx's file: $(cat "$tmp/events")"
	[ "$(grep -c 'server[^a-z]*127\.0\.0\.1' "$tmp/events")" = 1 ] || fail "nginx's address: $(cat "$tmp/events")"
	bytes=$(awk '{ print $7 }' "$tmp/nginx.log" | tail -n 1)
	[ "$bytes" -ge 3000000 ] && grep -q "$bytes" "$tmp/events" || fail "nginx's bytes, $bytes: $(cat "$tmp/events")"
else
	missing="$missing nginx"
fi

if command -v rclone >/dev/null; then
	rclone --config "$tmp/rclone.conf" copy -v --use-json-log --log-file "$tmp/rclone.log" "$tmp/from" "$tmp/to" || fail "rclone: $(cat "$tmp/rclone.log")"
	ship rclone "$tmp/rclone.log"
	nw sql --csv "SELECT * FROM event WHERE name = 'transfer.file'" >"$tmp/events"
	[ "$(grep -c 'transfer.file' "$tmp/events")" = 1 ] && grep -q 'one' "$tmp/events" || fail "rclone's events: $(cat "$tmp/events" "$tmp/rclone.log")"
else
	missing="$missing rclone"
fi
if command -v vsftpd >/dev/null && [ "$(id -u)" = 0 ]; then
	port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
	mkdir "$tmp/ftp" "$tmp/empty"
	head -c 5000000 /dev/urandom >"$tmp/ftp/large"
	chmod 755 "$tmp/ftp" "$tmp/empty"
	printf '%s\n' listen=YES listen_address=127.0.0.1 "listen_port=$port" background=NO anonymous_enable=YES local_enable=NO \
	    "anon_root=$tmp/ftp" "secure_chroot_dir=$tmp/empty" xferlog_enable=YES xferlog_std_format=YES "xferlog_file=$tmp/vsftpd.log" \
	    seccomp_sandbox=NO isolate_network=NO >"$tmp/vsftpd.conf"
	chmod 644 "$tmp/ftp/large"
	chmod 600 "$tmp/vsftpd.conf"
	vsftpd "$tmp/vsftpd.conf" >"$tmp/vsftpd.said" 2>&1 &
	pids="$pids $!"
	got() { curl -s -f -o "$tmp/got" "ftp://127.0.0.1:$port/large"; }
	until_true 20 got || fail "vsftpd: $(cat "$tmp/vsftpd.said")"
	until_true 10 test -s "$tmp/vsftpd.log" || fail "vsftpd logs nothing"
	ship vsftpd "$tmp/vsftpd.log"
	nw sql --csv "SELECT * FROM event WHERE name = 'transfer.ftp'" >"$tmp/events"
	grep -q 5000000 "$tmp/events" && grep -q '/large' "$tmp/events" || fail "vsftpd's events: $(cat "$tmp/events" "$tmp/vsftpd.log")"
else
	missing="$missing vsftpd (or root)"
fi
[ -z "$missing" ] || skip "not installed:$missing; the others are tested"
