#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tv_sim as a load generator: against data sets, several at once, and against ordinary HTTP servers; lists of any client are
# recorded and asked for again, of the storage system or of HTTP servers, at another speed.
. tests/lib.sh
. tests/dpss.sh
cd "$tmp"

grant 1 master 300 4096
server 1
mkdir master
start m "$bin/dpss-master" -s master
export DPSS_MASTER=127.0.0.1/$(cat m.port)
add 1
until_true 10 ups 1 || fail "the server does not come up"
head -c 500000 /dev/urandom >file
for set in one two; do "$bin/dpss" -b 4096 load file $set || fail "load"; done

for program in tv_sim dpss dpss-master dpss-server; do
	"$bin/$program" --help | grep -q "^usage: $program " && "$bin/$program" --version | grep -q "^$program [0-9]" || fail "--help, --version of $program"
done
# a block from a server's memory is marked, the first read of the disk is not
"$bin/dpss" verify one >/dev/null && [ "$(grep -c '^DPSS_FROM_MEMORY' s1.log)" -gt 100 ] || fail "nothing from memory: $(cut -d ';' -f 1 s1.log | sort | uniq -c)"

! "$bin/dpss-master" -s no/where 2>why || fail "a master without a directory"
grep -q 'no/where/master.db: No such file or directory' why || fail "why there is no master: $(cat why)"
"$bin/tv_sim" -t 0.3 -r 10 -n 200 -p sequential one >said 2>why || fail "a list longer than the set: $(cat why)"
grep -q 'lists are shorter than 200 blocks' why || fail "short lists are not told: $(cat said why)"

# several sets take turns; the lists of any client are recorded
"$bin/tv_sim" -t 1 -r 10 -n 16 -p random -S 5 -o trace one two >said || fail "two sets: $(cat said)"
grep -q '^10 lists, 160 blocks asked for, 160 received, 0 lost' said || fail "two sets: $(cat said)"
[ "$(grep -c ' one ' trace)" = 5 ] && [ "$(grep -c ' two ' trace)" = 5 ] || fail "the trace has other sets: $(cat trace)"
DPSS_TRACE=verified "$bin/dpss" verify one >/dev/null && grep -q '^[0-9.]* one 0 1 2 ' verified || fail "another client's lists are not recorded"
begin=$(date +%s%N)
"$bin/tv_sim" -i trace -x 10 two one >said || fail "replay: $(cat said)"
grep -q '^10 lists, 160 blocks asked for' said || fail "replay: $(cat said)"
[ $((($(date +%s%N) - begin) / 1000000)) -lt $((900 * $(patience))) ] || fail "ten times as fast takes as long as before"
grep -q . said || fail "nothing said"

# blocks by UDP: all of them where nothing is lost; what is late is lost, and is not waited for
"$bin/tv_sim" -u -k -t 1 -r 10 -n 20 -w 10 -L udp.log one >said || fail "UDP: $(cat said)"
awk '/lists,/ { exit !($3 == 200 && $7 > 150 && $7 + $9 == 200) }' said || fail "UDP: $(cat said)"
# .. for longer than a silent server is believed to live, and with lists that end the one before: each request ends somewhere
"$bin/tv_sim" -u -t 2.5 -r 20 -n 30 -p flight -w 10 one >said || fail "UDP for long: $(cat said)"
awk '/lists,/ { exit !($3 == 1500 && $7 > 1350 && $7 + $9 + $11 == 1500) }' said || fail "UDP for long: $(cat said)"
"$bin/tv_sim" -t 0.5 -r 200 -n 30 -p random one two >said || fail "lists in a hurry: $(cat said)"
awk '/lists,/ { exit !($3 > 1000 && $7 + $9 + $11 == $3 && $9 == 0) }' said || fail "lists in a hurry: $(cat said)"
[ "$(grep -c '^APP_RECEIVE' udp.log)" -gt 150 ] || fail "events of UDP: $(tail -n 3 udp.log)"
"$bin/tv_sim" -u -k -t 2 -r 10 -n 20 -w 10 one >said 2>&1 &
viewer=$!
sleep 0.5
kill -STOP "$(cat s1.pid)"
wait $viewer || fail "a frozen server, UDP: $(cat said)"
kill -CONT "$(cat s1.pid)"
awk '/lists,/ { exit !($9 > 50 && $7 > 20 && $7 + $9 == $3) }' said || fail "late blocks are waited for: $(cat said)"
until_true 10 ups 1 || fail "the server is not back"

# a server that is paced sends evenly: half a megabyte at a megabyte per second
kill "$(cat s1.pid)"
start s1 "$bin/dpss-server" -r 8 -s s1 -d s1/a -d s1/b
until_true 10 ups 1 || fail "the paced server does not come up"
begin=$(date +%s%N)
"$bin/dpss" verify one >said || fail "paced: $(cat said)"
took=$((($(date +%s%N) - begin) / 1000000))
[ $took -ge 300 ] || fail "paced at 8 Mbit/s, half a megabyte takes $took ms"

# ordinary HTTP servers
command -v nginx >/dev/null || skip "no nginx: sets and traces only"
for i in 1 2; do
	mkdir -p n$i/www
	cp file n$i/www/
	: >n$i/www/empty
	cat >n$i/conf <<EOF
pid $tmp/n$i/pid; error_log $tmp/n$i/error; worker_processes 1; daemon off;
events { worker_connections 64; }
http { access_log $tmp/n$i/access; client_body_temp_path $tmp/n$i/t; proxy_temp_path $tmp/n$i/t; fastcgi_temp_path $tmp/n$i/t;
uwsgi_temp_path $tmp/n$i/t; scgi_temp_path $tmp/n$i/t; keepalive_requests 7;
server { listen 127.0.0.1:$((20000 + $$ % 20000 + i)); root $tmp/n$i/www; location /whole { max_ranges 0; alias $tmp/n$i/www/file; } } }
EOF
	chmod 755 "$tmp" n$i n$i/www
	nginx -c "$tmp/n$i/conf" 2>n$i/said &
	pids="$pids $!"
done
urls=http://127.0.0.1:$((20000 + $$ % 20000 + 1))/file,http://127.0.0.1:$((20000 + $$ % 20000 + 2))/file
until_true 10 "$bin/tv_sim" -t 0.1 "${urls%,*}" && until_true 10 "$bin/tv_sim" -t 0.1 "${urls#*,}" || fail "nginx: $(cat n1/said n1/error)"
"$bin/tv_sim" -k -t 1 -r 10 -n 20 -w 10 -b 4096 -L http.log "$urls" >said || fail "HTTP: $(cat said)"
grep -q '^10 lists, 200 blocks asked for, 200 received, 0 lost' said || fail "HTTP: $(cat said)"
[ "$(grep -c '^APP_RECEIVE' http.log)" = 200 ] && [ "$(grep -c '^HTTP_SEND' http.log)" = 200 ] || fail "events: $(head http.log)"
for i in 1 2; do [ "$(grep -c '" 206 ' n$i/access)" -ge 60 ] || fail "server $i was not asked: $(wc -l n$i/access)"; done
"$bin/tv_sim" -k -i verified -x 4 -b 4096 "$urls" >said && grep -q ' 123 blocks asked for, 123 received, 0 lost' said || fail "a trace of a set against HTTP: $(cat said)"
! "$bin/tv_sim" -t 1 "${urls%,*}.gone" >said 2>&1 && grep -q 'no file that can be read by ranges' said || fail "a file that is not there: $(cat said)"
! "$bin/tv_sim" -t 1 "${urls%,*}/../empty" >said 2>&1 || fail "an empty file"
! "$bin/tv_sim" -t 1 "$(echo "${urls%,*}" | sed 's|/file|/whole|')" >said 2>&1 && grep -q 'by ranges' said || fail "a server without ranges: $(cat said)"
! "$bin/tv_sim" -t 1 http://127.0.0.1:1/x >/dev/null 2>&1 || fail "a server that is not there"
! "$bin/tv_sim" -t 1 http:///x >/dev/null 2>&1 || fail "no host"
