#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# narrows-gridftp puts its line in place only if transfers work with the line, and takes the line away else; another network
# manager of the site stays. narrows attach gridftp prints the same line.
. tests/lib.sh

command -v globus-gridftp-server >/dev/null && command -v globus-url-copy >/dev/null || skip "GridFTP's programs are not installed"
library=$(cd "$B/lib" && pwd)
[ -e "$library/libglobus_net_manager_narrows.so" ] || skip "the network manager is not built: make gridftp"
mkdir "$tmp/broken"
line=$tmp/gridftp.d/narrows
# what ARGUMENT ...: narrows-gridftp with the configuration of this test
what() { gridftp/narrows-gridftp -c /dev/null -C "$tmp/gridftp.d" "$@" >"$tmp/said" 2>&1; }

nw attach gridftp --box box.example >"$tmp/lines" || fail "attach"
! grep -q listen-announcements "$tmp/lines" || fail "the box needs no port for GridFTP: $(cat "$tmp/lines")"

what -L "$library" install || fail "install: $(cat "$tmp/said")"
grep -q "transfers work, with the site's configuration" "$tmp/said" && grep -q "systemctl reload" "$tmp/said" || fail "install says: $(cat "$tmp/said")"
grep -qxF "$(cat "$line")" "$tmp/lines" || fail "the line is $(cat "$line"), attach prints $(cat "$tmp/lines")"
what check && fail "a library that is not found passes the check"
grep -q "narrows-gridftp remove" "$tmp/said" || fail "check says: $(cat "$tmp/said")"
what remove && [ ! -e "$line" ] || fail "remove: $(cat "$tmp/said")"
rmdir "$tmp/gridftp.d"

# a library that does not load: the line was there for the trial alone
echo "no library" >"$tmp/broken/libglobus_net_manager_narrows.so"
what -L "$tmp/broken" install && fail "a broken library is installed"
[ ! -e "$tmp/gridftp.d" ] && grep -q "removed again" "$tmp/said" || fail "a broken library: $(cat "$tmp/said")"

# another network manager; and no server at all
mkdir "$tmp/gridftp.d"
echo 'xnetmgr "manager=logging;"' >"$tmp/gridftp.d/site"
what -L "$library" install && fail "a second line of a network manager"
[ ! -e "$line" ] && grep -q 'manager=logging' "$tmp/said" || fail "another network manager: $(cat "$tmp/said")"
# Globus refuses UDT beside any network manager: a site with UDT keeps its transfers
echo 'dc_whitelist tcp,udt' >"$tmp/gridftp.d/site"
what -L "$library" install && fail "a network manager beside UDT"
[ ! -e "$line" ] && grep -q 'dc_whitelist tcp,udt' "$tmp/said" && grep -q "XIO driver" "$tmp/said" || fail "UDT: $(cat "$tmp/said")"
rm "$tmp/gridftp.d/site"
for p in mktemp rm id sed sleep chmod mkdir head cmp cat timeout globus-url-copy sh; do ln -s "$(command -v $p)" "$tmp/broken/"; done
PATH=$tmp/broken what install && fail "no server is installed, and the line is in place"
[ ! -e "$line" ] && grep -q "nothing is changed" "$tmp/said" || fail "no server: $(cat "$tmp/said")"
