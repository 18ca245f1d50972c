/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/stream.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"

/* Frequency of the cycle counter by the kernel's boot; 0 where the kernel says nothing. */
static uint64_t
tsc_khz(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/cpu0/tsc_freq_khz", "re");
	unsigned long long khz = 0;

	if (f != NULL) {
		if (fscanf(f, "%llu", &khz) != 1)
			khz = 0;
		fclose(f);
	}
	return khz;
}

static void
name_fill(struct magnet_point_name *n, const struct point *p, const struct candidate *c)
{
	n->id = p->id;
	snprintf(n->layer, sizeof(n->layer), "%s", p->layer);
	snprintf(n->name, sizeof(n->name), "%s", p->name);
	snprintf(n->fidelity, sizeof(n->fidelity), "%s", fidelity_name(c->fidelity));
	snprintf(n->backend, sizeof(n->backend), "%s", c->where);
}

/* A point of a user; false if there is none that is on. */
static bool
user_fill(struct magnet_point_name *n, struct kernel *k, uint32_t id)
{
	const char *where, *name = kernel_user_name(k, id, &where);

	if (name == NULL || !kernel_control(k)->on[id])
		return false;
	n->id = id;
	snprintf(n->layer, sizeof(n->layer), "user");
	snprintf(n->name, sizeof(n->name), "%s", name);
	snprintf(n->fidelity, sizeof(n->fidelity), "exact");
	snprintf(n->backend, sizeof(n->backend), "%.23s", where);
	return true;
}

int
stream_begin(FILE *f, struct kernel *k)
{
	struct magnet_point_name names[MAGNET_POINTS_MAX] = { 0 };
	struct magnet_stream h = { .byte_order = MAGNET_BYTE_ORDER, .header_bytes = sizeof(h) };
	const struct candidate *c;
	const struct point *p;
	uint32_t id;

	memcpy(h.magic, MAGNET_MAGIC, sizeof(h.magic));
	for (p = points; p->layer != NULL; p++)
		if ((c = kernel_point_candidate(k, p)) != NULL && kernel_control(k)->on[p->id])
			name_fill(&names[h.n_points++], p, c);
	for (id = MAGNET_USER_POINTS_FIRST; id < MAGNET_POINTS_MAX; id++)
		h.n_points += user_fill(&names[h.n_points], k, id);
	h.t_mono_ns = (uint64_t)nw_mono_ns();
	h.t_wall_ns = (uint64_t)nw_wall_ns();
	h.tsc_khz = tsc_khz();
	h.n_cpus = (uint32_t)kernel_cpus(k);
	fwrite(&h, sizeof(h), 1, f);
	fwrite(names, sizeof(names[0]), h.n_points, f);
	return ferror(f) ? NW_EIO : NW_OK;
}

int
stream_counts(FILE *f, struct kernel *k)
{
	struct {
		struct magnet_record r;
		struct counts_of c[MAGNET_POINTS_MAX];
	} out = { 0 };
	uint32_t point;
	size_t n = 0;

	for (point = 1; point < MAGNET_POINTS_MAX; point++) {
		if (!kernel_control(k)->on[point])
			continue;
		out.c[n].point = point;
		kernel_counts(k, point, &out.c[n++].counts);
	}
	out.r.size_bytes = (uint16_t)(sizeof(out.r) + n * sizeof(out.c[0]));
	out.r.form = MAGNET_BYTES;
	out.r.t_mono_ns = (uint64_t)nw_mono_ns();
	out.r.value = (int32_t)n;
	fwrite(&out, out.r.size_bytes, 1, f);
	return ferror(f) ? NW_EIO : NW_OK;
}

size_t
stream_counts_of(const struct magnet_record *r, const struct counts_of **out)
{
	*out = (const void *)(r + 1);
	return r->point == POINT_STREAM ? (r->size_bytes - sizeof(*r)) / sizeof(**out) : 0;
}

/* A file of others names no line's end. */
static void
control_bytes_replace(char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (text[i] != '\0' && iscntrl((unsigned char)text[i]))
			text[i] = '?';
}

int
stream_open(struct stream_reader *s, FILE *f, const char **why)
{
	struct magnet_point_name name;
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->file = f;
	if (fread(&s->header, sizeof(s->header), 1, f) != 1 ||
	    memcmp(s->header.magic, MAGNET_MAGIC, sizeof(s->header.magic)) != 0) {
		*why = "this is not a recorded stream of kernel events";
		return NW_EPROTO;
	}
	if (s->header.byte_order != MAGNET_BYTE_ORDER) {
		*why = "a host of another byte order recorded this stream";
		return NW_EPROTO;
	}
	if (s->header.header_bytes != sizeof(s->header) || s->header.n_points > MAGNET_POINTS_MAX) {
		*why = "the stream's header is of another version";
		return NW_EVERSION;
	}
	for (i = 0; i < s->header.n_points; i++) {
		if (fread(&name, sizeof(name), 1, f) != 1) {
			*why = "the stream ends within its header";
			return NW_ECORRUPT;
		}
		name.layer[sizeof(name.layer) - 1] = name.name[sizeof(name.name) - 1] = '\0';
		name.fidelity[sizeof(name.fidelity) - 1] = '\0';
		name.backend[sizeof(name.backend) - 1] = '\0';
		control_bytes_replace(name.name, sizeof(name.name));
		if (name.id < MAGNET_POINTS_MAX)
			s->names[name.id] = name;
	}
	s->record_cap = UINT16_MAX + 1;
	s->record = malloc(s->record_cap);
	*why = "out of memory";
	return s->record != NULL ? NW_OK : NW_ENOMEM;
}

int
stream_next(struct stream_reader *s, const char **why)
{
	struct magnet_record *r = s->record;
	size_t rest;

	if (fread(r, 1, sizeof(*r), s->file) != sizeof(*r)) {
		if (feof(s->file) && !ferror(s->file))
			return 0;
		*why = "the stream cannot be read";
		return NW_EIO;
	}
	if (r->size_bytes < sizeof(*r) || r->point >= MAGNET_POINTS_MAX) {
		*why = "a record of the stream has no sense";
		return NW_ECORRUPT;
	}
	rest = r->size_bytes - sizeof(*r);
	if (rest > 0 && fread(r + 1, rest, 1, s->file) != 1) {
		*why = "the stream ends within a record";
		return NW_ECORRUPT;
	}
	return 1;
}

void
stream_close(struct stream_reader *s)
{
	free(s->record);
	s->record = NULL;
}
