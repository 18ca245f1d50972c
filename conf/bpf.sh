#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compiles the programs of a file FOLDER/NAME.bpf.c and writes the object to standard output. usage: conf/bpf.sh FILE
# [MACHINE] (in the project's top folder). MACHINE, as uname -m prints it, has the kernel: without it, this machine. The object has no debugging information but the types that the loader needs, so the same
# compiler makes the same bytes anywhere. FOLDER/NAME.o stands in the tree: a build of Narrows needs no clang.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
machine=${2:-$(uname -m)}
case $machine in x86_64) arch=x86 ;; aarch64) arch=arm64 ;; *) arch=$machine ;; esac
clang -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$arch -Wall -Werror -Wno-missing-declarations \
	-fdebug-prefix-map="$(pwd)"=. -Iinclude -I. -I"/usr/include/$machine-linux-gnu" \
	-c "$1" -o "$dir/object"
llvm-strip -g "$dir/object"
cat "$dir/object"
