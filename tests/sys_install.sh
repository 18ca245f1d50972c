#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# make install: a program builds against what is installed, nwrun measures from where it lies, manuals and units are
# clean, DESTDIR is kept to, and make uninstall leaves nothing behind.
. tests/lib.sh
[ "${B##*/}" = release ] || skip "installed is what release builds"
unset MAKEFLAGS MAKELEVEL MFLAGS
prefix=$tmp/prefix
make -s install PREFIX="$prefix" >"$tmp/make.log" 2>&1 || fail "make install: $(tail -n 5 "$tmp/make.log")"
for p in sbin/narrowsd bin/narrows bin/narrows-host bin/blipp bin/nwrun; do
	[ -x "$prefix/$p" ] || fail "$p is not there"
done

# --- the library: every header stands alone, shared and static ---
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
[ "$(pkg-config --modversion narrows)" = "$("$prefix/bin/narrows" -V | cut -d' ' -f2)" ] || fail "narrows.pc has another version"
cflags=$(pkg-config --cflags narrows)
(cd "$prefix/include" && find . -name '*.h') | while read -r h; do
	echo "#include <${h#./}>" | ${CC:-cc} -Wall -Wextra -Werror -fsyntax-only $cflags -xc - || fail "$h does not stand alone"
done
cat >"$tmp/small.c" <<'C'
#include <narrows/caliper.h>
#include <narrows/err.h>
#include <narrows/provider.h>
#include <stdio.h>

int
main(void)
{
	struct nw_provider_opts opts = { .software = "small", .task_id = "small" };
	struct nw_kv subject[] = { { "type", NW_KV_TEXT, { .text = "disk" } } };
	struct nw_caliper_window w;
	struct nw_provider *p;
	struct nw_caliper *c;
	int i;

	if (nw_caliper_new(&c) != NW_OK || nw_provider_new(&opts, &p) != NW_OK ||
	    nw_provider_meta(p, "m", NULL, "nl:tools:calipers:summary:read", subject, 1, NULL, 0) != NW_OK)
		return 1;
	for (i = 0; i < 10; i++) {
		nw_caliper_begin(c, nw_mono_ns());
		nw_caliper_end(c, 4096, nw_mono_ns());
	}
	nw_caliper_take(c, nw_mono_ns(), &w);
	if (w.n != 10 || nw_provider_caliper(p, "m", nw_wall_ns(), &w) != NW_OK)
		return 1;
	nw_caliper_free(c);
	return nw_provider_close(p, 10 * (int64_t)1000000000) == NW_OK ? 0 : 2;
}
C
${CC:-cc} -Wall -Wextra -Werror -o "$tmp/shared" "$tmp/small.c" $cflags $(pkg-config --libs narrows) || fail "shared link"
${CC:-cc} -o "$tmp/static" "$tmp/small.c" $cflags \
    $(pkg-config --static --libs narrows | sed 's/-lnarrows\>/-l:libnarrows.a/') || fail "static link"

${CC:-cc} -Wall -Wextra -Werror -o "$tmp/shared-dpss" tests/dpss-cases.c $(pkg-config --cflags --libs dpss) || fail "shared link, dpss"
LD_LIBRARY_PATH=$prefix/lib "$tmp/shared-dpss" 2>&1 | grep -q usage || fail "libdpss.so is not found"
${CC:-cc} -o "$tmp/static-dpss" tests/dpss-cases.c $(pkg-config --cflags dpss) \
    $(pkg-config --static --libs dpss | sed 's/-ldpss\>/-l:libdpss.a/') || fail "static link, dpss"

# --- the programs, from where they are installed: a box, what the library sends to it, and nwrun ---
mkdir "$tmp/bin" && ln -s "$prefix"/sbin/* "$prefix"/bin/* "$tmp/bin"
bin=$tmp/bin
start_box
LD_LIBRARY_PATH=$prefix/lib "$tmp/shared" || fail "the shared program: $?"
"$tmp/static" || fail "the static program: $?"
"$prefix/bin/nwrun" true || fail "nwrun true: $?"
NWRUN_REPORT=$tmp/report "$prefix/bin/nwrun" -t installed cat "$prefix/bin/nwrun" >"$tmp/copy" || fail "nwrun: $?"
cmp -s "$prefix/bin/nwrun" "$tmp/copy" || fail "nwrun changes what cat says"
until_true 10 test -f "$tmp/report" || fail "nwrun.so was not found: no report"
grep -q "^stage .*stage=disk.read .*bytes=$(wc -c <"$tmp/copy") " "$tmp/report" || fail "not measured: $(cat "$tmp/report")"
nw sessions --json | grep -q '"task_id":"installed"' || fail "the box did not hear of it"
[ "$(sql "SELECT count(*) FROM xsp_session WHERE software = 'small' AND docs > 0")" = 2 ] || fail "the library's documents"
stop_box

# --- manuals and units ---
for m in "$prefix"/share/man/man*/*; do
	command -v mandoc >/dev/null || break
	wrong=$(mandoc -T lint -W warning "$m" 2>&1) || fail "$wrong"
done
for m in narrows.1 nwrun.1 libnarrows.3 libdpss.3 narrowsd.conf.5 narrows-xsp.7 narrowsd.8 blipp.8; do
	[ -f "$prefix/share/man/man${m##*.}/$m" ] || fail "no manual $m"
done
! grep -l -e /usr/local -e '@[A-Z]*@' "$prefix"/lib/systemd/system/* "$prefix"/lib/pkgconfig/* "$prefix"/share/man/*/* || fail "a prefix is left"
if command -v systemd-analyze >/dev/null; then
	wrong=$(systemd-analyze --man=no verify "$prefix"/lib/systemd/system/*.service 2>&1 | grep -e "$prefix" -e '\.service:') || :
	[ -z "$wrong" ] || fail "$wrong"
fi
if command -v chronyd >/dev/null; then
	for c in "$prefix"/share/doc/narrows/examples/chrony-*.conf; do
		chronyd -p -f "$c" >/dev/null || fail "$c"
	done
fi
"$prefix/sbin/narrowsd" -n -f "$prefix/share/doc/narrows/examples/narrowsd.conf" >/dev/null || fail "the example configuration"

# --- and away with it; below a DESTDIR the same files ---
(cd "$prefix" && find . ! -type d | sort) >"$tmp/list"
make -s install DESTDIR="$tmp/dest" PREFIX=/usr >>"$tmp/make.log" 2>&1 || fail "make install DESTDIR=: $(tail -n 5 "$tmp/make.log")"
(cd "$tmp/dest/usr" && find . ! -type d | sort) | cmp -s - "$tmp/list" || fail "other files below DESTDIR"
[ "$(ls "$tmp/dest")" = usr ] || fail "something beside PREFIX below DESTDIR"
! grep -r -l "$tmp" "$tmp/dest/usr/lib/systemd" "$tmp/dest/usr/lib/pkgconfig" || fail "DESTDIR in an installed file"
make -s uninstall PREFIX="$prefix" >>"$tmp/make.log" 2>&1 || fail "make uninstall"
make -s uninstall DESTDIR="$tmp/dest" PREFIX=/usr >>"$tmp/make.log" 2>&1 || fail "make uninstall DESTDIR="
left=$(find "$prefix" "$tmp/dest" ! -type d; find "$prefix" "$tmp/dest" -type d -path '*narrows*')
[ -z "$left" ] || fail "left behind: $left"
