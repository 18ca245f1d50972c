#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The manuals say what the programs do: every directive with its default, bounds and an example that works, every option
# of a usage text, every kind of `narrows stat` with its options; and the README's two lines install make.
. tests/lib.sh
export LC_ALL=C

# --- narrowsd.conf(5) against the tables of directives ---
page=conf/narrowsd.conf.5
# one row of the table, one line
cat daemon/conf.c include/narrows/siteconf.h | tr -s '\\\n\t ' ' ' | sed -e 's/{/\n{/g' | sed -e 's/}.*//' >"$tmp/conf.c"
awk -F'"' '/^\{ "[a-z0-9-]+", &[a-z_]+, / {
	print $2 "|Default " $4 (NF > 8 ? ", from " $6 " to " $8 : "") "." }' "$tmp/conf.c" >"$tmp/table"
awk '/^\.It Ic / { name = $3 } /^Default / { print name "|" $0 }' "$page" >"$tmp/page"
[ "$(wc -l <"$tmp/table")" -ge 20 ] || fail "the table of directives is not understood"
sort "$tmp/table" >"$tmp/table.sorted"
sort "$tmp/page" | diff "$tmp/table.sorted" - || fail "$page: < conf.c, > the page"

awk '/^\.It Ic / { name = $3 } /^\.Dl / && name != "" { sub(/^\.Dl /, ""); print name "|" $0; name = "" }' "$page" >"$tmp/examples"
cut -d'|' -f1 "$tmp/examples" | sort >"$tmp/names"
cut -d'|' -f1 "$tmp/table" | sort | diff - "$tmp/names" || fail "$page: not an example for every directive"
while IFS='|' read -r name example; do
	case $example in "$name "*) ;; *) fail "$page: the example of $name is \"$example\"" ;; esac
	printf 'plain-xsp-beyond-loopback no\n' | sed "/^$name /d" >"$tmp/one.conf"
	echo "$example" >>"$tmp/one.conf"
	wrong=$("$bin/narrowsd" -n -f "$tmp/one.conf" 2>&1) || fail "$page: $wrong"
done <"$tmp/examples"
sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/{/^\.Bd/,/^\.Ed/{/^\./!p}}' "$page" >"$tmp/whole.conf"
[ -s "$tmp/whole.conf" ] && "$bin/narrowsd" -n -f "$tmp/whole.conf" >/dev/null || fail "$page: EXAMPLES"

# the configuration that is installed shows defaults in its comments
sed -n 's/^#\([a-z][a-z0-9-]* .*\)/\1/p' conf/narrowsd.conf | sed 's/  */ /' | while read -r name value; do
	grep -q -x -e "$name|Default $value\(, from .*\)\{0,1\}\." "$tmp/table" || fail "conf/narrowsd.conf: $name $value is not the default"
done

# --- narrowsd(8): every address of the report, with the words of its row ---
"$B/tests/web/test_resource" --list >"$tmp/resources"
python3 - "$tmp/resources" daemon/narrowsd.8 <<'PYTHON' || fail "narrowsd.8: the addresses"
import re, sys

rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
page = open(sys.argv[2]).read()
assert len(rows) > 60, rows


def plain(text):
    text = re.sub(r"(?m)^\.Xr (\S+) (\S+) ?(.*)$", r"\1(\2)\3", text)
    return " ".join(re.sub(r"(?m)^\.[A-Z][a-z] ", "", text).split())


items = {}  # address: text
for name, begin in ("THE REPORT", ""), ("API", "/api/v1/"):
    section = re.search(rf"(?ms)^\.Sh {name}$(.*?)^\.S[hs] ", page).group(1)
    for title, text in re.findall(r"(?ms)^\.It Pa (.*?)$\n(.*?)(?=^\.It |^\.El)", section):
        title = re.sub(r" Ns Ar (\w+)", r"{\1}", title).replace(" Ns Pa ", "").replace(" No (POST)", " (POST)")
        for address in title.split(" , "):
            items[begin + address] = text
bad = 0
for path, words, example in rows:
    text = items.pop(path.replace("{number}", "{id}"), None)
    if text is None:
        bad += print(f"no .It Pa for {path}") is None
    elif not plain(text).startswith(words):
        bad += print(f"{path}: \"{plain(text)[:100]}\", not \"{words}\"") is None
    elif example and not re.search(r"(?m)^\.Dl \$ curl .*" + re.escape(example.split()[-1]) + "'$", text):
        bad += print(f"{path}: no example {example}") is None
for address in items:
    bad += print(f"{address} stands in the page and is no resource") is None
sys.exit(bad != 0)
PYTHON

# --- options: usage text against page ---
# has PAGE TEXT WHAT...: every option in TEXT is in PAGE, as .Fl
has() {
	where=$1 text=$2
	shift 2
	for o in $(printf '%s\n' "$text" | grep -o -e '\[-[A-Za-z]*' -e ' -[A-Za-z]\>' | tr -d ' [' | sed 's/^-//' | fold -w1 | sort -u); do
		grep -q -e "^\.It Fl $o\>" -e "Fl $o\>" "$where" || fail "$where: no -$o ($*)"
	done
	for o in $(printf '%s\n' "$text" | grep -o -e '--[a-z][a-z0-9-]*' | sed 's/^--//' | sort -u); do
		grep -q -e "Fl -$o\>" -e "^\.It Fl .* , -$o\>" "$where" || fail "$where: no --$o ($*)"
	done
}
has daemon/narrowsd.8 "$("$bin/narrowsd" -h)" narrowsd
for c in join doctor; do
	has host/join/narrows-host.8 "$("$bin/narrows-host" "$c" --help)" "narrows-host $c"
	status=0
	"$bin/narrows-host" "$c" --nonsense 2>/dev/null >&2 || status=$?
	[ "$status" = 2 ] || fail "narrows-host $c --nonsense: exit status $status"
done
# -h explains each option that the manual has an item for, on one screen
for page in host/nwrun/nwrun.1 host/blipp/blipp.8 host/outside/nwflow.8; do
	name=${page##*/} && name=${name%.*}
	"$bin/$name" -h >"$tmp/help" || fail "$name -h"
	[ "$(wc -l <"$tmp/help")" -le 24 ] || fail "$name -h is longer than a screen"
	for o in $(sed -n 's/^\.It Fl \([A-Za-z]\)\( .*\)*$/\1/p' $page | grep -v h); do
		grep -q "^  .*-$o[ ,]" "$tmp/help" || fail "$name -h does not explain -$o"
	done
done
usage=$("$bin/narrows" -h)
has cli/narrows.1 "$usage" narrows
for c in $(printf '%s\n' "$usage" | awk '/^  [a-z]/ { print $1 }'); do
	grep -q "^\.It Cm $c\>" cli/narrows.1 || fail "narrows.1: no command $c"
	for help in "$c --help" "$c -h" "help $c"; do
		"$bin/narrows" -s "$tmp/nowhere" $help 2>"$tmp/err" >"$tmp/help" || fail "narrows $help: exit status $?"
		grep -q "^usage: narrows $c" "$tmp/help" && [ ! -s "$tmp/err" ] || fail "narrows $help prints another help"
	done
	has cli/narrows.1 "$(cat "$tmp/help")" "narrows $c"
	status=0
	"$bin/narrows" -s "$tmp/nowhere" "$c" --nonsense 2>/dev/null >&2 || status=$?
	[ "$status" = 2 ] || fail "narrows $c --nonsense: exit status $status"
done
while read -r words; do
	status=0
	# shellcheck disable=SC2086
	"$bin/narrows" -s "$tmp/nowhere" $words >/dev/null 2>&1 || status=$?
	[ "$status" = 2 ] || fail "narrows $words: exit status $status"
done <<'WORDS'
nothing
help nothing
sessions --since x
sessions -n 0
report x
report 1 2
export x
export -f x 1
export --from x 1
import
pin x
control vm rate
control vm rate x
control vm fly
control vm start -i x
sql a b
backup
verify a b
restore
enroll
enroll --days 0 host
revoke
hosts x
health x
stat nothing
WORDS
for v in $(sed -n 's/^\.It Ev \([A-Z_]*\).*/\1/p' daemon/narrowsd.8 cli/narrows.1) ; do
	grep -q "\"$v\"" daemon/*.c daemon/gate/*.c daemon/rights/*.c cli/*.c base/*.c || fail "$v: nobody reads it"
done

# --- narrows-xsp(7): every key that is read or written ---
for key in $(sed -n 's/.*\(put\|take\|kv\)_[a-z]*(kv, &\{0,1\}n, "\([a-z0-9_]*\)".*/\2/p' xsp/order.c | sort -u); do
	grep -q "^\.It Li.*\<$key\>" xsp/narrows-xsp.7 || fail "narrows-xsp.7: no key $key"
done

# --- narrows stat: kinds and their options, both ways ---
kinds=$("$bin/narrows" stat --help | awk '/^Prints/ { on = 1 } on && /^  [a-z]/ { print $1 }')
[ "$(printf '%s\n' "$kinds" | wc -l)" -ge 10 ] || fail "narrows stat --help is not understood"
common=$("$bin/narrows" stat summary --help | grep -o -e '^  --[a-z0-9-]*' | grep -v group)
for k in $kinds; do
	awk -v kind="$k" '/^\.Sh/ { on = 0 } /^\.It Ic / { on = $3 == kind } on' cli/narrows.1 >"$tmp/section"
	[ -s "$tmp/section" ] || fail "narrows.1: no statistic $k"
	"$bin/narrows" stat "$k" --help | grep -o -e '^  --[a-z0-9-]*' | grep -v -x -F -e "$common" | tr -d ' ' | sort >"$tmp/has"
	grep -o -e 'Fl -[a-z0-9-]*' "$tmp/section" | sed 's/Fl /  -/' | grep -v -x -F -e "$common" | tr -d ' ' | sort -u | diff "$tmp/has" - ||
	    fail "narrows.1: options of stat $k: < the program, > the page"
done
printf '%s\n' "$kinds" | sort >"$tmp/kinds"
awk '/^\.Sh STATISTICS/ { on = 1 } /^\.Sh ENV/ { on = 0 } on && /^\.It Ic / { print $3 }' cli/narrows.1 | sort |
    diff "$tmp/kinds" - || fail "narrows.1: < kinds of the program, > of the page"

# --- help and version of every program ---
for p in narrowsd narrows narrows-host nwrun blipp nwflow nwlog nwfts magnet iomodel dpss dpss-master dpss-server; do
	[ -x "$bin/$p" ] || continue # nwflow and magnet are not made everywhere
	"$bin/$p" --help 2>"$tmp/err" | grep -q "usage: $p" && [ ! -s "$tmp/err" ] || fail "$p --help"
	"$bin/$p" --version 2>"$tmp/err" | grep -q -x "$p [0-9][0-9.]*.*" && [ ! -s "$tmp/err" ] || fail "$p --version"
done

# --- the README's lines, on a machine that has nothing but sh and apt-get ---
mkdir "$tmp/path"
cat >"$tmp/path/apt-get" <<SH
#!/bin/sh
case "\$*" in install*make) printf '#!/bin/sh\necho made \$*\n' >"$tmp/path/make"; /bin/chmod +x "$tmp/path/make" ;; esac
SH
chmod +x "$tmp/path/apt-get"
for target in demo check; do
	line=$(grep "; make $target\$" README.md) || fail "README.md: no line for make $target"
	rm -f "$tmp/path/make"
	for found in missing there; do
		[ "$(PATH="$tmp/path" /bin/sh -ec "$line")" = "made $target" ] || fail "README.md: $line (make $found)"
	done
done
