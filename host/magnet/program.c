/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/program.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "host/lib/pidspace.h"
#include "host/magnet/object.h"
#include "narrows/err.h"

enum {
	PROG_TYPE_NETFILTER = 32, /* linux 6.4 and later; not in the headers of Debian 12 */
	ATTACH_NETFILTER = 45,
	HOOK_PRE_ROUTING = 0,
	HOOK_LOCAL_OUT = 3,
	HOOK_LAST = 0x7fffffff - 1, /* priority: after all others */
	HOOK_PLACES = 256           /* a place of a hook takes one program */
};

/* The verifier's words about the last program that was loaded, at least their begin. */
static char verifier_log[1 << 16];

static struct bpf_object *
object_open(const void *bytes, size_t len)
{
	DECLARE_LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "points",
	    .kernel_log_buf = verifier_log, .kernel_log_size = sizeof(verifier_log),
	    .kernel_log_level = 0);

	verifier_log[0] = '\0';
	return bpf_object__open_mem(bytes, len, &opts);
}

static bool
line_is_state(const char *line)
{
	return line[0] == ';' || line[0] == '(' || (line[0] >= '0' && line[0] <= '9') ||
	    strncmp(line, "processed ", 10) == 0 || strncmp(line, "from ", 5) == 0 ||
	    strncmp(line, "func#", 5) == 0 || strncmp(line, "last_idx", 8) == 0;
}

/* The last line that is no instruction and no state. */
const char *
program_why(void)
{
	static char why[PROGRAM_WHY_BYTES];
	char *line, *save = NULL;

	why[0] = '\0';
	for (line = strtok_r(verifier_log, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		if (!line_is_state(line))
			snprintf(why, sizeof(why), "%s", line);
	return why;
}

void
hook_links_close(struct hook_links *l)
{
	size_t i;

	for (i = 0; i < PROGRAM_HOOKS_MAX; i++)
		if (l->fds[i] > 0)
			close(l->fds[i]);
	memset(l, 0, sizeof(*l));
}

void
program_close(struct program *p)
{
	hook_links_close(&p->hook);
	bpf_link__destroy(p->link);
	bpf_object__close(p->object);
	memset(p, 0, sizeof(*p));
}

int
program_constant_set(struct bpf_object *o, const char *name, const void *value, size_t bytes)
{
	struct btf *b = bpf_object__btf(o);
	int32_t id = b != NULL ? btf__find_by_name_kind(b, ".rodata", BTF_KIND_DATASEC) : -1;
	const struct btf_type *section = id > 0 ? btf__type_by_id(b, (uint32_t)id) : NULL, *var;
	const struct btf_var_secinfo *v;
	struct bpf_map *m = NULL, *rodata = NULL;
	const void *before;
	uint8_t *image;
	size_t len;
	int i, rc = NW_ENOTFOUND;

	bpf_object__for_each_map(m, o) if (strstr(bpf_map__name(m), ".rodata") != NULL) rodata = m;
	if (section == NULL || rodata == NULL ||
	    (before = bpf_map__initial_value(rodata, &len)) == NULL ||
	    (image = malloc(len)) == NULL)
		return NW_ENOTFOUND;
	memcpy(image, before, len);
	v = btf_var_secinfos(section);
	for (i = 0; i < btf_vlen(section) && rc != NW_OK; i++, v++) {
		var = btf__type_by_id(b, v->type);
		if (strcmp(btf__name_by_offset(b, var->name_off), name) != 0 || v->size != bytes ||
		    v->offset > len || bytes > len - v->offset)
			continue;
		memcpy(image + v->offset, value, bytes);
		rc = bpf_map__set_initial_value(rodata, image, len) == 0 ? NW_OK : NW_EIO;
	}
	free(image);
	return rc;
}

/* Facts from the kernel's types, read once: reading takes longer than all else. */
static struct {
	bool known, casts;
	char *tracepoints; /* names, each between two newlines; NULL: none */
} kernel_facts;

static void
tracepoints_learn(const struct btf *b)
{
	static const char prefix[] = "btf_trace_";
	const struct btf_type *t;
	uint32_t i, n = btf__type_cnt(b);
	const char *name;
	size_t len;
	FILE *f = open_memstream(&kernel_facts.tracepoints, &len);

	for (i = 1; f != NULL && i < n; i++) {
		t = btf__type_by_id(b, i);
		if (!btf_is_typedef(t))
			continue;
		name = btf__name_by_offset(b, t->name_off);
		if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
			fprintf(f, "\n%s\n", name + sizeof(prefix) - 1);
	}
	if (f != NULL)
		fclose(f);
}

static void
kernel_facts_learn(void)
{
	struct btf *b = kernel_facts.known ? NULL : btf__load_vmlinux_btf();

	kernel_facts.known = true;
	if (b == NULL)
		return;
	kernel_facts.casts = btf__find_by_name_kind(b, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	tracepoints_learn(b);
	btf__free(b);
}

static bool
kernel_has_tracepoint(const char *section)
{
	static const char prefix[] = "tp_btf/";
	char line[128];

	if (kernel_facts.tracepoints == NULL || strncmp(section, prefix, sizeof(prefix) - 1) != 0)
		return false;
	snprintf(line, sizeof(line), "\n%s\n", section + sizeof(prefix) - 1);
	return strstr(kernel_facts.tracepoints, line) != NULL;
}

static bool
name_ends(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && strcmp(name + n - m, end) == 0;
}

/* The object of the points, without the level that its programs ask for. */
static struct bpf_object *
level_object_open(void)
{
	return object_open(magnet_object, magnet_object_bytes);
}

/* What the kernel and this process are, for each object of programs. A program of a user's own may
 * use none of these constants, and then lacks them. */
static void
constants_set(struct bpf_object *o)
{
	static struct pidspace space;
	uint8_t constant;

	if (!kernel_facts.known) {
		kernel_facts_learn();
		/* a kernel that does not answer counts by its own numbers */
		if (pidspace_find(&space, level_object_open, "magnet_level") < 0)
			space = (struct pidspace){ 0 };
	}
	constant = !kernel_facts.casts;
	(void)program_constant_set(o, "reads_by_address", &constant, sizeof(constant));
	(void)program_constant_set(o, "pid_level", &space.level, sizeof(space.level));
	(void)program_constant_set(o, "pid_ns", &space.ns, sizeof(space.ns));
}

struct bpf_object *
program_object_open(const void *bytes, size_t len)
{
	struct bpf_object *o = object_open(bytes, len);

	if (o != NULL)
		constants_set(o);
	return o;
}

/* Gives an object the maps of another; constants, and libbpf's notes on probes in programs, stay
 * each object's own. */
static int
maps_share(struct bpf_object *maps, struct bpf_object *o)
{
	struct bpf_map *m, *shared;
	const char *name;
	int rc;

	bpf_object__for_each_map(m, o)
	{
		name = bpf_map__name(m);
		if (name_ends(name, ".rodata") || name_ends(name, ".kconfig") ||
		    strncmp(name, "__bpf_usdt", 10) == 0)
			continue;
		shared = bpf_object__find_map_by_name(maps, name);
		if (shared == NULL || bpf_map__value_size(shared) != bpf_map__value_size(m))
			return -ENOENT;
		if ((rc = bpf_map__reuse_fd(m, bpf_map__fd(shared))) != 0)
			return rc;
	}
	return 0;
}

struct bpf_object *
program_object(void)
{
	return program_object_open(magnet_object, magnet_object_bytes);
}

void
batch_load(struct batches *b, struct bpf_object *maps, const char *const *names, size_t n)
{
	struct bpf_object *o = n > 0 && b->n < BATCHES_MAX ? program_object() : NULL;
	struct bpf_program *p;
	size_t i;

	if (o == NULL)
		return;
	for (i = 0; i < n; i++) {
		p = bpf_object__find_program_by_name(o, names[i]);
		if (p != NULL && kernel_has_tracepoint(bpf_program__section_name(p)))
			bpf_program__set_autoload(p, true);
	}
	if (maps_share(maps, o) == 0 && bpf_object__load(o) == 0)
		b->objects[b->n++] = o;
	else
		bpf_object__close(o);
}

void
batches_close(struct batches *b)
{
	while (b->n > 0)
		bpf_object__close(b->objects[--b->n]);
}

/* Returns false for a program that is in no batch. */
static bool
batch_take(const struct batches *b, const char *name, struct program *p)
{
	struct bpf_program *found;
	size_t i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < b->n && p->program == NULL; i++) {
		found = bpf_object__find_program_by_name(b->objects[i], name);
		if (found != NULL && bpf_program__fd(found) >= 0)
			p->program = found;
	}
	return p->program != NULL;
}

int
program_load_of(
    struct program *p, struct bpf_object *maps, struct bpf_program *program, enum backend backend)
{
	int rc;

	p->program = program;
	rc = p->program == NULL ? -ENOENT : maps_share(maps, p->object);
	if (rc == 0) {
		bpf_program__set_autoload(p->program, true);
		if (backend == BACKEND_NETFILTER) {
			bpf_program__set_type(p->program, (enum bpf_prog_type)PROG_TYPE_NETFILTER);
			bpf_program__set_expected_attach_type(
			    p->program, (enum bpf_attach_type)ATTACH_NETFILTER);
		}
		rc = bpf_object__load(p->object);
	}
	if (rc != 0)
		program_close(p);
	return rc;
}

int
program_load(struct program *p, struct bpf_object *maps, const char *name, enum backend backend)
{
	memset(p, 0, sizeof(*p));
	if ((p->object = program_object()) == NULL)
		return -errno;
	return program_load_of(p, maps, bpf_object__find_program_by_name(p->object, name), backend);
}

/* Links a program to a hook of the calling thread's network namespace, for one address family, as
 * near the end as no other program is. */
static int
hook_link(int program_fd, uint32_t family, uint32_t hook)
{
	struct {
		uint32_t program_fd, target_fd, attach_type, flags;
		uint32_t family, hook;
		int32_t priority;
		uint32_t hook_flags;
		uint8_t rest[96];
	} attr = { .program_fd = (uint32_t)program_fd,
		.attach_type = ATTACH_NETFILTER,
		.family = family,
		.hook = hook,
		.priority = HOOK_LAST };
	int fd;

	do
		fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	while (fd < 0 && errno == EBUSY && attr.priority-- > HOOK_LAST - HOOK_PLACES);
	return fd;
}

int
program_hook(const struct program *p, const char *where, struct hook_links *out)
{
	static const uint32_t families[PROGRAM_HOOKS_MAX] = { 2, 10 }; /* NFPROTO_IPV4, _IPV6 */
	uint32_t hook = strcmp(where, "LOCAL_OUT") == 0 ? HOOK_LOCAL_OUT : HOOK_PRE_ROUTING;
	int i;

	for (i = 0; i < PROGRAM_HOOKS_MAX; i++) {
		out->fds[i] = hook_link(bpf_program__fd(p->program), families[i], hook);
		if (out->fds[i] < 0 && i == 0)
			return -errno;
	}
	return 0;
}

int
program_link(struct program *p)
{
	p->link = bpf_program__attach(p->program);
	return p->link != NULL ? 0 : -errno;
}

void
program_unlink(struct program *p)
{
	bpf_link__destroy(p->link);
	p->link = NULL;
}

int
program_attach(struct program *p, struct bpf_object *maps, const struct batches *b,
    const char *name, enum backend backend, const char *where)
{
	int rc = 0;

	if (backend != BACKEND_TRACEPOINT || !batch_take(b, name, p))
		rc = program_load(p, maps, name, backend);
	if (rc != 0)
		return rc;
	rc = backend == BACKEND_NETFILTER ? program_hook(p, where, &p->hook) : program_link(p);
	if (rc != 0)
		program_close(p);
	return rc;
}
