/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A baseline on its way to the box: for each class, direction and size a series of the host,
 * `ps:tools:iomodel:baseline:read` or `:write`, with a single row. The row's histogram has the
 * durations, for the training of the box's models.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/iomodel/baseline_in.h"
#include "host/iomodel/matrix.h"
#include "host/lib/mount.h"
#include "host/lib/uuid.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/provider.h"
#include "narrows/xmalloc.h"

enum { OPS_MIN = 8 };
static const int64_t SEND_NS = 30000000000;

struct sender {
	const struct baseline_opts *opts;
	struct nw_provider *provider;
	struct mount mount;
	char id[UUID_BYTES]; /* of the baseline */
	int64_t now_wall_ns;
	struct durations d;
	size_t sent;
};

static const char *
name_given(const struct baseline_opts *o, const char *class)
{
	size_t i, n = strlen(class);

	for (i = 0; i < o->n_names; i++)
		if (strncmp(o->name[i], class, n) == 0 && o->name[i][n] == '=')
			return o->name[i] + n + 1;
	return NULL;
}

static struct nw_kv
text_kv(const char *key, const char *text)
{
	return (struct nw_kv){ .key = key, .type = NW_KV_TEXT, .v.text = text };
}

static int
size_send(struct sender *s, const char *class, bool write, uint64_t size)
{
	static const char *const fields[] = { "ops", "s" };
	const char *given = name_given(s->opts, class);
	struct nw_kv subject[] = { text_kv("type", "disk"), text_kv("resource", s->mount.point),
		text_kv("filesystem", s->mount.type), text_kv("device", s->mount.device) };
	struct nw_kv params[] = { text_kv("baseline", s->id), text_kv("class", class),
		text_kv("name", given != NULL ? given : class),
		text_kv("namedBy", given != NULL ? "administrator" : "baseline"),
		{ .key = "size", .type = NW_KV_INT, .v.i = (int64_t)size } };
	double values[] = { (double)s->d.n, s->d.sum_s };
	uint8_t packed[NW_HIST_ENCODED_MAX_BYTES];
	char id[UUID_BYTES];
	int rc;

	if ((rc = uuid_make(id)) < 0 ||
	    (rc = nw_provider_meta(s->provider, id, NULL,
		 write ? NW_TYPE_BASELINE "write" : NW_TYPE_BASELINE "read", subject, 4, params,
		 5)) < 0)
		return rc;
	s->sent++;
	rc = nw_provider_data(s->provider, id, s->now_wall_ns, fields, values, 2, packed,
	    nw_hist_encode(packed, s->d.counts));
	return rc < 0 ? rc : nw_provider_run(s->provider, 0);
}

/* Adds up the cells of a class and size, in all layouts. */
static void
size_collect(
    struct sender *s, const struct cell *like, const char *class, bool write, uint64_t size)
{
	char folder[BASELINE_FOLDER_BYTES];
	const struct condition *k;
	struct cell c;

	memset(&s->d, 0, sizeof(s->d));
	for (k = baseline_conditions; k < baseline_conditions + baseline_n_conditions; k++)
		if (k->write == write && strcmp(k->class, class) == 0 &&
		    baseline_cell(like, s->opts, k, size, &c, folder) && cell_is_done(&c))
			(void)durations_add(&s->d, folder, k->keep);
}

static bool
is_first_of_class(size_t k)
{
	size_t i;

	for (i = 0; i < k; i++)
		if (baseline_conditions[i].write == baseline_conditions[k].write &&
		    strcmp(baseline_conditions[i].class, baseline_conditions[k].class) == 0)
			return false;
	return true;
}

static int
classes_send(struct sender *s, const struct cell *like)
{
	size_t k, i;
	int rc = NW_OK;

	for (k = 0; k < baseline_n_conditions; k++)
		for (i = 0; i < matrix_n_sizes && rc >= 0 && is_first_of_class(k); i++) {
			size_collect(s, like, baseline_conditions[k].class,
			    baseline_conditions[k].write, matrix_sizes[i]);
			if (s->d.n >= OPS_MIN)
				rc = size_send(s, baseline_conditions[k].class,
				    baseline_conditions[k].write, matrix_sizes[i]);
		}
	return rc;
}

int
baseline_send(const struct cell *like, const struct baseline_opts *o)
{
	struct nw_provider_opts opts = {
		.box = o->box, .software = "iomodel", .queue_max_bytes = 16 << 20
	};
	struct sender *s = xcalloc(1, sizeof(*s));
	int rc;

	s->opts = o;
	s->now_wall_ns = nw_wall_ns();
	if ((rc = mount_find(like->file, &s->mount)) < 0)
		fprintf(stderr, "iomodel: %s: the mount is not known\n", like->file);
	else if ((rc = uuid_make(s->id)) == NW_OK &&
	    (rc = nw_provider_new(&opts, &s->provider)) == NW_OK) {
		rc = classes_send(s, like);
		if (nw_provider_close(s->provider, SEND_NS) < 0 && rc == NW_OK)
			rc = NW_EAGAIN;
	}
	if (rc < 0)
		fprintf(stderr,
		    "iomodel: the baseline could not be sent (%s); the same command sends it "
		    "again\n",
		    nw_strerror(rc));
	else
		fprintf(stderr, "iomodel: the box has %zu sizes of classes of %s\n", s->sent,
		    s->mount.point);
	free(s);
	return rc < 0;
}
