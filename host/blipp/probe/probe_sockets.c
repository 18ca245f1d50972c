/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /proc/net/sockstat and sockstat6: sockets in use by protocol, orphans, sockets in TIME_WAIT, and
 * memory (in pages). /proc/net/snmp6: all counters of IPv6, which has no lines in snmp.
 */
#include "host/blipp/probe/probe.h"

#include <stdio.h>
#include <string.h>

#include "narrows/err.h"

static const struct table_style sockets_style = { SERIES_PREFIX "network:sockets", "{socket}",
	false,
	(const struct table_alias[]){ { "TCP_mem", NULL, "{page}", false },
	    { "UDP_mem", NULL, "{page}", false }, { "FRAG_memory", NULL, "By", false },
	    { "FRAG6_memory", NULL, "By", false }, { NULL, NULL, NULL, false } },
	NULL };
static const struct table_style ip6_style = { SERIES_PREFIX "network:ip6", "1", true, NULL, NULL };

struct sockets_probe {
	struct procfs_file files[2];
	struct table table;
};
struct snmp6_probe {
	struct procfs_file file;
	struct table table;
};

/* Lines "TCP: inuse 5 orphan 0 ...": the field is the protocol and the word. */
void
sockets_parse(struct scan text, struct table *t)
{
	struct scan line, protocol, word;
	char name[TABLE_NAME_BYTES];
	uint64_t value;
	int len;

	while (scan_line(&text, &line)) {
		if (!scan_word(&line, &protocol) || protocol.end[-1] != ':')
			continue;
		while (scan_word(&line, &word) && scan_u64(&line, &value)) {
			len = snprintf(name, sizeof(name), "%.*s_%.*s",
			    (int)(protocol.end - protocol.at - 1), protocol.at,
			    (int)(word.end - word.at), word.at);
			if (len > 0 && (size_t)len < sizeof(name))
				table_put(t, scan_text(name, (size_t)len), (double)value, NULL);
		}
	}
}

static int
sample_sockets(void *state, struct report *r, struct procfs_buf *buf)
{
	static const char *const paths[] = { "/proc/net/sockstat", "/proc/net/sockstat6" };
	struct sockets_probe *p = state;
	struct scan text;
	int rc, i;

	if ((rc = table_begin(&p->table, &sockets_style)) < 0)
		return rc;
	for (i = 0; i < 2; i++) {
		if ((rc = procfs_read(&p->files[i], paths[i], buf, &text)) == NW_OK)
			sockets_parse(text, &p->table);
		else if (i == 0)
			return rc; /* a kernel without IPv6 lacks the second */
	}
	return table_send(&p->table, r);
}

static void
clear_sockets(void *state)
{
	struct sockets_probe *p = state;

	procfs_close(&p->files[0]);
	procfs_close(&p->files[1]);
	table_clear(&p->table);
}

void
snmp6_parse(struct scan text, struct table *t)
{
	struct scan line, name;
	uint64_t value;

	while (scan_line(&text, &line))
		if (scan_word(&line, &name) && scan_u64(&line, &value))
			table_put(t, name, (double)value, NULL);
}

static int
sample_snmp6(void *state, struct report *r, struct procfs_buf *buf)
{
	struct snmp6_probe *p = state;
	struct scan text;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/net/snmp6", buf, &text)) < 0 ||
	    (rc = table_begin(&p->table, &ip6_style)) < 0)
		return rc;
	snmp6_parse(text, &p->table);
	return table_send(&p->table, r);
}

static void
clear_snmp6(void *state)
{
	struct snmp6_probe *p = state;

	procfs_close(&p->file);
	table_clear(&p->table);
}

const struct probe probe_sockets = {
	.name = "sockets",
	.source = "/proc/net/sockstat,/proc/net/sockstat6",
	.event_type = SERIES_PREFIX "network:sockets",
	.state_bytes = sizeof(struct sockets_probe),
	.sample = sample_sockets,
	.clear = clear_sockets,
};
const struct probe probe_snmp6 = {
	.name = "snmp6",
	.source = "/proc/net/snmp6",
	.event_type = SERIES_PREFIX "network:ip6",
	.state_bytes = sizeof(struct snmp6_probe),
	.sample = sample_snmp6,
	.clear = clear_snmp6,
};
