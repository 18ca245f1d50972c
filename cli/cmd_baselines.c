/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows baselines: what iomodel has measured of hosts' file systems, how old and how good. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyze/verdict/evidence/baseline.h"
#include "cli/cmd.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/store.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"

/* The hosts of the store; a reader takes one question at a time. */
struct hosts {
	struct host {
		int64_t id;
		char *name;
	} * list;
	size_t n;
};

static int
on_host(void *arg, const struct nw_host_rec *h)
{
	struct hosts *hosts = arg;

	hosts->list = xreallocarray(hosts->list, hosts->n + 1, sizeof(*hosts->list));
	hosts->list[hosts->n++] = (struct host){ h->id, xstrdup(h->name) };
	return NW_OK;
}

static void
line_print(const struct nw_io_line *l, const char *which)
{
	if (l->refused)
		printf("; %s line refused (%s off)", which, fmt_plain(fmt_share(l->rel_err)).s);
}

static void
class_print(const struct baseline_class *k)
{
	printf("    %-5s  %-24s  %5zu  %8s  %s", k->write ? "write" : "read",
	    terminal_text(k->name), k->n_sizes,
	    k->n_sizes > 0 ? fmt_plain(fmt_share(k->durations.rel_err)).s : "-",
	    nw_status_text(k->durations.status));
	if (baseline_class_is_usable(k)) {
		line_print(&k->limit.small, "small");
		line_print(&k->limit.large, "large");
	}
	putchar('\n');
}

static void
baselines_print(const char *host, const struct baselines *b, int64_t now_wall_ns)
{
	const struct baseline *one;
	size_t k;

	for (one = b->list; one < b->list + b->n; one++) {
		printf("%s", terminal_text(host));
		printf("  %s", terminal_text(one->mount));
		printf(" (%s", terminal_text(one->filesystem));
		printf(", %s)", terminal_text(one->device));
		printf("  measured %s", fmt_plain(fmt_time(one->measured_wall_ns)).s);
		if (one->measured_wall_ns > 0)
			printf(", %s ago",
			    fmt_plain(
				fmt_duration((double)(now_wall_ns - one->measured_wall_ns) / 1e9))
				.s);
		putchar('\n');
		printf("    %-5s  %-24s  %5s  %8s  %s\n", "", "CLASS", "SIZES", "ERROR", "MODEL");
		for (k = 0; k < one->n; k++)
			class_print(&one->classes[k]);
	}
}

static int
hosts_print(struct store_reader *r)
{
	struct hosts hosts = { 0 };
	struct baselines b;
	size_t i, n = 0;
	int rc = store_hosts(r, on_host, &hosts);

	for (i = 0; i < hosts.n; i++) {
		if (rc == NW_OK && (rc = baselines_load(r, hosts.list[i].id, &b)) == NW_OK) {
			baselines_print(hosts.list[i].name, &b, nw_wall_ns());
			n += b.n;
			baselines_clear(&b);
		}
		free(hosts.list[i].name);
	}
	free(hosts.list);
	if (rc == NW_OK && n == 0)
		puts("No host has a baseline. On a host: iomodel baseline FOLDER FILE");
	return rc;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	struct store_reader *r = NULL;
	char why[STORE_WHY_BYTES], *path;
	int rc;

	if (getopt(argc, argv, "") != -1 || optind != argc)
		return command_misused(env->command);
	path = xasprintf("%s/narrows.db", env->state_dir);
	rc = store_reader_open(path, &r, why);
	free(path);
	if (rc < 0)
		return command_failed(env->state_dir, why);
	if ((rc = store_reader_begin(r)) == NW_OK) {
		rc = hosts_print(r);
		store_reader_end(r);
	}
	store_reader_close(r);
	if (rc < 0)
		return command_failed(NULL, nw_strerror(rc));
	return fflush(stdout) != 0;
}

const struct command command_baselines = {
	.name = "baselines",
	.summary = "list the baselines of hosts: file systems, age, quality",
	.usage = "",
	.help = "Lists the newest baseline of every host and mount, with its age, and its classes\n"
		"with number of sizes, error of the model and whether the model is refused.\n",
	.needs = NEEDS_STATE_DIR,
	.run = run,
};
