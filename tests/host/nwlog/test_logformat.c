/* SPDX-License-Identifier: BSD-3-Clause */
/* The formats in conf/ against lines of the programs, other lines, and faults of format files. */
#include "host/nwlog/logformat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "tests/check.h"

static struct logformat *
format_of(const char *path)
{
	static char text[8192];
	struct logformat *f = NULL;
	FILE *file = fopen(path, "re");
	const char *why;
	unsigned line;
	size_t n;

	CHECK(file != NULL);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	CHECK_INT(logformat_read(text, &f, &line, &why), NW_OK);
	return f;
}

static void
test_lines(void)
{
	static const struct {
		const char *format, *line, *event; /* NULL: no event */
	} cases[] = {
		{ "conf/log-nginx.conf",
		    "1795827864.123 192.0.2.7 40000 80 GET 200 31457552 79 0.512 \"/big \\x22a\"",
		    "ts=1795827864.123000000 event=transfer.http prog=nginx client=\"192.0.2.7\" "
		    "client_port=\"40000\" port=\"80\" method=\"GET\" status=\"200\" "
		    "bytes_out=\"31457552\" bytes_in=\"79\" seconds=\"0.512\" file=\"/big "
		    "?x22a\"" },
		{ "conf/log-nginx.conf", "", NULL },
		{ "conf/log-nginx.conf", "1795827864.123 a b c d e f g h \"no end", NULL },
		{ "conf/log-nginx-combined.conf",
		    "192.0.2.7 - - [28/Nov/2026:02:33:07 +0100] \"GET /big HTTP/1.1\" 200 5 \"-\" "
		    "\"curl/7.88.1\"",
		    "ts=1795829587.000000000 event=transfer.http prog=nginx client=\"192.0.2.7\" "
		    "user=\"-\" method=\"GET\" file=\"/big\" status=\"200\" bytes_out=\"5\"" },
		{ "conf/log-rclone.conf",
		    "{\"level\":\"info\",\"msg\":\"Copied "
		    "(new)\",\"object\":\"a/b\",\"objectType\":"
		    "\"*local.Object\",\"source\":\"operations/operations.go:560\",\"time\":"
		    "\"2026-11-28T01:33:07.25+00:00\"}",
		    "ts=1795829587.250000000 event=transfer.file prog=rclone how=\"new\" "
		    "file=\"a/b\"" },
		{ "conf/log-rclone.conf", "{\"level\":\"info\",\"msg\":\"There was nothing\"}",
		    NULL },
		{ "conf/log-vsftpd.conf",
		    "Sat Nov 28 01:33:07 2026 3 192.0.2.7 31457280 /pub/big b _ o a someone@ ftp 0 "
		    "* c",
		    "ts=1795829587.000000000 event=transfer.ftp prog=vsftpd seconds=\"3\" "
		    "client=\"192.0.2.7\" bytes=\"31457280\" file=\"/pub/big\" direction=\"o\" "
		    "access=\"a\" user=\"someone@\" status=\"c\"" },
		{ "conf/log-vsftpd.conf",
		    "Tue Dec  1 01:33:07 2026 3 192.0.2.7 1 /a b _ i r alice ftp 0 * i",
		    "ts=1796088787.000000000 event=transfer.ftp prog=vsftpd seconds=\"3\" "
		    "client=\"192.0.2.7\" bytes=\"1\" file=\"/a\" direction=\"i\" access=\"r\" "
		    "user=\"alice\" status=\"i\"" },
		{ "conf/log-vsftpd.conf", "Sat Nov 28 01:33:07 2026", NULL },
	};
	char out[1024];
	struct logformat *f;
	size_t i, len;
	int rc;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f = format_of(cases[i].format);
		len = strlen(cases[i].line);
		rc = logformat_line(f, cases[i].line, len, out, sizeof(out));
		if (cases[i].event == NULL) {
			CHECK_INT(rc, NW_ENOTFOUND);
		} else {
			CHECK_INT(rc, strlen(cases[i].event));
			CHECK_STR(out, cases[i].event);
			CHECK_INT(logformat_line(f, cases[i].line, len, out, 140), NW_ETOOBIG);
		}
		logformat_free(f);
	}
}

static void
test_faults(void)
{
	static const char *const bad[] = { "", "event a\nprogram b\ntime unix\n", "event a b\n",
		"time noon\n", "colour red\n", "event a\nprogram b\ntime unix\nline %{a}%{b}\n",
		"event a\nprogram b\ntime unix\nline %{a\n",
		"event a\nprogram b\ntime unix\nline x\n",
		"event a\nprogram b\ntime unix\nline %{} %{time}\n" };
	struct logformat *f;
	const char *why;
	unsigned line;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why = NULL;
		CHECK_INT(logformat_read(bad[i], &f, &line, &why), NW_EINVAL);
		CHECK(why != NULL);
	}
}

int
main(void)
{
	setenv("TZ", "UTC", 1);
	test_lines();
	test_faults();
	return check_done("logformat");
}
