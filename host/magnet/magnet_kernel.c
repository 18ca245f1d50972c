/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One object holds the maps, and programs have objects of their own with these maps. So a refused
 * program does not prevent the rest, and a point without a request costs nothing.
 */
#include "host/magnet/magnet_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "host/lib/capability.h"
#include "host/magnet/netns.h"
#include "host/magnet/program.h"
#include "host/magnet/user_point.h"
#include "narrows/err.h"

enum { PROGRAMS_MAX = 96, N_USERS = MAGNET_POINTS_MAX - MAGNET_USER_POINTS_FIRST };

/* The programs that take waiting times, and the substitute where a kernel lacks the tracepoint. */
static const struct {
	const char *program, *instead;
} wait_programs[] = {
	{ "wait_write", "wait_write_fn" },
	{ "wait_queue", NULL },
	{ "wait_enqueue", NULL },
	{ "wait_dequeue", NULL },
	{ "wait_start", NULL },
	{ "wait_consume", NULL },
	{ "wait_peer", NULL },
	{ "wait_raise", NULL },
	{ "wait_entry", NULL },
	{ "wait_exit", NULL },
	{ "wait_ready", "wait_ready_fn" },
	{ "wait_read", "wait_read_fn" },
	{ "wait_wakeup", NULL },
	{ "wait_switch", NULL },
	{ "wait_issue", NULL },
	{ "wait_complete", NULL },
};
enum { N_WAIT_PROGRAMS = sizeof(wait_programs) / sizeof(wait_programs[0]) };

struct attached {
	const struct candidate *candidate;
	int refusal[CANDIDATES_MAX]; /* errno per candidate; 0: not tried */
	int refusal_beside;          /* the same of the program beside the point */
};

struct kernel {
	struct bpf_object *maps;
	struct batches batches;
	int refused[BACKENDS]; /* errno of back-ends without support; 0: unknown */
	struct magnet_control *control;
	uint32_t *n_views;
	size_t control_bytes;
	int n_cpus;
	struct attached attached[MAGNET_POINTS_MAX];
	struct program programs[PROGRAMS_MAX];
	size_t n_programs;
	struct program waits[N_WAIT_PROGRAMS];
	size_t n_waits;
	struct netns_set *netnses;
	struct user_point users[MAGNET_POINTS_MAX - MAGNET_USER_POINTS_FIRST];
	int user_event_fd, burst_fd, stats_fd;
	bool view_used[MAGNET_VIEWS_MAX];
	struct {
		int ring_fd, armed_fd;
		uint64_t netns, cgroup, device;
	} views[MAGNET_VIEWS_MAX];
	void *per_cpu; /* room for one value of a per-processor map */
	char why[KERNEL_WHY_BYTES];
};

static int
print_nothing(enum libbpf_print_level level, const char *format, va_list ap)
{
	(void)level;
	(void)format;
	(void)ap;
	return 0;
}

static int
map_fd(const struct kernel *k, const char *name)
{
	return bpf_object__find_map_fd_by_name(k->maps, name);
}

static int
control_map(struct kernel *k, struct bpf_map *bss)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), need = bpf_map__value_size(bss);
	void *p;

	k->control_bytes = (need + page - 1) / page * page;
	p = mmap(NULL, k->control_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(bss), 0);
	if (p == MAP_FAILED)
		return -1;
	k->control = p;
	return 0;
}

static int
maps_load(struct kernel *k)
{
	struct bpf_map *m;
	int rc;

	if ((k->maps = program_object()) == NULL)
		return -errno;
	if ((rc = bpf_object__load(k->maps)) != 0)
		return rc;
	bpf_object__for_each_map(m, k->maps)
	{
		const char *name = bpf_map__name(m);

		if (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".bss") == 0 &&
		    control_map(k, m) < 0)
			return -errno;
	}
	return k->control != NULL ? 0 : -EINVAL;
}

/* What an error of the kernel means here: the capability that is missing, or the error's text. */
static const char *
refusal_text(int err)
{
	static const int needed[] = { CAPABILITY_BPF, CAPABILITY_PERFMON, CAPABILITY_NET_ADMIN };
	const char *missing = capability_missing(needed, 3);
	static _Thread_local char text[64];

	if (missing == NULL)
		return strerror(err);
	snprintf(text, sizeof(text), "%s is missing", missing);
	return text;
}

int
kernel_open(struct kernel **out, char why[KERNEL_WHY_BYTES])
{
	struct kernel *k = calloc(1, sizeof(*k));
	int rc;

	*out = NULL;
	if (k == NULL)
		return NW_ENOMEM;
	libbpf_set_print(print_nothing);
	k->user_event_fd = k->burst_fd = k->stats_fd = -1;
	k->n_cpus = libbpf_num_possible_cpus();
	if (k->n_cpus < 1)
		k->n_cpus = 1;
	k->per_cpu = calloc((size_t)k->n_cpus, sizeof(struct magnet_stat) + 8);
	k->netnses = netns_set_new();
	rc = k->per_cpu == NULL || k->netnses == NULL ? -ENOMEM : maps_load(k);
	if (rc < 0) {
		snprintf(why, KERNEL_WHY_BYTES, "the kernel refuses: %s", refusal_text(-rc));
		kernel_close(k);
		return NW_EUNSUPPORTED;
	}
	k->control->watermark_bytes = 256 * 1024;
	*out = k;
	return NW_OK;
}

void
kernel_close(struct kernel *k)
{
	uint32_t v;

	if (k == NULL)
		return;
	netns_set_free(k->netnses); /* before the programs of its links */
	for (v = 0; v < N_USERS; v++)
		program_close(&k->users[v].program);
	while (k->n_waits > 0)
		program_close(&k->waits[--k->n_waits]);
	while (k->n_programs > 0)
		program_close(&k->programs[--k->n_programs]);
	for (v = 0; v < MAGNET_VIEWS_MAX; v++)
		if (k->view_used[v]) {
			close(k->views[v].ring_fd);
			close(k->views[v].armed_fd);
		}
	if (k->control != NULL)
		munmap(k->control, k->control_bytes);
	if (k->stats_fd >= 0)
		close(k->stats_fd);
	batches_close(&k->batches);
	bpf_object__close(k->maps);
	free(k->per_cpu);
	free(k);
}

const char *
kernel_why(const struct kernel *k)
{
	return k->why;
}

volatile struct magnet_control *
kernel_control(struct kernel *k)
{
	return k->control;
}

/* Attaches a program and keeps it. 0 or a negative errno. */
static int
program_keep(struct kernel *k, const char *name, enum backend backend, const char *where)
{
	int rc;

	if (k->n_programs == PROGRAMS_MAX)
		return -ENOSPC;
	rc =
	    program_attach(&k->programs[k->n_programs], k->maps, &k->batches, name, backend, where);
	k->n_programs += rc == 0;
	return rc;
}

/* A program of netfilter, the last attached, joins the namespaces of views and of the filter. */
static int
namespaces_join(struct kernel *k, const struct point *p, const struct candidate *c)
{
	int rc = 0;

	if (c->backend == BACKEND_NETFILTER)
		rc = netns_program_add(k->netnses, &k->programs[k->n_programs - 1], c->where);
	if (rc == 0)
		return NW_OK;
	snprintf(k->why, sizeof(k->why), "%s: no events of another network namespace (%s)", p->name,
	    refusal_text(-rc));
	return NW_EUNSUPPORTED;
}

/* The program beside socket.tx tells the ends of datagrams of sockets without a peer. */
static const char *
beside_program(const struct point *p)
{
	return p->id == POINT_SOCKET_TX ? "datagram_sent_tp" : NULL;
}

static void
beside_attach(struct kernel *k, const struct point *p)
{
	if (beside_program(p) != NULL)
		k->attached[p->id].refusal_beside =
		    -program_keep(k, beside_program(p), BACKEND_TRACEPOINT, NULL);
}

void
kernel_points_expect(struct kernel *k, const bool expected[MAGNET_POINTS_MAX])
{
	const char *names[2 * MAGNET_POINTS_MAX];
	const struct candidate *c;
	const struct point *p;
	size_t n = 0;

	for (p = points; p->layer != NULL; p++) {
		if (!expected[p->id] || k->attached[p->id].candidate != NULL)
			continue;
		for (c = p->candidates; c < p->candidates + CANDIDATES_MAX; c++)
			if (c->program != NULL && c->backend == BACKEND_TRACEPOINT) {
				names[n++] = c->program;
				break;
			}
		if (beside_program(p) != NULL)
			names[n++] = beside_program(p);
	}
	batch_load(&k->batches, k->maps, names, n);
}

/* Attaches a candidate, unless its back-end was refused for all programs. */
static int
candidate_attach(struct kernel *k, const struct candidate *c)
{
	bool functions = c->backend == BACKEND_FENTRY || c->backend == BACKEND_KPROBE_MULTI;
	int rc = -k->refused[c->backend];

	if (rc == 0)
		rc = program_keep(k, c->program, c->backend, c->where);
	if (functions && (rc == -EPERM || rc == -EOPNOTSUPP))
		k->refused[c->backend] = -rc;
	return rc;
}

int
kernel_point_attach(struct kernel *k, const struct point *p)
{
	struct attached *a = &k->attached[p->id];
	const struct candidate *c;
	int i, rc = -ENOENT;

	if (a->candidate != NULL)
		return NW_OK;
	for (i = 0; i < CANDIDATES_MAX && p->candidates[i].program != NULL; i++) {
		c = &p->candidates[i];
		rc = candidate_attach(k, c);
		if (rc == 0) {
			a->candidate = c;
			if ((rc = namespaces_join(k, p, c)) == NW_OK)
				beside_attach(k, p);
			return rc;
		}
		a->refusal[i] = -rc;
	}
	snprintf(k->why, sizeof(k->why), "%s: no way to attach works here (%s)", p->name,
	    refusal_text(-rc));
	return NW_EUNSUPPORTED;
}

const struct candidate *
kernel_point_candidate(const struct kernel *k, const struct point *p)
{
	return k->attached[p->id].candidate;
}

int
kernel_point_refusal(const struct kernel *k, const struct point *p, int i)
{
	return k->attached[p->id].refusal[i];
}

int
kernel_point_refusal_beside(const struct kernel *k, const struct point *p)
{
	return k->attached[p->id].refusal_beside;
}

int
kernel_netns_watch(struct kernel *k, const char *path, bool by_filter)
{
	int rc = netns_watch(k->netnses, path, by_filter);

	if (rc == 0)
		return NW_OK;
	snprintf(k->why, sizeof(k->why), "no events of the IP layer of that namespace (%s)",
	    refusal_text(-rc));
	return NW_EUNSUPPORTED;
}

void
kernel_netns_unwatch(struct kernel *k, uint64_t cookie)
{
	netns_unwatch(k->netnses, cookie);
}

static int
waits_load(struct kernel *k)
{
	const char *names[N_WAIT_PROGRAMS];
	struct program *p;
	size_t i;
	int rc;

	for (i = 0; i < N_WAIT_PROGRAMS; i++)
		names[i] = wait_programs[i].program;
	batch_load(&k->batches, k->maps, names, N_WAIT_PROGRAMS);
	for (i = 0; i < N_WAIT_PROGRAMS; i++) {
		p = &k->waits[k->n_waits];
		rc = program_attach(
		    p, k->maps, &k->batches, wait_programs[i].program, BACKEND_TRACEPOINT, NULL);
		if (rc != 0 && wait_programs[i].instead != NULL)
			rc = program_attach(p, k->maps, &k->batches, wait_programs[i].instead,
			    BACKEND_FENTRY, NULL);
		if (rc == 0)
			k->n_waits++;
		else
			snprintf(k->why, sizeof(k->why), "%s: %s", wait_programs[i].program,
			    refusal_text(-rc));
	}
	return k->n_waits > 0 ? NW_OK : NW_EUNSUPPORTED;
}

int
kernel_waits_attach(struct kernel *k)
{
	size_t i;
	int rc;

	if (k->n_waits == 0)
		return waits_load(k);
	for (i = 0; i < k->n_waits; i++)
		if (k->waits[i].link == NULL && (rc = program_link(&k->waits[i])) != 0) {
			snprintf(k->why, sizeof(k->why), "%s", strerror(-rc));
			return NW_EUNSUPPORTED;
		}
	return NW_OK;
}

void
kernel_waits_detach(struct kernel *k)
{
	size_t i;

	for (i = 0; i < k->n_waits; i++)
		program_unlink(&k->waits[i]);
}

/* --- points of users --- */

static bool
name_is_good(const char *name)
{
	return name[0] != '\0' && strlen(name) < MAGNET_NAME_BYTES && point_find(name) == NULL &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
	    strlen(name);
}

uint32_t
kernel_user_find(const struct kernel *k, const char *name)
{
	uint32_t i;

	for (i = 0; i < N_USERS; i++)
		if (name[0] != '\0' && strcmp(k->users[i].name, name) == 0)
			return MAGNET_USER_POINTS_FIRST + i;
	return 0;
}

const char *
kernel_user_name(const struct kernel *k, uint32_t point, const char **where)
{
	const struct user_point *u = &k->users[point % N_USERS];

	if (point < MAGNET_USER_POINTS_FIRST || point >= MAGNET_POINTS_MAX || u->name[0] == '\0')
		return NULL;
	*where = u->where;
	return u->name;
}

int
kernel_user_add(struct kernel *k, const char *name, const char *place, char *const *fields,
    size_t n_fields, uint32_t *point)
{
	struct magnet_counts none = { 0 };
	uint32_t i;
	int rc;

	for (i = 0; i < N_USERS && k->users[i].name[0] != '\0'; i++)
		continue;
	if (!name_is_good(name) || kernel_user_find(k, name) != 0 || i == N_USERS) {
		snprintf(k->why, sizeof(k->why),
		    i == N_USERS ? "there is room for %d points of users"
				 : "a point needs a new name of letters, digits, dots and dashes",
		    N_USERS);
		return NW_EINVAL;
	}
	*point = MAGNET_USER_POINTS_FIRST + i;
	rc = user_point_attach(&k->users[i], k->maps, *point, place, fields, n_fields, k->why);
	if (rc < 0)
		return rc;
	memset(k->per_cpu, 0, (size_t)k->n_cpus * sizeof(none));
	(void)bpf_map_update_elem(map_fd(k, "counts"), point, k->per_cpu, BPF_ANY);
	snprintf(k->users[i].name, sizeof(k->users[i].name), "%s", name);
	return NW_OK;
}

int
kernel_user_remove(struct kernel *k, const char *name)
{
	uint32_t point = kernel_user_find(k, name);
	struct user_point *u = &k->users[point % N_USERS];

	if (point == 0)
		return NW_ENOTFOUND;
	k->control->on[point] = 0;
	program_close(&u->program);
	u->name[0] = '\0';
	return NW_OK;
}

/* --- views --- */

static int
view_maps(struct kernel *k, uint32_t v, uint64_t ring_bytes)
{
	DECLARE_LIBBPF_OPTS(bpf_map_create_opts, mmapable, .map_flags = BPF_F_MMAPABLE);
	int ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "view", 0, 0, (uint32_t)ring_bytes, NULL);
	int armed = bpf_map_create(BPF_MAP_TYPE_ARRAY, "armed", 4, 8, 1, &mmapable);

	if (ring < 0 || armed < 0 ||
	    bpf_map_update_elem(map_fd(k, "armeds"), &v, &armed, BPF_ANY) != 0 ||
	    bpf_map_update_elem(map_fd(k, "rings"), &v, &ring, BPF_ANY) != 0) {
		snprintf(k->why, sizeof(k->why), "the ring cannot be made: %s", strerror(errno));
		if (ring >= 0)
			close(ring);
		if (armed >= 0)
			close(armed);
		return NW_EIO;
	}
	k->views[v].ring_fd = ring;
	k->views[v].armed_fd = armed;
	return NW_OK;
}

static void
view_sequence_reset(struct kernel *k, uint32_t v)
{
	memset(k->per_cpu, 0, (size_t)k->n_cpus * 16);
	(void)bpf_map_update_elem(map_fd(k, "views"), &v, k->per_cpu, BPF_ANY);
}

int
kernel_view_add(struct kernel *k, uint64_t ring_bytes, const struct view_of *of, uint32_t *view)
{
	uint64_t netns_cookie = of->netns_cookie, cgroup_id = of->cgroup_id, device = of->device;
	bool everything = netns_cookie == 0 && cgroup_id == 0 && device == 0;
	uint32_t v = everything ? MAGNET_VIEW_ALL : 1;
	int rc;

	while (v < MAGNET_VIEWS_MAX && k->view_used[v])
		v = everything ? MAGNET_VIEWS_MAX : v + 1;
	if (v == MAGNET_VIEWS_MAX)
		return NW_EFULL;
	view_sequence_reset(k, v);
	if ((rc = view_maps(k, v, ring_bytes)) < 0)
		return rc;
	k->view_used[v] = true;
	k->views[v].netns = netns_cookie;
	k->views[v].cgroup = cgroup_id;
	k->views[v].device = device;
	if (everything)
		k->control->all = 1;
	if (netns_cookie != 0 &&
	    bpf_map_update_elem(map_fd(k, "views_of_netns"), &netns_cookie, &v, BPF_ANY) == 0)
		k->control->views_by_netns = 1;
	if (cgroup_id != 0 &&
	    bpf_map_update_elem(map_fd(k, "views_of_cgroup"), &cgroup_id, &v, BPF_ANY) == 0)
		k->control->views_by_cgroup = 1;
	if (device != 0 &&
	    bpf_map_update_elem(map_fd(k, "views_of_device"), &device, &v, BPF_ANY) == 0)
		k->control->views_by_device = 1;
	*view = v;
	return NW_OK;
}

int
kernel_view_remove(struct kernel *k, uint32_t view)
{
	if (view >= MAGNET_VIEWS_MAX || !k->view_used[view])
		return NW_ENOTFOUND;
	if (view == MAGNET_VIEW_ALL)
		k->control->all = 0;
	if (k->views[view].netns != 0)
		(void)bpf_map_delete_elem(map_fd(k, "views_of_netns"), &k->views[view].netns);
	if (k->views[view].cgroup != 0)
		(void)bpf_map_delete_elem(map_fd(k, "views_of_cgroup"), &k->views[view].cgroup);
	if (k->views[view].device != 0)
		(void)bpf_map_delete_elem(map_fd(k, "views_of_device"), &k->views[view].device);
	netns_unwatch(k->netnses, k->views[view].netns);
	(void)bpf_map_delete_elem(map_fd(k, "rings"), &view);
	(void)bpf_map_delete_elem(map_fd(k, "armeds"), &view);
	close(k->views[view].ring_fd);
	close(k->views[view].armed_fd);
	k->view_used[view] = false;
	return NW_OK;
}

int
kernel_view_fds(struct kernel *k, uint32_t view, int *ring_fd, int *armed_fd)
{
	if (view >= MAGNET_VIEWS_MAX || !k->view_used[view])
		return NW_ENOTFOUND;
	*ring_fd = dup(k->views[view].ring_fd);
	*armed_fd = dup(k->views[view].armed_fd);
	return *ring_fd >= 0 && *armed_fd >= 0 ? NW_OK : NW_EIO;
}

/* --- filters --- */

static const struct filter_set {
	const char *map; /* NULL: the processors' mask */
	size_t flag;
	const char *halves; /* the set of single ports, where a value has two */
} filter_sets[] = {
	[FILTER_CPU] = { NULL, offsetof(struct magnet_control, by_cpu), NULL },
	[FILTER_ID] = { "ids", offsetof(struct magnet_control, by_id), NULL },
	[FILTER_CGROUP] = { "cgroups", offsetof(struct magnet_control, by_cgroup), NULL },
	[FILTER_NETNS] = { "netnses", offsetof(struct magnet_control, by_netns), NULL },
	[FILTER_PORT] = { "ports", offsetof(struct magnet_control, by_port), "ports_of_pairs" },
	[FILTER_PID] = { "pids", offsetof(struct magnet_control, by_pid), NULL },
	[FILTER_FLOW] = { "wanted_flows", offsetof(struct magnet_control, by_flow),
	    "ports_of_flows" },
};

int
kernel_filter_add(struct kernel *k, enum filter f, uint64_t value)
{
	const struct filter_set *s = &filter_sets[f];
	uint32_t one = 1;

	if (s->map == NULL) {
		if (value >= MAGNET_CPUS_MAX)
			return NW_EINVAL;
		k->control->cpu_mask[value / 64] |= 1ULL << value % 64;
	} else if (bpf_map_update_elem(map_fd(k, s->map), &value, &one, BPF_ANY) != 0) {
		return NW_EFULL;
	}
	((uint8_t *)k->control)[s->flag] = 1;
	return NW_OK;
}

int
kernel_filter_half_add(struct kernel *k, enum filter f, uint16_t port)
{
	uint64_t key = port;
	uint32_t one = 1;

	return bpf_map_update_elem(map_fd(k, filter_sets[f].halves), &key, &one, BPF_ANY) == 0
	    ? NW_OK
	    : NW_EFULL;
}

static void
set_clear(struct kernel *k, const char *map)
{
	int fd = map_fd(k, map);
	uint64_t key, next;

	while (bpf_map_get_next_key(fd, NULL, &next) == 0) {
		key = next;
		if (bpf_map_delete_elem(fd, &key) != 0)
			break;
	}
}

void
kernel_filter_clear(struct kernel *k, enum filter f)
{
	const struct filter_set *s = &filter_sets[f];

	((uint8_t *)k->control)[s->flag] = 0;
	if (f == FILTER_NETNS)
		netns_unfilter(k->netnses);
	if (s->map != NULL)
		set_clear(k, s->map);
	else
		memset(k->control->cpu_mask, 0, sizeof(k->control->cpu_mask));
	if (s->halves != NULL)
		set_clear(k, s->halves);
}

int
kernel_flow_add(struct kernel *k, uint64_t cookie)
{
	uint32_t one = 1;

	return bpf_map_update_elem(map_fd(k, "flows"), &cookie, &one, BPF_ANY) == 0 ? NW_OK
										    : NW_EFULL;
}

void
kernel_flow_remove(struct kernel *k, uint64_t cookie)
{
	(void)bpf_map_delete_elem(map_fd(k, "flows"), &cookie);
}

/* --- counts and statistics --- */

int
kernel_cpus(const struct kernel *k)
{
	return k->n_cpus;
}

void
kernel_counts_cpu(struct kernel *k, uint32_t point, int cpu, struct magnet_counts *out)
{
	const struct magnet_counts *c = k->per_cpu;

	memset(out, 0, sizeof(*out));
	if (bpf_map_lookup_elem(map_fd(k, "counts"), &point, k->per_cpu) == 0)
		*out = c[cpu];
}

void
kernel_counts(struct kernel *k, uint32_t point, struct magnet_counts *sum)
{
	const struct magnet_counts *c = k->per_cpu;
	int i;

	memset(sum, 0, sizeof(*sum));
	if (bpf_map_lookup_elem(map_fd(k, "counts"), &point, k->per_cpu) != 0)
		return;
	for (i = 0; i < k->n_cpus; i++) {
		sum->hits += c[i].hits;
		sum->filtered += c[i].filtered;
		sum->sampled += c[i].sampled;
		sum->kept += c[i].kept;
		sum->lost += c[i].lost;
	}
}

static void
stat_merge(struct magnet_stat *to, const struct magnet_stat *from)
{
	size_t b;

	if (from->n == 0)
		return;
	if (to->n == 0 || from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	to->n += from->n;
	to->sum += from->sum;
	to->squares_lo += from->squares_lo;
	to->squares_hi += from->squares_hi + (to->squares_lo < from->squares_lo);
	for (b = 0; b < MAGNET_STAT_BUCKETS; b++)
		to->hist[b] += from->hist[b];
}

void
kernel_stats_take(struct kernel *k, kernel_stat_fn *fn, void *arg)
{
	const char *const tables[] = { "stats_0", "stats_1" };
	const struct magnet_stat *rows = k->per_cpu;
	struct magnet_stat_key key;
	struct magnet_stat sum;
	int fd = map_fd(k, tables[k->control->generation & 1]), i;

	k->control->generation ^= 1;
	usleep(1000); /* a program that read the old generation has written by then */
	while (bpf_map_get_next_key(fd, NULL, &key) == 0) {
		memset(&sum, 0, sizeof(sum));
		if (bpf_map_lookup_elem(fd, &key, k->per_cpu) == 0)
			for (i = 0; i < k->n_cpus; i++)
				stat_merge(&sum, &rows[i]);
		if (bpf_map_delete_elem(fd, &key) != 0)
			break;
		if (sum.n > 0)
			fn(arg, &key, &sum);
	}
}

/* Runs a program that takes a user's event as its context; *fd keeps the program once loaded. */
static int
user_program_run(
    struct kernel *k, const char *name, int *fd, uint32_t point, uint64_t id, int32_t value)
{
	struct {
		uint64_t id;
		uint32_t point;
		int32_t value;
	} event = { id, point, value };
	DECLARE_LIBBPF_OPTS(
	    bpf_test_run_opts, opts, .ctx_in = &event, .ctx_size_in = sizeof(event));
	struct program *p = &k->programs[k->n_programs];
	int rc;

	if (*fd < 0) {
		if (k->n_programs == PROGRAMS_MAX)
			return NW_EFULL;
		if ((rc = program_load(p, k->maps, name, BACKEND_TRACEPOINT)) != 0) {
			snprintf(k->why, sizeof(k->why), "%s: %s %s", name, strerror(-rc),
			    program_why());
			return NW_EUNSUPPORTED;
		}
		k->n_programs++;
		*fd = bpf_program__fd(p->program);
	}
	return bpf_prog_test_run_opts(*fd, &opts) == 0 ? NW_OK : NW_EIO;
}

int
kernel_user_event(struct kernel *k, uint32_t point, uint64_t id, int32_t value)
{
	return user_program_run(k, "user_event", &k->user_event_fd, point, id, value);
}

int
kernel_burst(struct kernel *k, uint32_t point, uint32_t count)
{
	return user_program_run(k, "burst", &k->burst_fd, point, count, 0);
}

int
kernel_own_cost(struct kernel *k, bool on)
{
	if (!on && k->stats_fd >= 0) {
		close(k->stats_fd);
		k->stats_fd = -1;
	} else if (on && k->stats_fd < 0) {
		k->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
		if (k->stats_fd < 0)
			return NW_EUNSUPPORTED;
	}
	return NW_OK;
}

static void
cost_add(const struct program *p, uint64_t *run_ns, uint64_t *runs, uint64_t *recursions)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(p->program), &info, &len) != 0)
		return;
	*run_ns += info.run_time_ns;
	*runs += info.run_cnt;
	*recursions += info.recursion_misses;
}

void
kernel_own_cost_get(struct kernel *k, uint64_t *run_ns, uint64_t *runs, uint64_t *recursions)
{
	size_t i;

	*run_ns = *runs = *recursions = 0;
	for (i = 0; i < k->n_programs; i++)
		cost_add(&k->programs[i], run_ns, runs, recursions);
	for (i = 0; i < k->n_waits; i++)
		cost_add(&k->waits[i], run_ns, runs, recursions);
}
