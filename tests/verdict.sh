# SPDX-License-Identifier: BSD-3-Clause
# What a result document says, read as JSON by SQLite inside `narrows sql`: . tests/verdict.sh, with $bin set.

# document_value STATE_DIR ID PATH: one value of a session's document, '$.verdict.stage'; empty for null or nothing
document_value() {
	"$bin/narrows" -s "$1" report --json "$2" | sed "s/'/''/g; 1s/^/SELECT json_extract('/; \$s|\$|', '$3');|" |
	    "$bin/narrows" -s "$1" sql --csv
}

# verdict_is STATE_DIR ID STAGE: whether the document's verdict names that stage
verdict_is() {
	[ "$(document_value "$1" "$2" '$.verdict.stage')" = "$3" ]
}
