/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The user that the box runs as when root starts the box. The configuration's user, or by default
 * the account "narrows"; without that account the owner of the state directory, or, if root owns
 * the directory, a number without an account, by the directory's path. An identity must
 * reach the state directory and own what is in there. Where the default finds none, the box stays
 * uid 0, and daemon/rights/jail.h takes its capabilities.
 */
#ifndef IDENTITY_H
#define IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include "narrows/conftable.h"

struct identity {
	char name[64]; /* account, or the number of a user without one */
	uid_t uid;
	gid_t gid;
	bool is_foreign;  /* uid 0 works in a directory of another user, which takes a capability */
	const char *note; /* reason to stay root, NULL without */
};

/*
 * Chooses the identity and gives it the state directory's files: those of root that have one name,
 * never through a link. tls_dir is the directory of keys outside the state directory, or NULL; its
 * owner is not changed. After NW_EINVAL, why says what the configured
 * user lacks. One thread, early.
 */
int identity_choose(const char *user, const char *state_dir, const char *tls_dir,
    struct identity *out, char why[CONF_WHY_BYTES]);

/* Becomes that user; keeps capabilities permitted for jail_enter(). */
int identity_take(const struct identity *id, char why[CONF_WHY_BYTES]);

#endif
