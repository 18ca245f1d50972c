/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Points of users: a place in the kernel or in a program that the registry does not have, and the
 * fields that an event takes there. The place is one of
 *
 *	tracepoint:NAME            a tracepoint, by the kernel's type information
 *	function:NAME              the entry of a function of the kernel
 *	usdt:PATH:PROVIDER:NAME    a probe that a program was built with
 *	object:FILE                a program of the user's own, built with bpf/event.h
 *	program                    nothing in the kernel: `magnet event` makes the events
 *
 * and a field is an argument and members, as prev->pid or arg1->mm.
 */
#ifndef MAGNET_USER_POINT_H
#define MAGNET_USER_POINT_H

#include "host/magnet/magnet_kernel.h"
#include "host/magnet/program.h"

struct user_point {
	char name[MAGNET_NAME_BYTES]; /* empty: unused */
	char where[MAGNET_NAME_BYTES];
	struct program program; /* without object for a place `program` */
};

/*
 * Loads and attaches the point of that id. fields: "id=PATH", "value=PATH", or up to
 * MAGNET_FIELDS_MAX bare paths. NW_EINVAL, NW_EUNSUPPORTED with why: the verifier's reason
 * after a refusal.
 */
int user_point_attach(struct user_point *p, struct bpf_object *maps, uint32_t id, const char *place,
    char *const *fields, size_t n_fields, char why[KERNEL_WHY_BYTES]);

#endif
