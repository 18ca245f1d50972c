/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/collector.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/lib/conn_addr.h"
#include "host/lib/hostconf.h"
#include "narrows/err.h"

#define LIBRARY "nwrun-collect.so"

#pragma weak collect_run
#pragma weak collector_plain

static char library[PATH_MAX]; /* empty: the collector is inside */

/* As the provider chooses the box. */
static bool
wants_tls(const char *box)
{
	struct conn_addr a;

	box = hostconf_or(box, hostconf_get()->box);
	return box != NULL && conn_addr_parse(box, &a) == NW_OK && a.tls;
}

const char *
collector_find(const char *preload_path, const char *box)
{
	const char *slash = strrchr(preload_path, '/');
	int directory = slash != NULL ? (int)(slash - preload_path) + 1 : 0;

	if (collect_run != NULL && (&collector_plain == NULL || !wants_tls(box)))
		return NULL;
	if (snprintf(library, sizeof(library), "%.*s" LIBRARY, directory, preload_path) >=
		(int)sizeof(library) ||
	    access(library, R_OK) != 0)
		return LIBRARY " was not found";
	return NULL;
}

static void
explain(int fd, const char *why)
{
	if (fd >= 0 && why != NULL)
		dprintf(fd, "the collector cannot be loaded (%s): nothing is measured", why);
}

void
collector_run(struct region *region, const struct collect_run_opts *opts)
{
	void (*run)(struct region *, const struct collect_run_opts *) = NULL;
	void *handle;

	if (library[0] == '\0')
		run = collect_run;
	else if ((handle = dlopen(library, RTLD_NOW | RTLD_LOCAL)) != NULL)
		*(void **)&run = dlsym(handle, "collect_run");
	if (run != NULL) {
		run(region, opts);
		return;
	}
	explain(opts->notice_fd, dlerror());
	region_free(region);
}
