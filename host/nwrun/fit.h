/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a program loads nwrun.so, and with it stays what the program is without. */
#ifndef HOST_NWRUN_FIT_H
#define HOST_NWRUN_FIT_H

#include <stdbool.h>

enum { FIT_WORDS_BYTES = 1200 };

struct fit {
	bool is_proven;
	bool may_name;               /* LD_PRELOAD harms nothing, proven or not */
	unsigned blind;              /* set of enum proc_blind, for the collector */
	char words[FIT_WORDS_BYTES]; /* kind of the program, where nothing is proven */
};

/* `path` is the file that execvp() runs, `so` the file of nwrun.so. A loader that is not nwrun's
 * own lists the program's libraries once; the program does not run. */
void fit_look(const char *path, const char *so, struct fit *out);
/* The same by the file alone, whatever filter of system calls is in force. */
void fit_look_file(const char *path, const char *so, struct fit *out);
/* A fork without a signal at its end: the program must find no signal of a child it never had. */
int fit_fork(void);

#endif
