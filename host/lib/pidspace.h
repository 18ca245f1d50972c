/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name space of processes whose numbers the kernel's programs use. A process has a number at
 * each level of nested name spaces; programs in the kernel show the numbers of their reader's.
 */
#ifndef NW_LIB_PIDSPACE_H
#define NW_LIB_PIDSPACE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* The first name space of processes, which has the kernel's own numbers. */
#define PIDSPACE_FIRST 0xEFFFFFFCu

/* Level 0: all processes, by the kernel's own numbers. */
struct pidspace {
	uint32_t level, ns;
};

/* The level of this process's name space: the answer of one program of an open object, which is
 * closed. Negative on failure. */
static inline int
pidspace_level(struct bpf_object *object, const char *program)
{
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, run);
	struct bpf_program *p, *asked = NULL;
	struct bpf_map *m;
	bool is_asked;
	int rc;

	if (object == NULL)
		return -errno;
	bpf_object__for_each_program(p, object)
	{
		is_asked = strcmp(bpf_program__name(p), program) == 0;
		bpf_program__set_autoload(p, is_asked);
		if (is_asked)
			asked = p;
	}
	bpf_object__for_each_map(m, object)(void) bpf_map__set_autocreate(m, false);
	if ((rc = asked == NULL ? -ENOENT : bpf_object__load(object)) == 0 &&
	    (rc = bpf_prog_test_run_opts(bpf_program__fd(asked), &run)) == 0)
		rc = (int)run.retval;
	bpf_object__close(object);
	return rc;
}

/* The name space of this process; object_open() opens the object that has the program. 0 or a
 * negative errno. */
static inline int
pidspace_find(struct pidspace *out, struct bpf_object *(*object_open)(void), const char *program)
{
	struct stat st;
	int level;

	*out = (struct pidspace){ 0 };
	if (stat("/proc/self/ns/pid", &st) != 0)
		return -errno;
	if (st.st_ino == PIDSPACE_FIRST)
		return 0;
	if ((level = pidspace_level(object_open(), program)) < 0)
		return level;
	*out = (struct pidspace){ (uint32_t)level, (uint32_t)st.st_ino };
	return 0;
}

#endif
