#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# /metrics in OpenMetrics and in Prometheus' older text, /healthz and /readyz by parts, and a fresh install's first page.
. tests/lib.sh
start_box
curl -s "$url/" >"$tmp/fresh"
grep -q "NARROWS_BOX=$xsp " "$tmp/fresh" || fail "the first page does not name its own port: $(grep NARROWS_BOX "$tmp/fresh")"
grep -q 'listen-xsp-tls' "$tmp/fresh" || fail "the first page does not say that TLS is off"
"$bin/nwrun" dd if=/dev/zero of="$tmp/zero" bs=64k count=200 2>/dev/null || fail "nwrun"
until_true 10 sh -c "nw() { '$bin/narrows' -s '$tmp/state' \"\$@\"; }; nw report last --json | grep -q closed" || fail "no session"

python3 - "$url" <<'EOF' || fail "/metrics, /healthz, /readyz"
import json, re, sys, urllib.request
url = sys.argv[1]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
def get(path, **headers):
    with opener.open(urllib.request.Request(url + path, headers=headers)) as r:
        return r.headers["Content-Type"], r.read().decode()
health = json.loads(get("/healthz")[1])
kind, text = get("/metrics", Accept="application/openmetrics-text;version=1.0.0,*/*;q=0.1")
assert kind.startswith("application/openmetrics-text; version=1.0.0") and text.endswith("# EOF\n")
families, family, samples, units = {}, None, {}, set()
for line in text.splitlines()[:-1]:
    m = re.fullmatch(r"# (TYPE|UNIT|HELP) ([a-z][a-z0-9_]*) (.+)", line)
    if m:
        if m[1] == "TYPE":
            family = m[2]
            assert family not in families and m[3] in ("counter", "gauge", "info"), line
            families[family] = m[3]
        assert m[2] == family, line
        assert m[1] != "UNIT" or family.endswith("_" + m[3]), line
        units |= {family} if m[1] == "UNIT" else set()
        continue
    m = re.fullmatch(r'([a-z][a-z0-9_]*)(\{[a-z]+="[^"]*"\})? (NaN|[-+0-9.e]+)', line)
    assert m and family, line
    want = family + {"counter": "_total", "info": "_info", "gauge": ""}[families[family]]
    assert m[1] == want, (line, want)
    assert (m[1], m[2]) not in samples
    samples[m[1], m[2]] = float(m[3])
assert units == {f for f in families if re.search("_(bytes|seconds)$", f)}, units
for name, v in health["counters"].items():
    found = [samples[n, None] for n in (f"narrows_{name}", f"narrows_{name}_total", f"narrows_{name}_open") if (n, None) in samples]
    assert found, name
    assert name.startswith("http_") or found[0] == v or name == "connections", (name, found, v)
assert samples["narrows_documents_total", None] > 0 and samples["narrows_store_file_bytes", None] > 0
assert samples["narrows_up", '{part="store"}'] == 1
kind, old = get("/metrics")
assert kind.startswith("text/plain; version=0.0.4") and "# TYPE narrows_documents_total counter\n" in old and "# EOF" not in old
assert health["parts"] == {"store": "ok", "queue": "ok", "disk": "ok", "analysis": "ok", "clock": "ok"}, health["parts"]
ready = json.loads(get("/readyz")[1])
assert ready["ready"] and ready["parts"]["report"] == "ok", ready
EOF
if command -v promtool >/dev/null 2>&1; then
	curl -s "$url/metrics" | promtool check metrics >"$tmp/said" 2>&1 || fail "promtool: $(cat "$tmp/said")"
else
	echo "promtool does not check /metrics: it is not installed (package prometheus)"
fi
stop_box
