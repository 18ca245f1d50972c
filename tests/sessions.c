/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short XSP sessions, one after the other, for tests/sys_sessions.sh: open, HELLO with a new
 * provider and a new task, metadata, one document, close. Every other one is an original peer's,
 * without HELLO. Prints the box's resident KiB after each eighth. Built there. usage: sessions PORT
 * PID COUNT
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "narrows/doc.h"
#include "narrows/frame.h"

struct out {
	uint8_t bytes[8192];
	size_t len;
};

static void
add(struct out *o, uint16_t type, const uint8_t *sid, uint16_t block_type, const uint8_t *data,
    size_t len)
{
	const struct nw_block b = { .type = block_type, .sport = 1, .data = data, .len = len };
	long n = nw_frame_write(
	    o->bytes + o->len, sizeof(o->bytes) - o->len, 1, type, sid, &b, data != NULL);

	if (n > 0)
		o->len += (size_t)n;
}

static void
session_make(struct out *o, int number)
{
	static const char *const fields[] = { "sum_v", "count" };
	static const double values[] = { 1e6, 4 };
	const struct nw_kv subject[] = { { "type", NW_KV_TEXT, { .text = "disk" } } };
	char provider[40], task[40];
	const struct nw_kv hello[] = {
		{ "provider", NW_KV_TEXT, { .text = provider } },
		{ "first_seq", NW_KV_INT, { .i = 1 } },
		{ "host", NW_KV_TEXT, { .text = "h1" } },
		{ "task_id", NW_KV_TEXT, { .text = task } },
	};
	uint8_t sid[NW_SESS_ID_BYTES] = { 0 }, open[20];
	struct nw_doc_buf doc = { 0 };

	memcpy(sid, &number, sizeof(number));
	snprintf(provider, sizeof(provider), "00000000-0000-4000-8000-%012d", number);
	snprintf(task, sizeof(task), "task-%d", number);
	o->len = 0;
	add(o, NW_MSG_AUTH_TYPE, sid, NW_BLOCK_AUTH_TYP, (const uint8_t *)"ANON\0\0\0\0\0", 10);
	nw_open_write(open, sid);
	add(o, NW_MSG_SESS_OPEN, sid, NW_BLOCK_HOP, open, sizeof(open));
	if (number % 2 == 0 && nw_kv_encode(&doc, hello, 4) == 0)
		add(o, NW_MSG_APP_DATA, sid, NW_OPT_HELLO, doc.data, doc.len);
	if (nw_meta_encode(
		&doc, "m", NULL, "nl:tools:calipers:summary:read", subject, 1, NULL, 0) == 0)
		add(o, NW_MSG_APP_DATA, sid, NW_OPT_META, doc.data, doc.len);
	if (nw_data_encode(&doc, "m", 1700000000000000000, fields, values, 2, NULL, 0) == 0)
		add(o, NW_MSG_APP_DATA, sid, NW_OPT_DATA, doc.data, doc.len);
	add(o, NW_MSG_SESS_CLOSE, sid, 0, NULL, 0);
	nw_doc_buf_clear(&doc);
}

/* Sends all of it and hears the box out; a reset at the end keeps our ports free for the next
 * ones. */
static int
session_run(const struct sockaddr_in *sa, const struct out *o)
{
	const struct linger reset = { 1, 0 };
	int fd = socket(AF_INET, SOCK_STREAM, 0), rc = -1;
	char answer[4096];
	ssize_t n = 1;

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 &&
	    write(fd, o->bytes, o->len) == (ssize_t)o->len && shutdown(fd, SHUT_WR) == 0) {
		while (n > 0)
			n = read(fd, answer, sizeof(answer));
		rc = (int)n;
	}
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
	return rc;
}

static long
resident_kib(int pid)
{
	char line[256];
	long kib = 0;
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/status", pid);
	if ((f = fopen(line, "r")) == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "VmRSS: %ld", &kib);
	fclose(f);
	return kib;
}

int
main(int argc, char **argv)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	static struct out o;
	int count, i;

	if (argc < 4)
		return 2;
	sa.sin_port = htons((uint16_t)atoi(argv[1]));
	count = atoi(argv[3]);
	for (i = 1; i <= count; i++) {
		session_make(&o, i);
		if (session_run(&sa, &o) < 0) {
			perror("session");
			return 1;
		}
		if (i % (count / 8) == 0)
			printf("%ld\n", resident_kib(atoi(argv[2])));
	}
	return 0;
}
