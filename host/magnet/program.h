/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program in the kernel. The first programs, and programs of other back-ends than tracepoints,
 * are loaded in an object of their own each, and the objects share their maps, so the refusal of a
 * program does not prevent the others. For each object libbpf reads the types of the kernel, which
 * takes longer than all else: further programs of tracepoints come from one object for all.
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
	struct bpf_object *object; /* NULL: of those loaded together */
	struct bpf_program *program;
	struct bpf_link *link;
	struct hook_links hook; /* of netfilter */
};

/* All programs of tracepoints, once more than two were asked for; zero to start. Where the kernel
 * refuses one of them, each is loaded by itself. Closed after the programs that came from it. */
struct together {
	struct bpf_object *object;
	unsigned asked;
	bool refused;
};
void together_close(struct together *t);

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
int program_attach(struct program *p, struct bpf_object *maps, struct together *t, const char *name,
    enum backend backend, const char *where);
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
