#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compiles the programs of outside.bpf.c and writes them as a C array to standard output. usage: embed.sh (in the
# project's top folder). The object has no debugging information but the types that the loader needs, so the
# same compiler makes the same bytes anywhere.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
case $(uname -m) in x86_64) arch=x86 ;; aarch64) arch=arm64 ;; *) arch=$(uname -m) ;; esac
clang -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$arch -Wall -Werror -Wno-missing-declarations \
	-fdebug-prefix-map="$(pwd)"=. -Iinclude -I. -I"/usr/include/$(uname -m)-linux-gnu" \
	-c host/outside/bpf/outside.bpf.c -o "$dir/outside.o"
llvm-strip -g "$dir/outside.o"
echo '/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */'
echo '/* Made by host/outside/bpf/embed.sh from host/outside/bpf/outside.bpf.c. */'
echo '/* clang-format off */'
echo '#include "host/outside/object.h"'
echo
echo 'const unsigned char outside_object[] __attribute__((aligned(8))) = {'
od -An -v -tu1 -w24 "$dir/outside.o" | sed 's/  */,/g; s/^,/	/; s/$/,/'
echo '};'
echo 'const size_t outside_object_bytes = sizeof(outside_object);'
