#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# An interpreter's session is named by its script or module, measured inside and from outside; each name is a route of its own, and
# no other argument of a program reaches the box.
. tests/lib.sh

start_box -o session-linger=1s
head -c 4M /dev/zero >"$tmp/in"
mkdir "$tmp/jobs" "$tmp/module"
cat >"$tmp/jobs/backup.py" <<'END'
#!/usr/bin/env python3
import shutil, sys
shutil.copyfile(sys.argv[1], sys.argv[2])
END
cp "$tmp/jobs/backup.py" "$tmp/jobs/train.py"
cp "$tmp/jobs/backup.py" "$tmp/module/copier.py"
printf '#!/bin/sh\ncat "$1" >"$2"\n' >"$tmp/jobs/nightly"
echo 'local $/; open(I, "<", $ARGV[0]); open(O, ">", $ARGV[1]); print O <I>;' >"$tmp/jobs/get.pl"
chmod +x "$tmp/jobs/"*

# runs NAME COMMAND ...: the session gets the name, from inside and, where allowed, from outside
names=
runs() {
	names="$names
$1"
	name=$1
	shift
	"$bin/nwrun" -q -l "inside $name" "$@" "$tmp/in" "$tmp/out.secret" || fail "$name: status $?"
	[ "$outside" = no ] || "$bin/nwrun" -q -o -l "outside $name" "$@" "$tmp/in" "$tmp/out.secret" || fail "$name, from outside: status $?"
}
outside=$(outside_or_skip >/dev/null && echo yes || echo no) || :
runs 'backup.py (python3)' "$tmp/jobs/backup.py"
runs 'train.py (python3)' env SECRET=secret python3 -B "$tmp/jobs/train.py"
runs 'copier (python3)' env PYTHONPATH="$tmp/module" python3 -m copier
runs 'get.pl (perl)' perl -w "$tmp/jobs/get.pl"
runs 'nightly (sh)' "$tmp/jobs/nightly"
runs 'sh' sh -c 'cat "$0" >"$1"; : secret'

# named WHERE NAME: the verdict has the name
named() { nw sessions --json --label "$1 $2" | grep -q "\"program\": *\"$2\".*\"analysed\": *true"; }
echo "$names" | while read -r name; do
	[ -n "$name" ] || continue
	until_true 20 named inside "$name" || fail "$name: $(nw sessions --json)"
	[ "$outside" = no ] || until_true 20 named outside "$name" || fail "$name, from outside: $(nw sessions --json)"
done
routed() { [ "$(sql "SELECT count(DISTINCT program) FROM route WHERE program IN ('backup.py (python3)', 'train.py (python3)')")" = 2 ]; }
until_true 10 routed || fail "the routes: $(sql 'SELECT route, program FROM route')"
[ "$(sql "SELECT count(*) FROM metadata WHERE event_type NOT LIKE '%:file%' AND json_extract(subject, '\$.resource') IS NULL
	AND (subject LIKE '%secret%' OR params LIKE '%secret%')")" = 0 ] || fail "arguments reached the box: $(sql "SELECT subject FROM metadata WHERE subject LIKE '%secret%'")"
