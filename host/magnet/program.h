/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program in the kernel. Objects share maps, and have a program each, so the refusal of a
 * program does not prevent the others. For each object libbpf reads the types of the kernel, and
 * that takes longer than all else: programs of tracepoints for the same moment share an object.
 */
#ifndef MAGNET_PROGRAM_H
#define MAGNET_PROGRAM_H

#include <stdbool.h>

#include <bpf/libbpf.h>

#include "host/magnet/points.h"

enum { PROGRAM_WHY_BYTES = 160 };

/* The links of a program of netfilter in a network namespace, by address family; zero to start. */
enum { PROGRAM_HOOKS_MAX = 2 };
struct hook_links {
	int fds[PROGRAM_HOOKS_MAX];
};

/* zero to start */
struct program {
	struct bpf_object *object; /* NULL: of a batch */
	struct bpf_program *program;
	struct bpf_link *link;
	struct hook_links hook; /* of netfilter */
};

/* Programs of tracepoints, loaded together; zero to start. Closed after the programs from there. */
enum { BATCHES_MAX = 8 };
struct batches {
	struct bpf_object *objects[BATCHES_MAX];
	size_t n;
};
/* Loads the named programs of tracepoints that this kernel has, in one object. Where the kernel
 * refuses a program, nothing is loaded, and attaching loads programs alone. */
void batch_load(struct batches *b, struct bpf_object *maps, const char *const *names, size_t n);
void batches_close(struct batches *b);

/* The object with all programs, none of which loads by itself; NULL with errno. */
struct bpf_object *program_object(void);
/* An object of programs in memory, opened like that object; NULL with errno. */
struct bpf_object *program_object_open(const void *bytes, size_t len);

/* Sets a constant of an object that is open and not loaded. NW_ENOTFOUND, NW_EINVAL (another
 * size), NW_EIO. */
int program_constant_set(struct bpf_object *o, const char *name, const void *value, size_t bytes);

/* Loads a program with the maps of another object; attaching comes after loading. Both return 0 or
 * a negative errno; *p is closed after an error. where: the hook of BACKEND_NETFILTER. */
int
program_load(struct program *p, struct bpf_object *maps, const char *name, enum backend backend);
/* The same for a program of the open p->object; the object's other programs do not load. */
int program_load_of(
    struct program *p, struct bpf_object *maps, struct bpf_program *program, enum backend backend);
int program_attach(struct program *p, struct bpf_object *maps, const struct batches *b,
    const char *name, enum backend backend, const char *where);
void program_close(struct program *p);

/* Links a program of netfilter in the calling thread's namespace. 0 or a negative errno. */
int program_hook(const struct program *p, const char *where, struct hook_links *out);
void hook_links_close(struct hook_links *l);

/* The verifier's reason against the last program; empty without a reason. On loan until the next
 * program. */
const char *program_why(void);

/* Takes a program off the kernel's path, and puts the loaded program back; not for
 * BACKEND_NETFILTER. 0 or a negative errno. */
void program_unlink(struct program *p);
int program_link(struct program *p);

#endif
