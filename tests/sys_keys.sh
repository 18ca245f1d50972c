#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Documents that leave the box name their keys by result_keys.def and the files that it includes: no file that writes or reads such
# documents spells a key beside them. What has its keys from elsewhere (a foreign format, a sender's subject) is listed here.
cd "$(dirname "$0")/.." || exit 1
python3 - <<'EOF'
import glob, re, sys
# writes and reads of a key in quotes, and JSON put together as text
literal = re.compile(r'json_object_(?:set|set_new|get|del)\(\s*((?:[^;,()]|\([^;()]*\))*),\s*"|json_pack\(\s*"\s*\{|\{?\\"[A-Za-z_]+\\":')
# objects whose keys are those of a sender
theirs = re.compile(r'(?:.*->)?(?:subject|params)$')
foreign = {
    "web/openapi.c": "OpenAPI", "web/answer/result_schema.c": "JSON Schema",
    "web/query/prom.c": "Prometheus", "web/query/prom_eval.c": "Prometheus", "web/query/prom_list.c": "Prometheus", "web/query/prom_join.c": "Prometheus",
    "web/lifelines/linetables.c": "OpenTelemetry", "web/answer/esmond.c": "esmond", "web/answer/esmond_tests.c": "esmond",
    "web/export/shape_ndjson.c": "h_dur, a field of XSP",
    "cli/hook/hook_queue.c": "the memory of hooks, a file of narrows hook alone", "cli/cmd_hook.c": "the memory of hooks",
    "cli/hook/hook_archive.c": "pScheduler", "cli/hook/hook_question.c": "pScheduler, and the memory of hooks", "cli/hook_watch.c": "the memory of hooks", "cli/hook/hook_incidents.c": "the memory of hooks",
    "daemon/hostclock.c": "metadata of a series", "daemon/hostcost.c": "metadata of a series", "daemon/hostseries.c": "metadata of a series",
    "daemon/testseries.c": "metadata of a series",
    "web/tables.c": "files of narrows fleet publish for narrowsd alone", "web/answer_fleet.c": "files of narrows fleet publish for narrowsd alone", "cli/fleet_pages.c": "files of narrows fleet publish for narrowsd alone",
    "cli/cmd_fleet.c": "rows of a fleet, whose columns are in fleet/fleet_columns.def",
    "analyze/verdict/keep/diet.c": "the memory of diets, in the store alone",
}
# of a file that writes documents, too, only objects of these names are the memory
memory = {"cli/hook_watch.c": r"(w->)?memory|route|object_of\(w->memory, \"silent\"\)", "cli/cmd_hook.c": r"h->memory", "cli/hook/hook_incidents.c": r"entry|memory"}
def spelt(name, text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    for m in literal.finditer(text):
        of = (m.group(1) or "").strip()
        if not theirs.match(of):
            yield text.count("\n", 0, m.start()) + 1, of, " ".join(m.group(0).split())
# each way of spelling a key is found
for line in ('json_object_set_new(doc, "a", v);', 'json_object_set(f(x, y)\n, "a", v);', 'json_object_get(json_object_get(d, "a"), k)',
             'json_pack(\n "{s:s}", "a", v)', r'puts("{\"a\":1}");', r'fprintf(f, ",\"a\":%s", v);'):
    assert len(list(spelt("", line))) == 1, line
assert not list(spelt("", 'json_object_get(subject, "a"); json_pack("[oo]", a, b); /* json_object_get(d, "a") */ json_object_get(d, key);'))
files = sorted(f for p in ("web/**/*.c", "cli/*.c", "cli/hook/*.c", "daemon/*.c", "analyze/verdict/**/*.c") for f in glob.glob(p, recursive=True))
assert len(files) > 200, len(files)
bad = unused = 0
for name in files:
    found = list(spelt(name, open(name).read()))
    if name in foreign and not found:
        print(f"{name}: spells no key any more: take it off the list in tests/sys_keys.sh")
        bad = 1
    for line, of, what in found:
        if name not in foreign or (name in memory and not re.fullmatch(memory[name], of)):
            print(f"{name}:{line}: a key beside result_keys.def: {what}")
            bad = 1
for name in set(foreign) - set(files):
    print(f"{name}: there is no such file: take it off the list in tests/sys_keys.sh")
    bad = 1
sys.exit(bad)
EOF
