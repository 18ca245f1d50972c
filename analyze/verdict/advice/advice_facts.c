/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts that rules are about. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/advice/advice.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

enum {
	OTHERS_NAMED = 3,
	FACTS_MAX = 8192,
	VALUE_BYTES = 64,
	FEW_RETRANS = 10,
	SMALL_FILE_BYTES = 1 << 18
};
/* The share of the time for which a window or buffer holds a connection by the kernel's account,
 * and the round trip from which on a larger one is worth a try. */
static const double HELD_SHARE = 0.25, HELD_RTT_S = 0.005;
/* Of workers: the part of their held time on a processor; the least share that bounds a gain by the
 * next limit; the part of a processor that counts for one; the least gain worth a card. */
static const double COMPUTING_SHARE = 0.7, NEXT_SHARE = 0.1, PROCESSOR_PART = 0.25,
		    WORKERS_GAIN = 1.2;

static void
fact_add(struct facts *f, const char *name, const char *value)
{
	f->fact = xreallocarray(f->fact, f->n + 1, sizeof(*f->fact));
	f->fact[f->n++] = (struct fact){ xstrdup(name), xstrdup(value) };
}

void
facts_put(struct facts *f, const char *name, const char *value)
{
	if (value != NULL && f->n < FACTS_MAX)
		fact_add(f, name, value);
}

static void
number_put(struct facts *f, const char *name, double v)
{
	char text[VALUE_BYTES];

	if (!isfinite(v))
		return;
	snprintf(text, sizeof(text), "%.3g", v);
	facts_put(f, name, v == floor(v) && fabs(v) < 1e15 ? fmt_int((int64_t)v).s : text);
}

const char *
facts_get(const struct facts *f, const char *name)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (strcmp(f->fact[i].name, name) == 0)
			return f->fact[i].value;
	return NULL;
}

void
facts_clear(struct facts *f)
{
	while (f->n > 0) {
		free(f->fact[--f->n].name);
		free(f->fact[f->n].value);
	}
	free(f->fact);
	*f = (struct facts){ 0 };
}

/* --- of the document --- */

struct sent { /* by the connections that carried the bytes */
	double n, bytes, retrans, rtt_s, busy_s, window_s, buffer_s;
};

/* Which of the two held the connections: by the verdict's cause, else by the kernel's account where
 * hardly a segment was lost, for on a busy host the sender does not fill a small buffer all the
 * time. */
static void
held_put(struct facts *f, const struct sent *s, const json_t *verdict)
{
	const char *cause = result_text(verdict, KEY_verdict_cause),
		   *stage = result_text(verdict, KEY_verdict_stage);

	if (cause != NULL && (strcmp(cause, "window") == 0 || strcmp(cause, "buffer") == 0))
		facts_put(f, "held_by", cause);
	else if ((cause == NULL || strcmp(cause, "reader") != 0) && stage != NULL &&
	    strncmp(stage, "net", 3) == 0 && s->retrans < FEW_RETRANS && s->rtt_s > HELD_RTT_S &&
	    fmax(s->window_s, s->buffer_s) >= HELD_SHARE * s->busy_s && s->busy_s > 0)
		facts_put(f, "held_by", s->window_s > s->buffer_s ? "window" : "buffer");
}

static void
connections_put(struct facts *f, const json_t *session, const json_t *verdict)
{
	struct sent s = { .rtt_s = INFINITY };
	const json_t *o;
	size_t i;

	json_array_foreach(result_list(session, KEY_session_connections), i, o)
	{
		double out = result_number(o, KEY_connection_bytes_out);

		if (!(out > 1e6) || out < result_number(o, KEY_connection_bytes_in))
			continue;
		s.n++;
		s.bytes += out;
		s.retrans += fmax(0, result_number(o, KEY_connection_retrans));
		s.rtt_s = fmin(s.rtt_s, result_number(o, KEY_connection_rtt_min_s));
		s.busy_s += fmax(0, result_number(o, KEY_connection_busy_s));
		s.window_s += fmax(0, result_number(o, KEY_connection_rwnd_limited_s));
		s.buffer_s += fmax(0, result_number(o, KEY_connection_sndbuf_limited_s));
	}
	held_put(f, &s, verdict);
	if (s.n == 0)
		return;
	number_put(f, "streams", s.n);
	number_put(f, "retrans", s.retrans);
	number_put(f, "retrans_per_gb", round(s.retrans / (s.bytes / 1e9)));
	number_put(f, "rtt_ms", s.rtt_s * 1e3);
}

/* The mean size of the files; and the files that opening slows, with their share of the
 * session's bytes: the greater of what was read from such files and written to such files, for a
 * copy does both; and the time that a file of such a size takes at the session's rate. A sender of
 * many files names a few, and adds up the rest as "?". */
static void
files_put(struct facts *f, const json_t *session)
{
	const json_t *list = result_list(session, KEY_session_files), *o;
	double moved[2] = { 0, 0 }, read, written, sum = 0, n = 0;
	double every_sum = 0, every_n = 0, all = result_number(session, KEY_session_bytes),
	       rate = result_number(session, KEY_session_bytes_per_s);
	size_t i;

	json_array_foreach(list, i, o)
	{
		const char *path = result_text(o, KEY_file_path);
		bool rest = path != NULL && strcmp(path, "?") == 0;

		read = fmax(0, result_number(o, KEY_file_read_bytes));
		written = fmax(0, result_number(o, KEY_file_write_bytes));
		if (fmax(read, written) > 0 && !rest) {
			every_sum += fmax(read, written);
			every_n++;
		}
		if (!(fmax(read, written) > 0) ||
		    (!rest && fmax(read, written) >= SMALL_FILE_BYTES))
			continue;
		moved[0] += read;
		moved[1] += written;
		if (!rest) {
			sum += fmax(read, written);
			n++;
		}
	}
	if (every_n > 0)
		number_put(f, "mean_file_bytes", round(every_sum / every_n));
	number_put(f, "small_files", n);
	if (n > 0)
		number_put(f, "mean_small_file_bytes", round(sum / n));
	if (n > 0 && rate > 0)
		number_put(f, "small_file_ms", 1e3 * sum / n / rate);
	if (n > 0 && all > 0)
		number_put(
		    f, "small_files_percent", round(100 * fmin(1, fmax(moved[0], moved[1]) / all)));
}

/* "rsync in session 12, programs outside of all sessions". */
static void
others_name(const json_t *o, char *out, size_t size)
{
	const char *join = *out != '\0' ? ", " : "";
	const size_t len = strlen(out);
	const double session = result_number(o, KEY_other_session);
	const char *program = result_text(o, KEY_other_program);

	if (session >= 1)
		snprintf(out + len, size - len, "%s%.60s in session %.0f", join,
		    program != NULL ? program : "a program", session);
	else
		snprintf(out + len, size - len, "%sprograms outside of all sessions", join);
}

static void
others_put(struct facts *f, const json_t *verdict)
{
	char names[OTHERS_NAMED * 128] = "";
	const json_t *o;
	double share = 0;
	size_t i;

	json_array_foreach(result_list(verdict, KEY_verdict_others), i, o)
	{
		share += fmax(0, result_number(o, KEY_other_share));
		if (i == 0)
			facts_put(f, "other_resource", result_text(o, KEY_other_resource));
		if (i < OTHERS_NAMED)
			others_name(o, names, sizeof(names));
	}
	if (names[0] != '\0')
		facts_put(f, "others", names);
	if (share > 0)
		number_put(f, "others_percent", round(100 * fmin(1, share)));
}

static void
clocks_put(struct facts *f, const json_t *session)
{
	const json_t *list = result_list(session, KEY_session_hosts), *o;
	double worst = NAN;
	size_t i;

	json_array_foreach(list, i, o) worst =
	    fmax(worst, result_number(result_get(o, KEY_session_host_clock), KEY_clock_bound_s));
	number_put(f, "n_hosts", (double)json_array_size(list));
	number_put(f, "clock_bound_ms", worst * 1e3);
}

static void
document_put(struct facts *f, const json_t *doc)
{
	const json_t *s = result_get(doc, KEY_result_session),
		     *v = result_get(doc, KEY_result_verdict);
	double rate = result_number(s, KEY_session_bytes_per_s);

	facts_put(f, "stage", result_text(v, KEY_verdict_stage));
	facts_put(f, "cause", result_text(v, KEY_verdict_cause));
	facts_put(f, "confidence", result_text(v, KEY_verdict_confidence));
	facts_put(f, "program", result_text(s, KEY_session_program));
	number_put(f, "rate", rate);
	number_put(f, "packets_per_s", round(rate / 1448));
	connections_put(f, s, v);
	files_put(f, s);
	others_put(f, v);
	clocks_put(f, s);
}

/* The share of a host's processors in use over the session; NaN if unknown. */
static double
busy_of(const struct evidence *e, const struct evidence_host *h)
{
	double sum = 0, n = 0;
	size_t i;

	for (i = 0; h->cpu_busy != NULL && i < e->n_windows; i++)
		if (isfinite(h->cpu_busy[i])) {
			sum += h->cpu_busy[i];
			n++;
		}
	return n > 0 ? sum / n : NAN;
}

/* Workers that compute hold the bytes, and other processors are free: as many more as these have
 * room for, and at most as many as the next limit of the chain can take. By the capacity of workers
 * (their number over their held share, for they may wait, too) follows the gain. */
static void
workers_put(struct facts *f, const struct evidence *e, const json_t *doc)
{
	const json_t *chain = result_get(doc, KEY_result_chain),
		     *limit = result_get(chain, KEY_chain_limit), *node;
	const char *host, *count = facts_get(f, "at.cpu.count");
	double n, held, cpu, next, more, busy = NAN;
	size_t i;

	if (count == NULL || !json_is_integer(limit))
		return;
	node =
	    json_array_get(result_list(chain, KEY_chain_nodes), (size_t)json_integer_value(limit));
	n = result_number(node, KEY_chain_node_processes);
	held = result_number(node, KEY_chain_node_held_share);
	cpu = result_number(node, KEY_chain_node_cpu_share);
	host = result_text(node, KEY_chain_node_host);
	for (i = 0; i < e->n_hosts && host != NULL; i++)
		if (strcmp(e->hosts[i].name, host) == 0)
			busy = busy_of(e, &e->hosts[i]);
	if (!json_is_true(result_get(node, KEY_chain_node_workers)) || !isfinite(busy) ||
	    !(cpu >= COMPUTING_SHARE * held))
		return;
	next = fmax(NEXT_SHARE, result_number(chain, KEY_chain_second_share));
	busy = floor(strtod(count, NULL) * (1 - busy) + PROCESSOR_PART);
	more = fmin(n + busy, ceil(n * held / next));
	if (fmin(more / (n * held), 1 / next) < WORKERS_GAIN)
		return;
	number_put(f, "workers", n);
	number_put(f, "more_workers", more);
	number_put(f, "free_processors", busy);
	number_put(f, "workers_percent", round(100 * cpu));
	facts_put(f, "workers_name", result_text(node, KEY_chain_node_name));
	number_put(f, "gain.more-workers", fmin(more / (n * held), 1 / next));
}

/* --- settings --- */

struct place {
	struct facts *f;
	const char *role;   /* src, dst or at */
	char interface[64]; /* carried most of the session's bytes; "": unknown */
	char mount[256];    /* mount point of the session's files on the host; "": unknown */
	char disk[64];      /* device below it; "": unknown */
};

/* A network interface that leads out of the host. */
static bool
is_outside(const char *interface)
{
	static const char *const inside[] = { "lo.", "docker", "veth", "br-", "virbr", "cni", "tun",
		"ifb", "dummy" };
	size_t i;

	for (i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
		if (strncmp(interface, inside[i], strlen(inside[i])) == 0)
			return false;
	return true;
}

/* "src.net.*.mtu" for "net.eth0.mtu" of the sending host. */
static void
starred_put(const struct place *p, const char *group, const char *rest, const char *value)
{
	char name[256];

	snprintf(name, sizeof(name), "%s.%s.*.%.120s", p->role, group, rest);
	if (facts_get(p->f, name) == NULL)
		facts_put(p->f, name, value);
}

/* Names that cannot be taken for more than a name by a shell. */
static void
thing_put(const struct place *p, const char *what, const char *name)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@-";
	char fact[64];

	if (*name == '\0' || *name == '-' || name[strspn(name, plain)] != '\0')
		return;
	snprintf(fact, sizeof(fact), "%s.%s", p->role, what);
	facts_put(p->f, fact, name);
}

/* Whether a setting "net.INTERFACE.rest" is of the interface that counts: the one that carried the
 * bytes, else the first that leads out of the host. */
static bool
interface_counts(struct place *p, const char *name)
{
	size_t len = strcspn(name, ".");

	if (p->interface[0] == '\0' && len < sizeof(p->interface) && is_outside(name)) {
		snprintf(p->interface, sizeof(p->interface), "%.*s", (int)len, name);
		thing_put(p, "interface", p->interface);
	}
	len = strlen(p->interface);
	return len > 0 && strncmp(name, p->interface, len) == 0 && name[len] == '.';
}

static void
setting_put(struct place *p, const struct fact *s)
{
	char name[256];
	size_t len;

	snprintf(name, sizeof(name), "%s.%.200s", p->role, s->name);
	facts_put(p->f, name, s->value);
	if (strncmp(s->name, "net.", 4) == 0 && interface_counts(p, s->name + 4))
		starred_put(p, "net", s->name + 4 + strlen(p->interface) + 1, s->value);
	len = strlen(p->disk);
	if (len > 0 && strncmp(s->name, "disk.", 5) == 0 &&
	    strncmp(s->name + 5, p->disk, len) == 0 && s->name[5 + len] == '.')
		starred_put(p, "disk", s->name + 5 + len + 1, s->value);
	len = strlen(p->mount);
	if (len > 0 && strncmp(s->name, "mount.", 6) == 0 &&
	    strncmp(s->name + 6, p->mount, len) == 0 && s->name[6 + len] == '.')
		starred_put(p, "mount", s->name + 6 + len + 1, s->value);
}

/* Looks for the mount point that is the longest beginning of the path, and its device. */
struct mount_search {
	const char *path;
	char mount[256], source[256];
};

static void
mount_look(struct mount_search *m, const struct fact *s)
{
	static const char end[] = ".source";
	size_t len = strlen(s->name), point;

	if (strncmp(s->name, "mount.", 6) != 0 || len < 6 + sizeof(end) ||
	    strcmp(s->name + len - sizeof(end) + 1, end) != 0)
		return;
	point = len - 6 - (sizeof(end) - 1);
	if (point >= sizeof(m->mount) || point < strlen(m->mount) ||
	    strncmp(m->path, s->name + 6, point) != 0 ||
	    (point > 1 && m->path[point] != '/' && m->path[point] != '\0'))
		return;
	memcpy(m->mount, s->name + 6, point);
	m->mount[point] = '\0';
	snprintf(m->source, sizeof(m->source), "%s", s->value);
}

/* "sda" of "/dev/sda1", "nvme0n1" of "/dev/nvme0n1p2". */
static void
disk_name(const char *source, char *disk, size_t size)
{
	const char *base = strrchr(source, '/');
	size_t len;

	snprintf(disk, size, "%.60s", base != NULL ? base + 1 : source);
	len = strlen(disk);
	while (len > 0 && disk[len - 1] >= '0' && disk[len - 1] <= '9')
		len--;
	if (len > 1 && disk[len - 1] == 'p' && disk[len - 2] >= '0' && disk[len - 2] <= '9')
		disk[len - 1] = '\0';
	else if (strncmp(disk, "nvme", 4) != 0)
		disk[len] = '\0';
}

/* The interface that carried most of the session's bytes on the host; NULL: unknown. */
static const char *
interface_on(const struct evidence *e, size_t host)
{
	const struct evidence_use *u;
	const char *most = NULL;
	double bytes, most_bytes = 0;
	size_t i;

	for (u = e->uses; u < e->uses + e->n_uses; u++) {
		if (u->session_id != e->session_id || u->host != host || !u->link ||
		    u->place == NULL)
			continue;
		for (bytes = 0, i = 0; i < e->n_windows; i++)
			bytes += fmax(0, u->in[i]) + fmax(0, u->out[i]);
		if (bytes > most_bytes) {
			most_bytes = bytes;
			most = u->place;
		}
	}
	return most;
}

static const char *
path_on(const json_t *doc, const char *host)
{
	const json_t *o;
	size_t i;

	json_array_foreach(result_list(result_get(doc, KEY_result_session), KEY_session_files), i,
	    o) if (host != NULL && result_text(o, KEY_file_host) != NULL &&
	    strcmp(result_text(o, KEY_file_host), host) == 0) return result_text(o, KEY_file_path);
	return NULL;
}

/* The directory of the session's first file on the host. */
static void
directory_put(const struct place *p, const char *path)
{
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;
	char directory[256];

	if (slash == NULL || (size_t)(slash - path) >= sizeof(directory))
		return;
	snprintf(
	    directory, sizeof(directory), "%.*s", slash > path ? (int)(slash - path) : 1, path);
	thing_put(p, "directory", directory);
}

/* The settings of a host as facts by their own names: a host may have several roles. */
struct known {
	struct facts *hosts; /* by host of the evidence */
	bool *is_read;
};

static int
on_known(void *arg, const struct nw_setting_rec *s)
{
	fact_add(arg, s->name, s->value);
	return 0;
}

static int
host_read(struct known *k, struct store_reader *r, const struct evidence *e, size_t host)
{
	/* a change is told at a look at the session's begin, seconds later */
	int64_t t = e->last_wall_ns != 0 ? e->last_wall_ns : e->opened_wall_ns;

	if (k->is_read[host])
		return NW_OK;
	k->is_read[host] = true;
	return store_config_at(r, e->hosts[host].id, t, on_known, &k->hosts[host]);
}

static int
host_put(struct facts *f, struct store_reader *r, const struct evidence *e, const json_t *doc,
    const char *role, const char *host, struct known *k)
{
	struct place p = { .f = f, .role = role };
	struct mount_search m = { .path = path_on(doc, host) };
	const struct fact *s;
	const char *interface;
	char fact[16];
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < e->n_hosts && host != NULL && rc == NW_OK; i++) {
		if (strcmp(e->hosts[i].name, host) != 0)
			continue;
		rc = host_read(k, r, e, i);
		for (s = k->hosts[i].fact; m.path != NULL && s < k->hosts[i].fact + k->hosts[i].n;
		     s++)
			mount_look(&m, s);
		snprintf(p.mount, sizeof(p.mount), "%s", m.mount);
		disk_name(m.source, p.disk, sizeof(p.disk));
		interface = interface_on(e, i);
		snprintf(
		    p.interface, sizeof(p.interface), "%s", interface != NULL ? interface : "");
		thing_put(&p, "interface", p.interface);
		thing_put(&p, "device", p.disk);
		thing_put(&p, "mountpoint", p.mount);
		directory_put(&p, m.path);
		snprintf(fact, sizeof(fact), "%s_host", role);
		facts_put(f, fact, host);
		for (s = k->hosts[i].fact; s < k->hosts[i].fact + k->hosts[i].n; s++)
			setting_put(&p, s);
	}
	return rc;
}

static const char *
host_with_role(const json_t *doc, const char *role)
{
	const json_t *o;
	size_t i;

	json_array_foreach(result_list(result_get(doc, KEY_result_session), KEY_session_hosts), i,
	    o) if (result_text(o, KEY_session_host_role) != NULL &&
	    strcmp(result_text(o, KEY_session_host_role), role) == 0) return result_text(o,
	    KEY_session_host_name);
	return NULL;
}

/* The host of the program that held the bytes longest; NULL where none did. */
static const char *
host_of_chain(const json_t *doc)
{
	const json_t *chain = result_get(doc, KEY_result_chain),
		     *limit = result_get(chain, KEY_chain_limit);

	if (!json_is_integer(limit))
		return NULL;
	return result_text(
	    json_array_get(result_list(chain, KEY_chain_nodes), (size_t)json_integer_value(limit)),
	    KEY_chain_node_host);
}

/* The host of the limiting stage, or of the limit of the chain; NULL for a network path. */
static const char *
host_of_limit(const json_t *doc)
{
	const char *limit = result_text(result_get(doc, KEY_result_verdict), KEY_verdict_stage),
		   *stage;
	const json_t *o;
	size_t i;

	json_array_foreach(
	    result_list(result_get(doc, KEY_result_bottleneck), KEY_bottleneck_stages), i,
	    o) if (limit != NULL && (stage = result_text(o, KEY_stage_stage)) != NULL &&
	    strcmp(stage, limit) == 0) return result_text(o, KEY_stage_host);
	return host_of_chain(doc);
}

/* What follows from several facts. */
static void
derived_put(struct facts *f, const struct evidence *e, const json_t *doc)
{
	const char *a = facts_get(f, "src.net.*.mtu"), *b = facts_get(f, "dst.net.*.mtu"),
		   *rate = facts_get(f, "rate"),
		   *ends[2] = { facts_get(f, "src.net.*.speed"), facts_get(f, "dst.net.*.speed") };
	double slowest = INFINITY, speed;
	size_t i;

	if (a != NULL && b != NULL)
		facts_put(f, "mtu_differs", strcmp(a, b) != 0 ? "1" : "0");
	for (i = 0; i < 2; i++)
		if (ends[i] != NULL && (speed = strtod(ends[i], NULL)) > 0)
			slowest = fmin(slowest, speed * 1e6 / 8);
	if (isfinite(slowest) && rate != NULL)
		number_put(f, "link_share", strtod(rate, NULL) / slowest);
	workers_put(f, e, doc);
}

int
facts_read(struct store_reader *r, const struct evidence *e, const json_t *doc, struct facts *out)
{
	struct known k = { .hosts = xcalloc(e->n_hosts + 1, sizeof(*k.hosts)),
		.is_read = xcalloc(e->n_hosts + 1, sizeof(*k.is_read)) };
	size_t i;
	int rc;

	*out = (struct facts){ 0 };
	document_put(out, doc);
	if ((rc = host_put(out, r, e, doc, "src", host_with_role(doc, "source"), &k)) == NW_OK &&
	    (rc = host_put(out, r, e, doc, "dst", host_with_role(doc, "destination"), &k)) ==
		NW_OK &&
	    (rc = host_put(out, r, e, doc, "at", host_of_limit(doc), &k)) == NW_OK)
		derived_put(out, e, doc);
	for (i = 0; i < e->n_hosts; i++)
		facts_clear(&k.hosts[i]);
	free(k.hosts);
	free(k.is_read);
	if (rc < 0)
		facts_clear(out);
	return rc;
}
