/* SPDX-License-Identifier: BSD-3-Clause */
/* How each word of the narrows command is used. */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"

static const struct {
	const char *word, *text;
} usages[] = {
	{ "sessions", "[-n COUNT] [--json]\n" },
	{ "report", "[--json] ID     (ID: a number, or \"last\")\n" },
	{ "export",
	    "[OPTION ...] ID        (ID: a number, or \"last\")\n"
	    "  -f, --format FORMAT   tidy       one value per line (the default)\n"
	    "                        wide       one row per time step, one column per series\n"
	    "                        keys       key,timestamp,value\n"
	    "                        keys-long  key,type,subject,param,timestamp,value\n"
	    "                        ndjson     the canonical documents, one JSON object per line\n"
	    "                        influx     InfluxDB line protocol, nanoseconds\n"
	    "                        bson       documents as they were sent, in BSON, each in its "
	    "generation\n"
	    "                        g1, g2, g3 the same, all in one generation\n"
	    "  -o, --output FILE     there instead of standard output, whole or not at all\n"
	    "  -c, --csv FILE        the same\n"
	    "  -s, --series PREFIX   only event types that start so\n"
	    "      --from T --to T   only values from T, and before T: 2026-11-20T08:12:11.25Z, or "
	    "ns since 1970\n"
	    "  -r, --resolution STEP a row for each 250ms, 1min, ... up to 24h; else rows as they "
	    "came, but wide: 1s\n"
	    "      --eol crlf        CSV: line ends as RFC 4180 has them\n"
	    "      --safe-text       CSV: ' before text that a spreadsheet would take for a "
	    "formula (= + - @ TAB CR)\n"
	    "wide: a row is for t_ns <= t < t_ns + STEP, t_ns a multiple of STEP since 1970; a "
	    "cell is the last value in it as\n"
	    "measured, empty if there is none; steps without any value have no row.\n" },
	{ "import",
	    "[OPTION ...] FILE      (\"-\": standard input; .gz, .xz and .zst are unpacked)\n"
	    "  -f, --format FORMAT   what it is; else found out from its first line:\n"
	    "                        tidy wide keys keys-long ndjson influx   as narrows export "
	    "writes them\n"
	    "                        sadf      sar's records: sadf -j\n"
	    "                        ulm, bp   NetLogger lines, GridFTP's transfer lines\n"
	    "                        bson      documents of any generation, as exported or "
	    "recorded\n"
	    "  -n, --session NAME    all of it belongs to this session. Else to the one its "
	    "task_id names, else to one named\n"
	    "                        like the file; sadf's records belong to their host\n"
	    "  -H, --host NAME       the host of what names none (default: this one)\n"
	    "  -b, --box HOST/PORT   the box to send to, where it takes XSP (default: the one of "
	    "the state directory;\n"
	    "                        where none runs, its store is written directly)\n"
	    "  -c, --check           read it, say what is in it, and stop\n"
	    "The whole file is read and checked before anything is sent. The same file twice is "
	    "the same as once.\n" },
	{ "health", "\n" },
	{ "pin", "ID     (a number, or \"last\")\n" },
	{ "unpin", "ID     (a number, or \"last\")\n" },
	{ "control",
	    "HOST rate INTERVAL [-e EVENT] [-r REPORT] [-f FOR]\n"
	    "       narrows control HOST start [-c SRC/PORT-DST/PORT] [-t TASK] [-e EVENT] [-i "
	    "INTERVAL] [-r REPORT] [-f FOR]\n"
	    "       narrows control HOST stop [ID]\n"
	    "       narrows control HOST|all status\n" },
	{ "sql", "[--csv [--header] | --json] [QUERY]     (without QUERY: from standard input)\n" },
	{ "backup", "[-f] FILE     (-f: even if there is such a file)\n" },
	{ "verify", "[FILE]     (without FILE: the store of the state directory)\n" },
	{ "restore", "[-f] FILE     (-f: even if there is a store, which is kept)\n" },
	{ "enroll", "[--days N] [-o DIR | --token [--for TIME]] HOST\n" },
	{ "join", "[-o DIR] URL TOKEN\n" },
	{ "revoke", "HOST\n" },
	{ "hosts", "\n" },
};

int
cmd_usage(const char *word, FILE *to)
{
	size_t i;

	for (i = 0; i < sizeof(usages) / sizeof(usages[0]); i++)
		if (strcmp(usages[i].word, word) == 0)
			fprintf(to, "usage: narrows %s%s%s", word,
			    usages[i].text[0] != '\n' ? " " : "", usages[i].text);
	return to == stdout ? 0 : 2;
}
