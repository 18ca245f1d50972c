/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes by number with all below, by control group, by unit. */
#ifndef HOST_OUTSIDE_TARGETS_H
#define HOST_OUTSIDE_TARGETS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void targets_fn(void *arg, uint32_t pid);

/* The process and its descendants, but neither the caller nor the caller's own. */
void targets_tree(uint32_t pid, targets_fn *fn, void *arg);
/* Whether `above` is the process or an ancestor of the process. */
bool targets_is_below(uint32_t pid, uint32_t above);
/* The processes of a control group, by its directory, and of the groups below. */
void targets_group(const char *dir, targets_fn *fn, void *arg);
/* The kernel's number of the group; 0: no group. */
uint64_t targets_group_id(const char *dir);
/* The directory of a unit's group. A name without a dot is that of a service. */
bool targets_unit(const char *unit, char dir[PATH_MAX]);
/* Whether nwrun measures the process from inside. */
bool targets_is_measured(uint32_t pid);
/* Name and arguments (cut) of a process. Returns false without such a process. */
bool
targets_describe(uint32_t pid, char *name, size_t name_cap, char *arguments, size_t arguments_cap);

#endif
