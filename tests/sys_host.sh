#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What measured hosts need: built and installed without the box's libraries; programs without shared libraries are small,
# and measure.
. tests/lib.sh
[ "${B##*/}" = release ] || skip "hosts get what release builds"
unset MAKEFLAGS MAKELEVEL MFLAGS

# A pkg-config that knows none of the box's packages. What make would compile is looked up in the dependencies that the compiler
# wrote for this build: a host's object includes no header of the box's libraries, and a host's program links none of them.
mkdir "$tmp/path"
cat >"$tmp/path/pkg-config" <<END
#!/bin/sh
case "\$*" in *sqlite3* | *libevent* | *lapacke* | *openblas* | *jansson* | *libzstd* | *liblzma* | *zlib*) exit 1 ;; esac
exec $(command -v pkg-config) "\$@"
END
chmod 755 "$tmp/path/pkg-config"
export PATH="$tmp/path:$PATH"
make -n V=1 host B="$tmp/host" >"$tmp/make.log" 2>&1 || fail "make host: $(tail -n 5 "$tmp/make.log")"
sed -n "s|.* -o $tmp/host/\([^ ]*\)\.o.*|$B/\1.d|p" "$tmp/make.log" | sort -u >"$tmp/objects"
[ "$(wc -l <"$tmp/objects")" -gt 200 ] || fail "make host compiles little: $(cat "$tmp/objects")"
! grep -E '/store/|/daemon/|/analyze/|/web/' "$tmp/objects" || fail "make host builds the box"
xargs cat <"$tmp/objects" >"$tmp/headers" || fail "an object of a host is not in this build"
! grep -E '/(sqlite3|lapacke|event2|jansson|zstd|lzma|zlib)' "$tmp/headers" || fail "an object of a host needs a library of the box"
! ldd "$B/bin/blipp" "$B/bin/nwrun" "$B/bin/iomodel" "$B/bin/narrows-host" | grep -E 'sqlite|event|blas|lapack' || fail "a library of the box is linked"
make -s install-host PREFIX="$tmp/prefix" >"$tmp/make.log" 2>&1 || fail "make install-host: $(tail -n 5 "$tmp/make.log")"
for p in bin/blipp bin/nwrun bin/iomodel lib/narrows/nwrun.so lib/narrows/nwrun-collect.so lib/libnarrows.a share/man/man1/nwrun.1 share/man/man8/blipp.8; do
	[ -f "$tmp/prefix/$p" ] || fail "install-host: no $p"
done
[ ! -e "$tmp/prefix/sbin" ] || fail "install-host installs the box"

[ -n "${WHOLE:-}" ] || { echo "untested: programs without shared libraries, which are compiled where WHOLE is set"; exit 0; }
make -s host-static -j2 >"$tmp/make.log" 2>&1 || fail "make host-static: $(tail -n 5 "$tmp/make.log")"
for p in blipp nwrun iomodel; do
	bytes=$(stat -c %s "$B/static/$p")
	[ "$bytes" -lt 2000000 ] || fail "static $p has $bytes bytes"
	! ldd "$B/static/$p" >/dev/null 2>&1 || fail "static $p has shared libraries"
done
start_box
"$B/static/blipp" -b "$xsp" --once || fail "static blipp"
until_true 10 sh -c "[ \"\$(sqlite3 -readonly '$tmp/state/narrows.db' \"SELECT count(*) FROM metadata WHERE event_type LIKE 'ps:tools:blipp:%'\")\" -gt 5 ]" ||
	fail "static blipp sent nothing"
head -c 5000000 /dev/zero >"$tmp/data"
"$B/static/nwrun" -t static cat "$tmp/data" >"$tmp/copy" || fail "static nwrun"
until_true 30 sh -c "'$bin/narrows' -s '$tmp/state' report --json last 2>/dev/null | grep -q 5000000" || fail "static nwrun measured nothing"
