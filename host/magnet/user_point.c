/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/user_point.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "host/magnet/object.h"
#include "host/magnet/user_fields.h"
#include "narrows/err.h"

enum { WORD_BYTES = 128, OBJECT_MAX_BYTES = 4 << 20 };

/* --- type information --- */

static const struct btf_type *
type_plain(const struct btf *b, uint32_t id, uint32_t *plain_id)
{
	const struct btf_type *t = btf__type_by_id(b, id);

	while (t != NULL && (btf_is_mod(t) || btf_is_typedef(t) || btf_is_type_tag(t))) {
		id = t->type;
		t = btf__type_by_id(b, id);
	}
	*plain_id = id;
	return t;
}

/* A member, also of a structure without name inside. */
static bool
member_find(const struct btf *b, uint32_t id, const char *name, uint32_t *type, uint32_t *offset)
{
	const struct btf_type *t = type_plain(b, id, &id);
	const struct btf_member *m;
	const char *own;
	uint32_t inner = 0;
	int i;

	if (t == NULL || !btf_is_composite(t))
		return false;
	m = btf_members(t);
	for (i = 0; i < btf_vlen(t); i++, m++) {
		own = btf__name_by_offset(b, m->name_off);
		if (btf_member_bit_offset(t, (uint32_t)i) % 8 != 0 ||
		    btf_member_bitfield_size(t, (uint32_t)i) != 0)
			continue;
		if (own != NULL && strcmp(own, name) == 0)
			*type = m->type;
		else if (own == NULL || own[0] != '\0' ||
		    !member_find(b, m->type, name, type, &inner))
			continue;
		*offset = btf_member_bit_offset(t, (uint32_t)i) / 8 + inner;
		return true;
	}
	return false;
}

static const struct btf_param *
params_of(const struct btf *b, const char *kind_name, uint32_t kind, int *n)
{
	int32_t id = btf__find_by_name_kind(b, kind_name, kind);
	const struct btf_type *t = id > 0 ? btf__type_by_id(b, (uint32_t)id) : NULL;

	while (t != NULL && !btf_is_func_proto(t))
		t = btf_is_func(t) || btf_is_typedef(t) || btf_is_ptr(t)
		    ? btf__type_by_id(b, t->type)
		    : NULL;
	*n = t != NULL ? btf_vlen(t) : 0;
	return t != NULL ? btf_params(t) : NULL;
}

/* The place's arguments: types of a tracepoint come from its own type, names from the function that
 * calls its programs. The first argument of either is no argument of the place. */
struct place {
	struct btf *btf;
	const struct btf_param *types, *names;
	int n, n_names;
};

static int
place_find(struct place *p, bool tracepoint, const char *name)
{
	char full[WORD_BYTES + 16];

	if (!tracepoint) {
		p->types = p->names = params_of(p->btf, name, BTF_KIND_FUNC, &p->n);
		p->n_names = p->n;
		return p->types != NULL ? NW_OK : NW_ENOTFOUND;
	}
	snprintf(full, sizeof(full), "btf_trace_%s", name);
	p->types = params_of(p->btf, full, BTF_KIND_TYPEDEF, &p->n);
	snprintf(full, sizeof(full), "__traceiter_%s", name);
	p->names = params_of(p->btf, full, BTF_KIND_FUNC, &p->n_names);
	if (p->types == NULL)
		return NW_ENOTFOUND;
	p->types++;
	p->n--;
	if (p->names != NULL) {
		p->names++;
		p->n_names--;
	}
	return NW_OK;
}

static int
arg_find(const struct place *p, const char *word)
{
	char end;
	int i;

	if (sscanf(word, "arg%d%c", &i, &end) == 1 && i >= 0 && i < p->n)
		return i;
	for (i = 0; i < p->n && i < p->n_names; i++)
		if (strcmp(btf__name_by_offset(p->btf, p->names[i].name_off), word) == 0)
			return i;
	return -1;
}

/* Follows a member: through a pointer the member needs another load, inside a structure the same
 * load. */
static bool
step_take(const struct place *p, const char *word, uint32_t *type, struct user_field *f)
{
	uint32_t id, offset = 0;
	const struct btf_type *t = type_plain(p->btf, *type, &id);

	if (t != NULL && btf_is_ptr(t)) {
		if (f->steps == USER_STEPS_MAX)
			return false;
		f->offset[f->steps++] = 0;
		id = t->type;
	} else if (f->steps == 0) {
		return false;
	}
	if (!member_find(p->btf, id, word, type, &offset))
		return false;
	f->offset[f->steps - 1] += offset;
	return true;
}

/* Size and sign of what a path ends at: a number or a pointer. */
static bool
end_take(const struct place *p, uint32_t type, struct user_field *f)
{
	uint32_t id;
	const struct btf_type *t = type_plain(p->btf, type, &id);
	int64_t size = btf__resolve_size(p->btf, id);

	if (t == NULL || !(btf_is_int(t) || btf_is_any_enum(t) || btf_is_ptr(t)) ||
	    (size != 1 && size != 2 && size != 4 && size != 8))
		return false;
	f->size_bytes = (uint8_t)size;
	f->is_signed = btf_is_int(t) && (btf_int_encoding(t) & BTF_INT_SIGNED) != 0;
	return true;
}

static bool
path_take(const struct place *p, const char *path, struct user_field *f)
{
	char copy[WORD_BYTES], *word, *save = NULL;
	uint32_t type;
	int arg;

	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return false;
	word = strtok_r(copy, "->.", &save);
	if (word == NULL || (arg = arg_find(p, word)) < 0 || arg >= USER_ARGS_MAX)
		return false;
	memset(f, 0, sizeof(*f));
	f->arg = (uint8_t)arg;
	type = p->types[arg].type;
	while ((word = strtok_r(NULL, "->.", &save)) != NULL)
		if (!step_take(p, word, &type, f))
			return false;
	return end_take(p, type, f);
}

/* "id=PATH" is field 0, "value=PATH" field 1, a bare path the next of the payload. */
static int
template_fill(const struct place *p, char *const *fields, size_t n, struct user_template *t,
    char why[KERNEL_WHY_BYTES])
{
	size_t i, at, payload = 2;

	for (i = 0; i < USER_FIELDS; i++)
		t->field[i] = (struct user_field){ .arg = USER_NO_ARG };
	for (i = 0; i < n; i++) {
		const char *path = strchr(fields[i], '=');

		at = strncmp(fields[i], "id=", 3) == 0     ? 0
		    : strncmp(fields[i], "value=", 6) == 0 ? 1
							   : payload++;
		if (at < USER_FIELDS &&
		    path_take(p, at < 2 && path != NULL ? path + 1 : fields[i], &t->field[at]))
			continue;
		snprintf(why, KERNEL_WHY_BYTES, "\"%.60s\" is no field of that place", fields[i]);
		return NW_EINVAL;
	}
	return NW_OK;
}

/* --- objects --- */

static int
refuse(char why[KERNEL_WHY_BYTES], const char *what, int rc)
{
	const char *verifier = program_why();

	snprintf(why, KERNEL_WHY_BYTES, "%.60s: %s%s%s", what, strerror(rc < 0 ? -rc : rc),
	    verifier[0] != '\0' ? ": " : "", verifier);
	return NW_EUNSUPPORTED;
}

/* Loads a program of the open object p->object and puts it on the kernel's path. */
static int
load_and_link(struct user_point *p, struct bpf_object *maps, struct bpf_program *program,
    uint32_t id, const char *place, char why[KERNEL_WHY_BYTES])
{
	int rc = program_constant_set(p->program.object, "magnet_point", &id, sizeof(id));

	if (rc < 0) {
		program_close(&p->program);
		snprintf(why, KERNEL_WHY_BYTES, "%.60s: the object has no magnet_point", place);
		return NW_EINVAL;
	}
	if ((rc = program_load_of(&p->program, maps, program, BACKEND_TRACEPOINT)) != 0)
		return refuse(why, place, rc);
	if ((rc = program_link(&p->program)) != 0) {
		program_close(&p->program);
		return refuse(why, place, rc);
	}
	return NW_OK;
}

static int
kernel_place_attach(struct user_point *p, struct bpf_object *maps, uint32_t id, const char *place,
    char *const *fields, size_t n, char why[KERNEL_WHY_BYTES])
{
	bool tracepoint = strncmp(place, "tracepoint:", 11) == 0;
	const char *target = strchr(place, ':') + 1;
	struct place at = { .btf = btf__load_vmlinux_btf() };
	struct user_template t;
	struct bpf_program *program;
	struct bpf_map *m;
	int rc;

	if (at.btf == NULL)
		return refuse(why, "the kernel's type information", errno);
	rc = place_find(&at, tracepoint, target);
	if (rc < 0)
		snprintf(why, KERNEL_WHY_BYTES, "the kernel has no %s called \"%.60s\"",
		    tracepoint ? "tracepoint" : "function", target);
	else
		rc = template_fill(&at, fields, n, &t, why);
	btf__free(at.btf);
	if (rc < 0)
		return rc;
	p->program.object = program_object_open(magnet_user_object, magnet_user_object_bytes);
	if (p->program.object == NULL)
		return refuse(why, place, errno);
	bpf_object__for_each_map(
	    m, p->program.object) if (strncmp(bpf_map__name(m), "__bpf_usdt", 10) == 0)
	    bpf_map__set_autocreate(m, false); /* of probes in programs */
	program =
	    bpf_object__find_program_by_name(p->program.object, tracepoint ? "user_tp" : "user_fn");
	if ((rc = program_constant_set(p->program.object, "user", &t, sizeof(t))) < 0 ||
	    (rc = bpf_program__set_attach_target(program, 0, target)) != 0) {
		program_close(&p->program);
		return refuse(why, place, rc);
	}
	return load_and_link(p, maps, program, id, place, why);
}

/* "PATH:PROVIDER:NAME" */
static int
usdt_attach(struct user_point *p, struct bpf_object *maps, uint32_t id, const char *place,
    char why[KERNEL_WHY_BYTES])
{
	char copy[KERNEL_WHY_BYTES], *path = copy, *provider, *name;
	uint32_t point = id;
	int rc;

	snprintf(copy, sizeof(copy), "%s", place + strlen("usdt:"));
	if ((name = strrchr(copy, ':')) == NULL)
		return NW_EINVAL;
	*name++ = '\0';
	if ((provider = strrchr(copy, ':')) == NULL)
		return NW_EINVAL;
	*provider++ = '\0';
	p->program.object = program_object_open(magnet_user_object, magnet_user_object_bytes);
	if (p->program.object == NULL ||
	    program_constant_set(p->program.object, "magnet_point", &point, sizeof(point)) < 0)
		return refuse(why, place, errno);
	rc = program_load_of(&p->program, maps,
	    bpf_object__find_program_by_name(p->program.object, "user_usdt"), BACKEND_TRACEPOINT);
	if (rc != 0)
		return refuse(why, place, rc);
	p->program.link =
	    bpf_program__attach_usdt(p->program.program, -1, path, provider, name, NULL);
	if (p->program.link == NULL) {
		rc = errno;
		program_close(&p->program);
		return refuse(why, place, rc);
	}
	return NW_OK;
}

/* An object has one program, and may be anything: it is read whole, within a bound. */
static int
object_attach(struct user_point *p, struct bpf_object *maps, uint32_t id, const char *place,
    char why[KERNEL_WHY_BYTES])
{
	FILE *f = fopen(place + strlen("object:"), "re");
	void *bytes = f != NULL ? malloc(OBJECT_MAX_BYTES) : NULL;
	size_t len = bytes != NULL ? fread(bytes, 1, OBJECT_MAX_BYTES, f) : 0;
	struct bpf_program *program, *other;
	int rc = errno;

	p->program.object = len > 0 ? program_object_open(bytes, len) : NULL;
	if (len == 0 || p->program.object == NULL)
		rc = refuse(why, place, rc != 0 ? rc : EINVAL);
	else
		rc = NW_OK;
	if (f != NULL)
		fclose(f);
	free(bytes);
	if (rc < 0)
		return rc;
	program = bpf_object__next_program(p->program.object, NULL);
	bpf_object__for_each_program(other, p->program.object)
	    bpf_program__set_autoload(other, other == program);
	return load_and_link(p, maps, program, id, place, why);
}

int
user_point_attach(struct user_point *p, struct bpf_object *maps, uint32_t id, const char *place,
    char *const *fields, size_t n_fields, char why[KERNEL_WHY_BYTES])
{
	int rc = NW_EINVAL;

	snprintf(why, KERNEL_WHY_BYTES,
	    "a place is tracepoint:NAME, function:NAME, usdt:PATH:PROVIDER:NAME, object:FILE or "
	    "program");
	memset(&p->program, 0, sizeof(p->program));
	if (strncmp(place, "tracepoint:", 11) == 0 || strncmp(place, "function:", 9) == 0)
		rc = kernel_place_attach(p, maps, id, place, fields, n_fields, why);
	else if (n_fields > 0)
		snprintf(why, KERNEL_WHY_BYTES, "fields belong to tracepoints and functions");
	else if (strncmp(place, "usdt:", 5) == 0)
		rc = usdt_attach(p, maps, id, place, why);
	else if (strncmp(place, "object:", 7) == 0)
		rc = object_attach(p, maps, id, place, why);
	else if (strcmp(place, "program") == 0)
		rc = NW_OK;
	if (rc == NW_OK)
		snprintf(p->where, sizeof(p->where), "%s", place);
	return rc;
}
