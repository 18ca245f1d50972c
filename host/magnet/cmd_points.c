/* SPDX-License-Identifier: BSD-3-Clause */
/* magnet points: tries every point, and shows how it is taken and why not otherwise. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/magnet/magnet_cmd.h"

static void
refusals_print(const struct kernel *k, const struct point *p)
{
	const struct candidate *used = kernel_point_candidate(k, p);
	int i, err;

	for (i = 0; i < CANDIDATES_MAX && p->candidates[i].program != NULL; i++) {
		const struct candidate *c = &p->candidates[i];

		err = kernel_point_refusal(k, p, i);
		if (c != used && err != 0)
			printf("                             refused: %s %s (%s)\n",
			    backend_name(c->backend), c->where, strerror(err));
	}
	if ((err = kernel_point_refusal_beside(k, p)) != 0)
		printf("                             without the receivers of datagrams of sockets "
		       "without a peer (%s)\n",
		    strerror(err));
}

static int
points_run(int argc, char **argv)
{
	bool all[MAGNET_POINTS_MAX];
	struct magnet_counts counts;
	const struct candidate *c;
	const struct point *p;
	struct kernel *k;
	unsigned seconds = 0;
	int o, n = 0;

	while ((o = getopt(argc, argv, "t:")) != -1)
		if (o != 't' || (seconds = (unsigned)number_of(optarg, 0, 3600, "-t")) > 3600)
			return usage(&magnet_cmd_points);
	if ((k = kernel_or_fail()) == NULL)
		return 1;
	memset(all, true, sizeof(all));
	kernel_points_expect(k, all);
	for (p = points; p->layer != NULL; p++)
		if (kernel_point_attach(k, p) == 0)
			kernel_control(k)->on[p->id] = 1;
	sleep(seconds);
	printf("%2s %-10s %-15s %-10s %-20s %-12s %s\n", "id", "layer", "point", "back-end",
	    "where", "fidelity", "hits");
	for (p = points; p->layer != NULL; p++) {
		n += (c = kernel_point_candidate(k, p)) != NULL;
		kernel_counts(k, p->id, &counts);
		printf("%2u %-10s %-15s %-10s %-20s %-12s %" PRIu64 "\n", p->id, p->layer, p->name,
		    c != NULL ? backend_name(c->backend) : "none", c != NULL ? c->where : "-",
		    c != NULL ? fidelity_name(c->fidelity) : "-", counts.hits);
		refusals_print(k, p);
	}
	if (n == 0)
		fail("no point can be taken here: %s", kernel_why(k));
	kernel_close(k);
	return n == 0;
}

const struct command magnet_cmd_points = { "points", "points [-t SECONDS]",
	"shows each point, how it is taken here, and why other ways were refused", points_run };
