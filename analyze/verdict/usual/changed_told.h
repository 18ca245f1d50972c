/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the documents of sessions tell as a setting would: directories of the data ("data.source",
 * "data.destination"), ways to the other ends ("way.PEER.hops", "way.PEER.mtu"), and switch ports
 * ("switch.port", "switch.NAME.PORT.speed_mbit_s"). A history belongs to a thread at a time.
 */
#ifndef CHANGED_TOLD_H
#define CHANGED_TOLD_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct changed_ask;
struct changed;
struct changed_told;

/* Documents of so many sessions, in time order; never NULL. Free with changed_told_free(). */
struct changed_told *changed_told_new(size_t n_sessions);
void changed_told_read(struct changed_told *told, size_t session, const json_t *doc);
/* Adds what moved. NW_ENOMEM */
int changed_told_compare(
    const struct changed_told *told, const struct changed_ask *ask, struct changed *out);
void changed_told_free(struct changed_told *told);

/* Whether documents tell the setting of the name, and not the host's own report. */
bool changed_told_is(const char *name);
/* The value that a document tells, or NULL. free() the text. */
char *changed_told_value(const json_t *doc, const char *host, const char *name);
/* Whether a directory may come from this file: the most bytes of its host, read or written. */
bool changed_told_is_most(const json_t *files, const json_t *file);

#endif
