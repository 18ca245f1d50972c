#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One enrolled host floods the box with metadata, by one or by many providers, or with names of fields, until a ceiling of
# 16 MiB would be full twice. Another host keeps its stored rows, and its new rows are stored at once. LONG=SECONDS floods for
# so long.
. tests/lib.sh
mkdir "$tmp/hosts" "$tmp/state"
for host in dtna dtnb; do nw enroll -o "$tmp/hosts" $host >/dev/null || fail enroll; done
cat >"$tmp/flood.py" <<'PY'
# usage: flood.py TLS HOSTS_DIR SECONDS KIND
import multiprocessing, os, ssl, sys, time
sys.path.insert(0, "tests")
import xsp
box, hosts, seconds, kind = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]

class Peer(xsp.Peer):
    """A peer with the certificate of a host."""
    def __init__(self, host):
        super().__init__(box, 30)
        c = ssl.create_default_context(cafile=hosts + "/ca.crt")
        c.load_cert_chain("%s/%s.crt" % (hosts, host), "%s/%s.key" % (hosts, host))
        c.check_hostname = False
        self.s = c.wrap_socket(self.s)
        self.open()

def metadata(p, first, n):
    """Descriptions of 3 kB."""
    for k in range(first, first + n):
        p.app(0x20, xsp.meta("m%d" % k, name=os.urandom(1500).hex()))
    return n * 3200

def fields(p, first, n):
    """Documents with 200 new names of fields each."""
    for k in range(first, first + n):
        p.app(0x20, xsp.meta("m%d" % k))
        p.app(0x21, xsp.data("m%d" % k, 1, 1700000000.0, **{"f%08x%04x%s" % (os.getpid(), 200 * k + i, "x" * 20): 1.0 for i in range(200)}))
    return n * 200 * 34

# what a provider sends before the next one begins
floods = {"metadata": (metadata, 9000), "providers": (metadata, 40), "fields": (fields, 40)}

def flood(kind, sent, stop):
    k, kept = 0, []
    describe, each = floods[kind]
    while not stop.value:
        p = Peer("dtnb").hello("flood-%d-%d" % (os.getpid(), k))
        kept.append(p)          # stays open: what is described is in use
        end = k + each
        while k < end and not stop.value:
            sent.value += describe(p, k, 20)
            k += 20
        if len(kept) > 50:
            kept.pop(0).s.close()
    time.sleep(1)

v = Peer("dtna").hello("victim-" + kind, task_id="victim-" + kind)
v.app(0x20, xsp.meta("m"))
for i in range(1, 5001):
    v.app(0x21, xsp.data("m", i, 1700000000.0 + i, mean_r=i + 0.0))
assert v.until_stored(5000, 60) == 5000
sent, stop = multiprocessing.Value("q", 0), multiprocessing.Value("i", 0)
flooder = multiprocessing.Process(target=flood, args=(kind, sent, stop), daemon=True) if kind != "none" else None
if flooder:
    flooder.start()
begin, worst, n = time.time(), 0, 5000
while time.time() < begin + 1 + seconds or (flooder and sent.value < 24e6 and time.time() < begin + 20 * xsp.PATIENCE):
    n += 1
    t = time.time()
    v.app(0x21, xsp.data("m", n, 1700000000.0 + n, mean_r=n + 0.0))
    v.s.settimeout(5 * xsp.PATIENCE)
    assert v.until_stored(n, 5 * xsp.PATIENCE) == n, "row %d is not stored" % n
    worst = max(worst, time.time() - t)
    time.sleep(0.05)
stop.value = 1
if flooder:
    flooder.join(20)
    flooder.kill()
v.close()
print("%s: %d bytes of descriptions sent, %d rows stored, the slowest in %.2f s" % (kind, sent.value, n, worst))
assert kind == "none" or sent.value >= 24e6
assert worst < 2 * xsp.PATIENCE, "a row was stored after %.1f s" % worst
PY
start_box -o listen-xsp-tls=127.0.0.1/0 -o max-store-size=16MiB
tls=$(sed -n 's/^xsp-tls //p' "$tmp/state/narrowsd.run")
for kind in ${KINDS:-none metadata providers fields}; do
	python3 -B "$tmp/flood.py" "$tls" "$tmp/hosts" "${LONG:-0}" $kind >"$tmp/$kind" 2>"$tmp/err" ||
		fail "$kind: $(tail -n 3 "$tmp/err") $(nw health | grep -i "ceiling\|trouble")"
	cat "$tmp/$kind"
	n=$(sed -n 's/.* sent, \([0-9]*\) rows stored.*/\1/p' "$tmp/$kind")
	nw sql --csv "SELECT count(*), sum(value) FROM v_sample v JOIN session s ON s.id = v.session WHERE s.task_id = 'victim-$kind' AND v.field = 'mean_r'" | tail -n 1 | tr -d '\r' >"$tmp/rows"
	[ "$(cat "$tmp/rows")" = "$n,$((n * (n + 1) / 2)).0" ] || [ "$(cat "$tmp/rows")" = "$n,$((n * (n + 1) / 2))" ] ||
		fail "$kind: of $n rows and their sum $((n * (n + 1) / 2)) the store has $(cat "$tmp/rows")"
done
stop_box
nw verify >"$tmp/verified" || fail "verify: $(cat "$tmp/verified")"
echo "PASS sys_described"
