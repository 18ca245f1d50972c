/* SPDX-License-Identifier: BSD-3-Clause */
/* The directives of narrowsd.conf that the narrows command needs as well as the box: both programs
 * take these rows into their tables. */
#ifndef NARROWS_SITECONF_H
#define NARROWS_SITECONF_H

#include "narrows/conftable.h"

/* s: a struct with the fields char *state_dir and char *tls_dir. */
#define SITECONF_ROWS(s)                                                                     \
	{ "state-dir", &conf_text, offsetof(s, state_dir), "/var/lib/narrows", NULL, NULL }, \
	{                                                                                    \
		"tls-dir", &conf_text, offsetof(s, tls_dir), "tls", NULL, NULL               \
	}

/* The directory of keys and certificates: tls_dir, below the state directory unless absolute. The
 * caller frees the text. */
char *siteconf_tls_dir(const char *state_dir, const char *tls_dir);

#endif
