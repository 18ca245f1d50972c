/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NFS: calls of this host to servers (/proc/net/rpc/nfs), bytes and times of each mount's reads and
 * writes (/proc/self/mountstats), and calls to this host (/proc/net/rpc/nfsd), all versions
 * together. A host without NFS has none of the files, and the probe looks again every 16 seconds. A
 * server that does not answer holds up nothing here: the kernel answers from its memory.
 */
#include "host/blipp/probe/probe.h"

#include <math.h>

#include "narrows/clock.h"
#include "narrows/err.h"

#define ABSENT_NS INT64_C(15500000000)

static const struct series_field client_fields[NFS_CLIENT_FIELDS] = {
	{ "calls", "{call}", true },
	{ "retransmitted", "{call}", true },
	{ "reads", "{call}", true },
	{ "writes", "{call}", true },
	{ "commits", "{call}", true },
	{ "getattrs", "{call}", true },
	{ "accesses", "{call}", true },
};
static const struct series_kind client_kind = { SERIES_PREFIX "nfs:client", NULL, client_fields,
	NFS_CLIENT_FIELDS };

static const struct series_field server_fields[NFS_SERVER_FIELDS] = {
	{ "calls", "{call}", true },
	{ "bad_calls", "{call}", true },
	{ "reads", "{call}", true },
	{ "writes", "{call}", true },
	{ "commits", "{call}", true },
	{ "getattrs", "{call}", true },
	{ "accesses", "{call}", true },
	{ "read_bytes", "By", true },
	{ "written_bytes", "By", true },
	{ "packets", "{packet}", true },
	{ "udp_packets", "{packet}", true },
	{ "tcp_packets", "{packet}", true },
	{ "connections", "{connection}", true },
	{ "replies_cached", "{call}", true },
	{ "replies_uncached", "{call}", true },
	{ "threads", "{thread}", false },
};
static const struct series_kind server_kind = { SERIES_PREFIX "nfs:server", NULL, server_fields,
	NFS_SERVER_FIELDS };

static const struct series_field mount_fields[NFS_MOUNT_FIELDS] = {
	{ "read_bytes", "By", true },
	{ "written_bytes", "By", true },
	{ "reads", "{call}", true },
	{ "reads_retransmitted", "{call}", true },
	{ "read_queue_ms", "ms", true },
	{ "read_rtt_ms", "ms", true },
	{ "read_ms", "ms", true },
	{ "writes", "{call}", true },
	{ "writes_retransmitted", "{call}", true },
	{ "write_queue_ms", "ms", true },
	{ "write_rtt_ms", "ms", true },
	{ "write_ms", "ms", true },
};
static const struct series_kind mount_kind = { SERIES_PREFIX "nfs:mount", "mountpoint",
	mount_fields, NFS_MOUNT_FIELDS };

/* Places of operations in the lines of counters; the first number of a line is their count. */
struct places {
	const char *line;
	unsigned read, write, commit, getattr, access;
};
static const struct places client_places[] = { { "proc2", 7, 9, 0, 2, 0 },
	{ "proc3", 7, 8, 22, 2, 5 }, { "proc4", 2, 3, 4, 19, 18 } };
static const struct places server_places[] = { { "proc2", 7, 9, 0, 2, 0 },
	{ "proc3", 7, 8, 22, 2, 5 }, { "proc4ops", 26, 39, 6, 10, 4 } };
enum { N_PLACES = sizeof(client_places) / sizeof(client_places[0]), NUMBERS = 96 };

struct nfs_probe {
	struct procfs_file client, mountstats, server;
	int64_t client_mono_ns, server_mono_ns; /* when an absent file is looked for again */
	struct series client_series, server_series;
	struct series_set mounts;
};

/* --- parsing --- */

/* Adds a line of operations to reads, writes, commits, getattrs and accesses, in this order. */
static void
operations_add(struct scan name, const uint64_t *v, const struct places *places, double *out)
{
	size_t i;

	for (i = 0; i < N_PLACES; i++)
		if (scan_is(name, places[i].line)) {
			const unsigned at[] = { places[i].read, places[i].write, places[i].commit,
				places[i].getattr, places[i].access };
			size_t k;

			for (k = 0; k < sizeof(at) / sizeof(at[0]); k++)
				if (at[k] > 0 && at[k] <= v[0])
					out[k] += (double)v[at[k]];
		}
}

bool
nfs_client_parse(struct scan text, double values[NFS_CLIENT_FIELDS])
{
	uint64_t v[NUMBERS];
	struct scan line, name;
	bool any = false;

	memset(values, 0, NFS_CLIENT_FIELDS * sizeof(*values));
	while (scan_line(&text, &line)) {
		if (!scan_word(&line, &name))
			continue;
		scan_numbers(&line, v, NUMBERS);
		operations_add(name, v, client_places, values + 2);
		if (!scan_is(name, "rpc"))
			continue;
		values[0] = (double)v[0];
		values[1] = (double)v[1];
		any = true;
	}
	return any;
}

/* One line of the server's file. */
static bool
server_line(struct scan name, const uint64_t *v, double values[NFS_SERVER_FIELDS])
{
	static const struct {
		const char *line;
		unsigned from, n, to;
	} plain[] = { { "rpc", 0, 2, 0 }, { "io", 0, 2, 7 }, { "net", 0, 4, 9 }, { "rc", 0, 1, 13 },
		{ "rc", 1, 1, 14 }, { "rc", 2, 1, 14 }, { "th", 0, 1, 15 } };
	size_t i, k;

	operations_add(name, v, server_places, values + 2);
	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		for (k = 0; k < plain[i].n && scan_is(name, plain[i].line); k++)
			values[plain[i].to + k] += (double)v[plain[i].from + k];
	return scan_is(name, "rpc");
}

bool
nfs_server_parse(struct scan text, double values[NFS_SERVER_FIELDS])
{
	uint64_t v[NUMBERS];
	struct scan line, name;
	bool any = false;

	memset(values, 0, NFS_SERVER_FIELDS * sizeof(*values));
	while (scan_line(&text, &line)) {
		if (!scan_word(&line, &name))
			continue;
		scan_numbers(&line, v, NUMBERS);
		any |= server_line(name, v, values);
	}
	return any;
}

/* "device SERVER:/DIR mounted on DIR with fstype nfs4 statvers=1.1" */
static bool
mount_begins(struct scan line, struct scan *mountpoint)
{
	static const char *const words[] = { "device", NULL, "mounted", "on", NULL, "with",
		"fstype" };
	struct scan word;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!scan_word(&line, &word) || (words[i] != NULL && !scan_is(word, words[i])))
			return false;
		if (i == 4)
			*mountpoint = word;
	}
	return scan_word(&line, &word) && (scan_is(word, "nfs") || scan_is(word, "nfs4"));
}

/* "READ: operations transmissions timeouts sent received queue_ms rtt_ms execute_ms" */
static void
mount_operation(struct scan line, double out[5])
{
	uint64_t v[8];

	scan_numbers(&line, v, 8);
	out[0] = (double)v[0];
	out[1] = v[1] > v[0] ? (double)(v[1] - v[0]) : 0;
	out[2] = (double)v[5];
	out[3] = (double)v[6];
	out[4] = (double)v[7];
}

bool
nfs_mount_next(struct scan *text, struct scan *mountpoint, double values[NFS_MOUNT_FIELDS])
{
	struct scan line, word, rest, next;
	uint64_t bytes[6];
	bool found = false;

	for (rest = *text; scan_line(&rest, &line); *text = rest) {
		if (!found) {
			if ((found = mount_begins(line, mountpoint)))
				memset(values, 0, NFS_MOUNT_FIELDS * sizeof(*values));
			continue;
		}
		next = line;
		if (!scan_word(&next, &word))
			continue;
		if (scan_is(word, "device"))
			return true; /* the next mount: its line stays */
		if (scan_is(word, "bytes:") && scan_numbers(&next, bytes, 6) == 6) {
			values[0] = (double)bytes[4];
			values[1] = (double)bytes[5];
		} else if (scan_is(word, "READ:")) {
			mount_operation(next, values + 2);
		} else if (scan_is(word, "WRITE:")) {
			mount_operation(next, values + 7);
		}
	}
	return found;
}

/* --- the probe --- */

/* Reads a file that may come later, with a module of the kernel. */
static bool
file_read(struct procfs_file *f, const char *path, int64_t *again_mono_ns, struct procfs_buf *buf,
    struct scan *text)
{
	int64_t now_mono_ns = nw_mono_ns();

	if (now_mono_ns < *again_mono_ns)
		return false;
	if (procfs_read(f, path, buf, text) == NW_OK)
		return true;
	*again_mono_ns = now_mono_ns + ABSENT_NS;
	return false;
}

static int
sample_mounts(struct nfs_probe *p, struct report *r, struct procfs_buf *buf)
{
	double values[NFS_MOUNT_FIELDS];
	struct scan text, mountpoint;
	struct series *s;
	int rc;

	if ((rc = procfs_read(&p->mountstats, "/proc/self/mountstats", buf, &text)) < 0)
		return rc;
	while (rc == NW_OK && nfs_mount_next(&text, &mountpoint, values)) {
		s = series_set_get(
		    &p->mounts, mountpoint.at, (size_t)(mountpoint.end - mountpoint.at));
		if (s != NULL && filter_takes(&r->filter, s->device))
			rc = series_send(s, &mount_kind, r, values);
	}
	series_set_sweep(&p->mounts, r);
	return rc;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	double client[NFS_CLIENT_FIELDS], server[NFS_SERVER_FIELDS];
	struct nfs_probe *p = state;
	struct scan text;
	int rc = NW_OK;

	if (file_read(&p->client, "/proc/net/rpc/nfs", &p->client_mono_ns, buf, &text)) {
		if (nfs_client_parse(text, client))
			rc = series_send(&p->client_series, &client_kind, r, client);
		if (rc == NW_OK)
			rc = sample_mounts(p, r, buf);
	}
	if (rc == NW_OK &&
	    file_read(&p->server, "/proc/net/rpc/nfsd", &p->server_mono_ns, buf, &text) &&
	    nfs_server_parse(text, server))
		rc = series_send(&p->server_series, &server_kind, r, server);
	return rc;
}

static void
clear(void *state)
{
	struct nfs_probe *p = state;

	procfs_close(&p->client);
	procfs_close(&p->mountstats);
	procfs_close(&p->server);
	series_set_clear(&p->mounts);
}

const struct probe probe_nfs = {
	.name = "nfs",
	.source = "/proc/net/rpc,/proc/self/mountstats",
	.event_type = SERIES_PREFIX "nfs",
	.kinds = { &client_kind, &mount_kind, &server_kind },
	.state_bytes = sizeof(struct nfs_probe),
	.sample = sample,
	.clear = clear,
};
