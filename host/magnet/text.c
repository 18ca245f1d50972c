/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/text.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

struct ends {
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	unsigned sport, dport, protocol, ip_id;
	struct magnet_bytes bytes;
	int known;
};

/* Copies the payload of a flow; what an older release did not record is 0. */
static int
flow_get(const struct magnet_record *r, void *out, size_t size, size_t least)
{
	size_t n = r->size_bytes - sizeof(*r);

	if (r->size_bytes < sizeof(*r) + least)
		return 0;
	memset(out, 0, size);
	memcpy(out, r + 1, n < size ? n : size);
	return 1;
}

static void
ends_of(const struct magnet_record *r, struct ends *e)
{
	struct magnet_flow4 f4;
	struct magnet_flow6 f6;

	memset(e, 0, sizeof(*e));
	if (r->form == MAGNET_FLOW4 && flow_get(r, &f4, sizeof(f4), MAGNET_FLOW4_LEAST)) {
		inet_ntop(AF_INET, f4.src, e->src, sizeof(e->src));
		inet_ntop(AF_INET, f4.dst, e->dst, sizeof(e->dst));
		e->sport = f4.sport;
		e->dport = f4.dport;
		e->protocol = f4.protocol;
		e->ip_id = f4.ip_id;
		e->bytes = f4.bytes;
		e->known = 1;
	} else if (r->form == MAGNET_FLOW6 && flow_get(r, &f6, sizeof(f6), MAGNET_FLOW6_LEAST)) {
		inet_ntop(AF_INET6, f6.src, e->src, sizeof(e->src));
		inet_ntop(AF_INET6, f6.dst, e->dst, sizeof(e->dst));
		e->sport = f6.sport;
		e->dport = f6.dport;
		e->protocol = f6.protocol;
		e->bytes = f6.bytes;
		e->known = 1;
	}
}

static const char *
protocol_name(unsigned protocol)
{
	return protocol == 6 ? "tcp" : protocol == 17 ? "udp" : "ip";
}

void
text_head(FILE *f, enum text_form form)
{
	if (form == TEXT_CSV)
		fputs("t_ns,point,cpu,pid,tid,id,seq,value,protocol,src,sport,dst,dport,a,b,c,"
		      "ip_id,first,behind\n",
		    f);
	else if (form == TEXT_COLUMNS)
		fputs(
		    "time_s        source                     destination                protocol "
		    "length point\n",
		    f);
}

/* A record without a flow has three numbers; their meaning depends on the form. */
static int
numbers_of(const struct magnet_record *r, uint64_t n[3])
{
	const struct magnet_task *t = (const void *)(r + 1);
	const struct magnet_block *b = (const void *)(r + 1);
	const struct magnet_memory *m = (const void *)(r + 1);

	n[0] = n[1] = n[2] = 0;
	if (r->size_bytes < sizeof(*r) + sizeof(*t))
		return 0;
	if (r->form == MAGNET_TASK) {
		n[0] = t->pid;
		n[1] = t->tid;
		n[2] = t->other;
	} else if (r->form == MAGNET_BLOCK) {
		n[0] = b->device;
		n[1] = b->sector;
		n[2] = b->bytes;
	} else if (r->form == MAGNET_MEMORY) {
		n[0] = m->address;
		n[1] = m->error;
		n[2] = m->size;
	} else if (r->form == MAGNET_FIELDS) {
		memcpy(n, r + 1, sizeof(struct magnet_fields));
	} else {
		return 0;
	}
	return 1;
}

static void
csv_record(FILE *f, const char *name, int64_t t0_ns, const struct magnet_record *r)
{
	uint64_t n[3];
	struct ends e;

	ends_of(r, &e);
	fprintf(f, "%" PRId64 ",%s,%u,%u,%u,%" PRIu64 ",%u,%d,", (int64_t)r->t_mono_ns + t0_ns,
	    name, r->cpu, r->pid, r->tid, r->id, r->seq, r->value);
	if (e.known)
		fprintf(f, "%s,%s,%u,%s,%u,,,,%u,%u,%u\n", protocol_name(e.protocol), e.src,
		    e.sport, e.dst, e.dport, e.ip_id, e.bytes.first, e.bytes.behind);
	else if (numbers_of(r, n))
		fprintf(f, ",,,,,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",,,\n", n[0], n[1], n[2]);
	else
		fputs(",,,,,,,,,,\n", f);
}

static void
columns_record(FILE *f, const char *name, int64_t t0_ns, const struct magnet_record *r)
{
	char src[64], dst[64];
	struct ends e;

	ends_of(r, &e);
	if (!e.known)
		return;
	snprintf(src, sizeof(src), "%s:%u", e.src, e.sport);
	snprintf(dst, sizeof(dst), "%s:%u", e.dst, e.dport);
	fprintf(f, "%-13.9f %-26s %-26s %-8s %6d %s\n",
	    (double)((int64_t)r->t_mono_ns - t0_ns) / 1e9, src, dst, protocol_name(e.protocol),
	    r->value, name);
}

static void
line_record(FILE *f, const char *name, int64_t t0_ns, const struct magnet_record *r)
{
	uint64_t n[3];
	struct ends e;

	ends_of(r, &e);
	fprintf(f, "%.9f cpu=%u pid=%u tid=%u %s id=%" PRIu64 " value=%d",
	    (double)((int64_t)r->t_mono_ns - t0_ns) / 1e9, r->cpu, r->pid, r->tid, name, r->id,
	    r->value);
	if (e.known)
		fprintf(f, " %s %s:%u > %s:%u", protocol_name(e.protocol), e.src, e.sport, e.dst,
		    e.dport);
	if (e.known && e.ip_id != 0)
		fprintf(f, " ip_id=%u", e.ip_id);
	if (e.known && e.bytes.first != e.bytes.behind)
		fprintf(f, " bytes=%u..%u", e.bytes.first, e.bytes.behind);
	if (!e.known && numbers_of(r, n))
		fprintf(f, " %" PRIu64 " %" PRIu64 " %" PRIu64, n[0], n[1], n[2]);
	fputc('\n', f);
}

void
text_record(
    FILE *f, enum text_form form, const char *name, int64_t t0_ns, const struct magnet_record *r)
{
	if (form == TEXT_CSV)
		csv_record(f, name, t0_ns, r);
	else if (form == TEXT_COLUMNS)
		columns_record(f, name, t0_ns, r);
	else
		line_record(f, name, t0_ns, r);
}
