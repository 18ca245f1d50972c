/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings of the host: names and values, as text, collected afresh at each look. A name begins
 * with its group ("net.eth0.mtu"); a collector fills one group. Values are cut at
 * SETTING_VALUE_BYTES - 1 bytes and become printable UTF-8; settings past SETTINGS_MAX, and those
 * with a longer name, are left out and counted.
 */
#ifndef HOST_SETTINGS_H
#define HOST_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SETTING_NAME_BYTES = 120, SETTING_VALUE_BYTES = 240, SETTINGS_MAX = 3000 };

struct setting {
	char *name; /* owner of the memory; the value follows the name's end */
	const char *value;
};

struct settings {
	struct setting *list;
	size_t n, cap;
	uint64_t left_out;
}; /* zero to start */

/* Adds "group.device.name", or "group.name" for an empty or missing device. */
void settings_put(
    struct settings *s, const char *group, const char *device, const char *name, const char *value);
void settings_put_number(
    struct settings *s, const char *group, const char *device, const char *name, long long value);
/* Adds the text of a file without the blanks at both ends; nothing if the file cannot be read. */
void settings_put_file(
    struct settings *s, const char *group, const char *device, const char *name, const char *path);
/* Sorts by name; of equal names the last counts. */
void settings_sort(struct settings *s);
void settings_clear(struct settings *s);

/* Reads a small file into text, without blanks at the end. False if the file cannot be read. */
bool settings_read(const char *path, char *text, size_t cap);

/* --- collectors --- */

struct filter;
void settings_of_system(struct settings *s); /* kernel, os, cpu, memory, cgroup */
/* root: "/proc/sys" */
void settings_of_sysctl(struct settings *s, const char *root);
void settings_of_net(struct settings *s, const struct filter *filter);
void settings_of_disks(struct settings *s, const struct filter *filter);
/* mounts: the text of /proc/self/mountinfo */
void settings_of_mounts(struct settings *s, const char *mounts, const struct filter *filter);

#endif
