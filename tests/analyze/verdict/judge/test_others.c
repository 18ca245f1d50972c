/* SPDX-License-Identifier: BSD-3-Clause */
/* Known users of a disk and of a link, and what is said of them; and when nothing is said. */
#include "analyze/verdict/judge/others.h"

#include <math.h>
#include <string.h>

#include "tests/check.h"

enum { WINDOWS = 10, LIMITING = 8 };

static double bytes[8][WINDOWS];
static size_t n_bytes;
static char disk[] = "sda", link_name[] = "eth0", host_a[] = "a", tar[] = "tar";

/* Most of the bytes fall into the limiting windows, none into the last two unless `late`. */
static double *
series(double sum, bool late)
{
	double *x = bytes[n_bytes++];
	int i;

	for (i = 0; i < WINDOWS; i++)
		x[i] = i < LIMITING ? sum / LIMITING : late ? 1e12 : 0;
	return x;
}

/* Bytes by all, by the session, and by session 17, in one direction. */
struct amounts {
	double all, own, other;
	const char *other_device;
	bool link, out;
	double unseen;
	bool unknown; /* whether no stage is known to limit */
};

static void
find(const struct amounts *a, struct others *out)
{
	static double free_share[WINDOWS];
	struct evidence_host hosts[2] = { { .name = host_a }, { .name = host_a } };
	struct evidence_use uses[3] = {
		{ .session_id = 0, .link = a->link, .place = a->link ? link_name : disk },
		{ .session_id = 5, .link = a->link, .place = a->link ? link_name : NULL },
		{ .session_id = 17,
		    .link = a->link,
		    .place = a->link ? link_name : NULL,
		    .program = tar },
	};
	struct evidence_use_file files[2] = { { .session_id = 5, .device = disk },
		{ .session_id = 17, .device = (char *)a->other_device } };
	struct evidence e = { .session_id = 5,
		.n_windows = WINDOWS,
		.hosts = hosts,
		.n_hosts = 2,
		.uses = uses,
		.n_uses = a->other > 0 ? 3 : 2,
		.use_files = files,
		.n_use_files = a->other > 0 ? 2 : 1 };
	struct judgement j = { .path = { .n = 1, .n_windows = WINDOWS, .has_sender = true },
		.limit = { .known = !a->unknown },
		.second = 1,
		.unseen = a->unseen };
	const double amount[3] = { a->all, a->own, a->other };
	int i;

	n_bytes = 0;
	for (i = 0; i < WINDOWS; i++)
		free_share[i] = i < LIMITING ? 0.1 : i == LIMITING ? 0.9 : NAN;
	j.path.stage[0].kind = a->link ? NW_STAGE_NETWORK
	    : a->out                   ? NW_STAGE_DISK_WRITE
				       : NW_STAGE_DISK_READ;
	j.path.stage[0].free_share = free_share;
	for (i = 0; i < 3; i++)
		*(a->out ? &uses[i].out : &uses[i].in) = series(amount[i], i == 0);
	for (i = 0; i < 2; i++)
		*(a->out ? &files[i].written : &files[i].read) = 1e6;
	others_find(&e, &j, out);
}

static const struct {
	const char *name;
	struct amounts amounts;
	const char *says[2]; /* sentences in their order */
} cases[] = {
	{ "other processes read", { .all = 100, .own = 40 },
	    { "The disk sda on a was also read by other processes: 60 % of the bytes read while it "
	      "limited." } },
	{ "another session", { .all = 100, .own = 38, .other = 60, .other_device = "sda" },
	    { "The disk sda on a was also read by tar of session 17: 60 % of the bytes read while "
	      "it limited." } },
	{ "both, the larger first", { .all = 100, .own = 20, .other = 30, .other_device = "sda" },
	    { "The disk sda on a was also read by other processes: 50 % of the bytes read while it "
	      "limited.",
		"The disk sda on a was also read by tar of session 17: 30 % of the bytes read "
		"while it limited." } },
	{ "the session reads another disk",
	    { .all = 100, .own = 98, .other = 60, .other_device = "sdb" }, { NULL } },
	{ "a small share", { .all = 100, .own = 87, .other = 12, .other_device = "sda" },
	    { NULL } },
	{ "nobody else", { .all = 100, .own = 99 }, { NULL } },
	{ "the total is less than its parts",
	    { .all = 100, .own = 80, .other = 60, .other_device = "sda" }, { NULL } },
	{ "the session reads elsewhere", { .all = 100, .own = 1 }, { NULL } },
	{ "no total", { .all = 0, .own = 50 }, { NULL } },
	{ "own bytes are unseen", { .all = 100, .own = 40, .unseen = 0.2 }, { NULL } },
	{ "no stage is known to limit", { .all = 100, .own = 40, .unknown = true }, { NULL } },
	{ "journals are written, too", { .all = 100, .own = 70, .out = true }, { NULL } },
	{ "other processes write", { .all = 100, .own = 30, .out = true },
	    { "The disk sda on a was also written by other processes: 70 % of the bytes written "
	      "while it limited." } },
	{ "frames of the session's own bytes", { .all = 100, .own = 90, .link = true, .out = true },
	    { NULL } },
	{ "other connections", { .all = 100, .own = 50, .link = true, .out = true },
	    { "The link eth0 of a also carried other connections: 48 % of the bytes sent while it "
	      "limited." } },
	{ "connections of a session",
	    { .all = 100, .own = 50, .other = 40, .link = true, .out = true },
	    { "The link eth0 of a also carried tar of session 17: 42 % of the bytes sent while it "
	      "limited." } },
};

int
main(void)
{
	struct others o;
	size_t i, k, n;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		find(&cases[i].amounts, &o);
		for (n = 0; n < 2 && cases[i].says[n] != NULL; n++)
			;
		if (o.n != n)
			fprintf(stderr, "%s\n", cases[i].name);
		CHECK_INT(o.n, n);
		for (k = 0; k < n && k < o.n; k++)
			CHECK_STR(o.other[k].sentence, cases[i].says[k]);
		others_clear(&o);
	}
	return check_done("test_others");
}
