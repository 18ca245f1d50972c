#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tests/prose.py counts what it says, and README, DESIGN, manuals and comments keep to its limits.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { printf 'FAIL: %s\n' "$*" >&2; exit 1; }
count() { python3 tests/prose.py "$@"; }
# counted FILE RATE WORDS: the line that prose.py prints of a file
counted() {
	count "$tmp/$1" >"$tmp/out" || fail "$1: exit status $?"
	grep -qx " *$2 pronouns per 100 of $3 words: .*" "$tmp/out" || fail "$1: $(cat "$tmp/out")"
}

# --- Markdown: words without code ---
printf '%s\n' '# Title here' '' 'The box `knows it` and stores bytes. Somebody who asks' 'reads them.' '' '```sh' 'this that' '```' \
    '| one | a cell |' '<!-- it' 'it -->' >"$tmp/a.md"
counted a.md 26.7 15 # somebody, who, them, one
# --- a manual: words without macros and displays ---
printf '%s\n' '.\" it it' '.Sh NAME' '.Nm box' '.Nd a box that waits' '.Sh DESCRIPTION' 'The host' '.Nm it' 'sends bytes.' 'Which bytes?' \
    '.Bd -literal' 'it it it' '.Ed' '.Bl -tag' '.It Fl o' 'Words.' '.El' >"$tmp/a.1"
counted a.1 18.2 11 # that, which
# --- C: comments without licence lines and strings ---
printf '%s\n' '/* SPDX-License-Identifier: BSD-3-Clause */' 'int it; /* bytes of' ' * nobody */' 'const char *s = "/* it */";' \
    '/* one two three four five six */' >"$tmp/a.c"
count "$tmp/a.c" >"$tmp/out"
grep -qx '22.2 pronouns per 100 of 9 words: comments' "$tmp/out" || fail "a.c: $(cat "$tmp/out")"

# --- the worst and the long sentences, with their lines ---
printf '%s\n' 'A short sentence.' '' 'Who knows what it is that they mean by this?' 'A sentence has words, and' \
    'one two three four five six.' >"$tmp/b.md"
count -n 1 -l 10 "$tmp/b.md" >"$tmp/out"
grep -q "b.md:3: Who knows" "$tmp/out" || fail "-n: $(cat "$tmp/out")"
grep -q "b.md:4: 11 words: A sentence has words, and one two" "$tmp/out" || fail "-l: $(cat "$tmp/out")"
! grep -q "short" "$tmp/out" || fail "a short sentence is printed"

# --- a passed limit, and a file without words, are failures ---
! count -c "$tmp/b.md" >"$tmp/out" 2>&1 || fail "no limit is checked"
grep -q "^FAIL: .*b.md: .* at most 4.5 are allowed" "$tmp/out" || fail "-c: $(cat "$tmp/out")"
printf '%s\n' '```' 'code' '```' >"$tmp/empty.md"
! count "$tmp/empty.md" >"$tmp/out" 2>&1 || fail "a file without words passes"
grep -q "^FAIL: .*empty.md: no word was found" "$tmp/out" || fail "empty: $(cat "$tmp/out")"

# --- this tree ---
count -c
count -c CHANGELOG.md CONTRIBUTING.md SECURITY.md
