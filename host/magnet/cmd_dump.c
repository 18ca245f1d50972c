/* SPDX-License-Identifier: BSD-3-Clause */
/* magnet dump: shows a recorded stream as lines, CSV, or the columns of a packet capture. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/magnet/magnet_cmd.h"
#include "host/magnet/stream.h"
#include "host/magnet/text.h"

/* The wanted part of a stream: the kernel's filters, applied again. */
struct wanted {
	const char *points; /* names parted by commas, or NULL */
	uint64_t id, port, pid, cpu;
	bool by_id, by_port, by_pid, by_cpu;
};

static bool
name_listed(const char *list, const char *name)
{
	size_t len = strlen(name), n;

	for (; *list != '\0'; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (n == len && memcmp(list, name, n) == 0)
			return true;
	}
	return false;
}

static bool
ports_match(const struct magnet_record *r, uint64_t port)
{
	const struct magnet_flow4 *f = (const void *)(r + 1);

	if ((r->form != MAGNET_FLOW4 && r->form != MAGNET_FLOW6) || r->size_bytes < sizeof(*r) + 4)
		return false;
	if (port > 65535)
		return ((uint64_t)f->sport << 16 | f->dport) == port ||
		    ((uint64_t)f->dport << 16 | f->sport) == port;
	return f->sport == port || f->dport == port;
}

static bool
record_is_wanted(const struct wanted *w, const char *name, const struct magnet_record *r)
{
	return (w->points == NULL || name_listed(w->points, name)) &&
	    (!w->by_id || r->id == w->id) && (!w->by_pid || r->pid == w->pid) &&
	    (!w->by_cpu || r->cpu == w->cpu) && (!w->by_port || ports_match(r, w->port));
}

static int
filter_take(struct wanted *w, const char *text)
{
	static const char *const kinds[] = { "id=", "port=", "pid=", "cpu=" };
	uint64_t *const to[] = { &w->id, &w->port, &w->pid, &w->cpu };
	bool *const on[] = { &w->by_id, &w->by_port, &w->by_pid, &w->by_cpu };
	char *end;
	size_t i;

	for (i = 0; i < 4; i++) {
		if (strncmp(text, kinds[i], strlen(kinds[i])) != 0)
			continue;
		*to[i] = strtoull(text + strlen(kinds[i]), &end, 0);
		if (i == 1 && *end == ':')
			*to[i] = *to[i] << 16 | strtoull(end + 1, &end, 10);
		*on[i] = true;
		return *end == '\0' ? 0 : -1;
	}
	return -1;
}

static uint64_t
counts_print(const struct stream_reader *s)
{
	const struct counts_of *c;
	size_t n = stream_counts_of(s->record, &c), i;
	uint64_t lost = 0;

	for (i = 0; i < n; i++) {
		if (c[i].point >= MAGNET_POINTS_MAX)
			continue;
		lost += c[i].counts.lost;
		if (c[i].counts.lost > 0)
			fprintf(stderr, "magnet: %s: %" PRIu64 " of %" PRIu64 " lost\n",
			    s->names[c[i].point].name, c[i].counts.lost,
			    c[i].counts.kept + c[i].counts.lost);
	}
	return lost;
}

static int
dump(FILE *f, enum text_form form, const struct wanted *w)
{
	const char *why = "", *name;
	struct stream_reader s;
	uint64_t lost = 0;
	int64_t from;
	int rc;

	if ((rc = stream_open(&s, f, &why)) < 0)
		return fail("%s", why);
	from = form == TEXT_CSV ? (int64_t)(s.header.t_wall_ns - s.header.t_mono_ns)
				: (int64_t)s.header.t_mono_ns;
	text_head(stdout, form);
	while ((rc = stream_next(&s, &why)) == 1) {
		name = s.names[s.record->point].name;
		if (s.record->point == POINT_STREAM)
			lost += counts_print(&s);
		else if (record_is_wanted(w, name, s.record))
			text_record(stdout, form, name, from, s.record);
	}
	stream_close(&s);
	if (rc < 0)
		return fail("%s", why);
	return fflush(stdout) != 0 ? fail("%s", strerror(errno)) : lost > 0 ? EXIT_LOST : 0;
}

static int
dump_run(int argc, char **argv)
{
	enum text_form form = TEXT_LINES;
	struct wanted w = { 0 };
	FILE *f = stdin;
	int o, rc;

	while ((o = getopt(argc, argv, "p:f:F:")) != -1) {
		if (o == 'p')
			w.points = optarg;
		else if (o == 'F' && strcmp(optarg, "text") == 0)
			form = TEXT_LINES;
		else if (o == 'F' && strcmp(optarg, "csv") == 0)
			form = TEXT_CSV;
		else if (o == 'F' && strcmp(optarg, "columns") == 0)
			form = TEXT_COLUMNS;
		else if (o != 'f' || filter_take(&w, optarg) < 0)
			return usage(&magnet_cmd_dump);
	}
	if (argc - optind > 1)
		return usage(&magnet_cmd_dump);
	if (optind < argc && strcmp(argv[optind], "-") != 0 &&
	    (f = fopen(argv[optind], "re")) == NULL)
		return fail("%s: %s", argv[optind], strerror(errno));
	rc = dump(f, form, &w);
	if (f != stdin)
		fclose(f);
	return rc;
}

const struct command magnet_cmd_dump = { "dump",
	"dump [-F text|csv|columns] [-p POINTS] [-f id|port|pid|cpu=VALUE] [FILE]",
	"shows a recorded stream", dump_run };
