#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compiles the programs of NAME.bpf.c and writes them as a C array to standard output. usage: embed.sh NAME (in the
# project's top folder). The object has no debugging information but the types that the loader needs, so the
# same compiler makes the same bytes anywhere.
set -eu
name=$1
case $name in points) array=magnet_object ;; *) array=magnet_${name}_object ;; esac
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
case $(uname -m) in x86_64) arch=x86 ;; aarch64) arch=arm64 ;; *) arch=$(uname -m) ;; esac
clang -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$arch -Wall -Werror -Wno-missing-declarations \
	-fdebug-prefix-map="$(pwd)"=. -Iinclude -I"/usr/include/$(uname -m)-linux-gnu" \
	-c host/magnet/bpf/$name.bpf.c -o "$dir/$name.o"
llvm-strip -g "$dir/$name.o"
echo '/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */'
echo "/* Made by host/magnet/bpf/embed.sh from host/magnet/bpf/$name.bpf.c. */"
echo '/* clang-format off */'
echo '#include "host/magnet/object.h"'
echo
echo "const unsigned char $array[] __attribute__((aligned(8))) = {"
od -An -v -tu1 -w24 "$dir/$name.o" | sed 's/  */,/g; s/^,/	/; s/$/,/'
echo '};'
echo "const size_t ${array}_bytes = sizeof($array);"
