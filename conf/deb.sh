#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes Debian packages of this tree in build/deb: narrows, narrows-host, narrows-switch, libnarrows0, libnarrows-dev, and
# narrows-gridftp where Globus' headers are, narrows-slurm where Slurm's are. usage: conf/deb.sh
# [ARCHITECTURE]; those of another architecture are not checked by lintian.
# The folder debian/ that the tools want stands in conf/debian/ here, so a copy of the tree is built.
set -eu
cd "$(dirname "$0")/.."
. conf/progress.sh
out=build/deb
rm -rf "$out"
mkdir -p "$out/narrows"
if git rev-parse --git-dir >/dev/null 2>&1; then
	git ls-files -co --exclude-standard | tar cf - --files-from=- | tar xf - -C "$out/narrows"
else
	tar cf - --exclude=./build --exclude=./.git . | tar xf - -C "$out/narrows"
fi
cd "$out/narrows"
mv conf/debian debian
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
sed -i "1s/(.*)/($version-1)/" debian/changelog
awk '/@LICENSE@/ { while ((getline line < "LICENSE") > 0) print (line == "" ? " ." : " " line); next } { print }' \
	debian/copyright >debian/copyright.new && mv debian/copyright.new debian/copyright
chmod +x debian/rules
# step: the newest word of debhelper, and the files that are compiled
step() {
	step=$(sed -n 's/^ *\(dh_[a-z_]*\).*/\1/p' ../build.log | tail -n 1)
	echo "packages: ${step:-begins}, $(find build -name '*.o' 2>/dev/null | wc -l) files compiled"
}
profile=
[ $# = 0 ] && pkg-config --exists globus-net-manager globus-xio 2>/dev/null || profile=pkg.narrows.nogridftp
[ $# = 0 ] && [ -e /usr/include/slurm/spank.h ] || profile=$profile${profile:+,}pkg.narrows.noslurm
# shellcheck disable=SC2086
dpkg-buildpackage ${profile:+-P"$profile"} -b -us -uc ${1:+-a"$1"} -j"$(nproc)" >../build.log 2>&1 &
progress $! step || { tail -n 30 ../build.log >&2; exit 1; }
cd ..
echo "packages: lintian"
rm -rf narrows
[ $# -gt 0 ] || lintian --allow-root --fail-on error --suppress-tags initial-upload-closes-no-bugs ./*.changes || exit 1
ls -l ./*.deb
