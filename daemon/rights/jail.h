/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The box shuts itself in, under any user: no new privileges; no capability but those that the
 * configuration needs; by Landlock no file but those named here, no outgoing TCP connection and no
 * signal to others; by a seccomp filter none of the system calls that only an intruder wants. All
 * of it holds for threads and programs that start later.
 */
#ifndef JAIL_H
#define JAIL_H

#include <stdbool.h>

struct jail_opts {
	const char *state_dir; /* written */
	const char *tls_dir;   /* written, NULL if it lies in the state directory */
	const char *conf_path; /* read, NULL without */
	bool low_port;         /* a listener has a port below 1024 */
	bool foreign_dir;      /* the directories belong to another user than the process */
};

struct jail {
	bool landlock, seccomp;
	char capabilities[64]; /* words, "none" without */
};

/* One thread, before others start. What the kernel lacks is false in *out; fails only if
 * capabilities cannot be dropped. */
int jail_enter(const struct jail_opts *o, struct jail *out);
/*
 * Behind the start, for all threads and later programs: no new UNIX socket, so no service beside
 * the box can be called, and no set-user-ID bit or right of all others for a file. Returns false
 * if the kernel lacks such filters.
 */
bool jail_close(void);

#endif
