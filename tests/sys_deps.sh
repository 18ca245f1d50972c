#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# conf/deps.sh installs what is missing of a list and nothing else, and says meanwhile what apt-get does; conf/build.sh
# passes on how make ended. Both against stubs.
. tests/lib.sh
mkdir "$tmp/path"
for c in sh id env awk grep mktemp rm cat tail sleep wc find touch nproc dirname; do
	ln -s "$(command -v $c)" "$tmp/path/$c"
done
stub() { cat >"$tmp/path/$1" && chmod +x "$tmp/path/$1"; }
deps() { PATH="$tmp/path" TMPDIR="$tmp" sh conf/deps.sh "$@"; }

# --- everything is there ---
stub dpkg-query <<'SH'
#!/bin/sh
for p in "$@"; do :; done
[ "$p" = "${MISSING:-}" ] || echo installed
SH
stub apt-get <<SH
#!/bin/sh
echo "\$*" >>"$tmp/called"
case "\$*" in
*install*-s*) echo "Inst rsync (1.0)" ;;
*install*)
	echo "pmstatus:rsync:10:Unpacking rsync" >&3
	sleep 3
	echo "pmstatus:rsync:60:Configuring rsync" >&3
	sleep 2
	[ -z "\${BROKEN:-}" ] || { echo "no room"; exit 100; } ;;
esac
SH
[ -z "$(deps demo)" ] && [ ! -e "$tmp/called" ] || fail "installs what is there: $(cat "$tmp/called")"

# --- one package is missing ---
[ "$(id -u)" = 0 ] || skip "only root installs"
out=$(MISSING=rsync deps demo) || fail "$out"
grep -q 'install .*rsync$' "$tmp/called" || fail "calls: $(cat "$tmp/called")"
! grep -q gcc "$tmp/called" || fail "installs what is there: $(cat "$tmp/called")"
for line in 'narrows: installing rsync' 'narrows: unpacking 1 of 1: rsync' 'narrows: setting up 1 of 1: rsync' 'narrows: 1 packages installed'; do
	printf '%s\n' "$out" | grep -q -x "$line" || fail "no line \"$line\": $out"
done
[ "$(printf '%s\n' "$out" | grep -c unpacking)" -ge 2 ] || fail "silent for 3 s: $out"
: >"$tmp/called"
[ -z "$(MISSING=rsync deps host)" ] && [ ! -s "$tmp/called" ] || fail "the list of hosts has rsync"

# --- apt-get fails ---
status=0
out=$(MISSING=rsync BROKEN=1 deps demo 2>&1) || status=$?
[ "$status" = 1 ] || fail "a failed installation ends with $status"
case $out in *"no room"*"could not install: rsync"*) ;; *) fail "why it failed: $out" ;; esac
status=0
deps nonsense 2>/dev/null || status=$?
[ "$status" = 2 ] || fail "an unknown list ends with $status"

# --- make fails, make succeeds ---
mkdir "$tmp/tree" "$tmp/tree/build"
cat >"$tmp/tree/Makefile" <<'MAKE'
O := $(foreach n,1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22,build/$n.o)
good: $O
bad: $O
	@echo broken; false
build/%.o:
	@: cc -c -o $@ && touch $@
MAKE
build="$PWD/conf/build.sh"
(cd "$tmp/tree" && unset MAKEFLAGS MAKELEVEL && sh "$build" good) >"$tmp/out" 2>&1 || fail "make: $(cat "$tmp/out")"
rm "$tmp"/tree/build/*
! (cd "$tmp/tree" && unset MAKEFLAGS MAKELEVEL && sh "$build" bad) >"$tmp/out" 2>&1 || fail "a failed make ends well"
grep -q broken "$tmp/out" || fail "the words of make are lost: $(cat "$tmp/out")"
