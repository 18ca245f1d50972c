/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a layout says of a set's blocks beside their sizes. A row is a member of struct dpss_layout,
 * a byte on the wire, a column of the master's catalogue, and an option and a column of dpss(1).
 * The rule that reads the member is in dpss/master/catalog_place.c.
 */
#ifndef NARROWS_DPSS_LAYOUT_H
#define NARROWS_DPSS_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "dpss/pack.h"
#include "narrows/dpss.h"

/* X(member, least, most, value without an option, option, the option's argument, words) */
#define DPSS_LAYOUT(X)                                                \
	X(copies, 1, 4, 1, "c", "COPIES", "copies of each block (1)") \
	X(parity, 0, 255, 0, "k", "PARITY", "a block of parity for so many of data (none)")

#define LAYOUT_COUNT(...) +1
enum { LAYOUT_ROWS = DPSS_LAYOUT(LAYOUT_COUNT) };

struct layout_row {
	const char *name;
	uint8_t least, most, usual;
	char option;
};

extern const struct layout_row layout_rows[LAYOUT_ROWS];

/* The member of a row. */
uint8_t *layout_value(struct dpss_layout *l, size_t row);
void layout_usual(struct dpss_layout *l);
bool layout_is_valid(const struct dpss_layout *l);
/* All rows' bytes, in order. */
void layout_pack(struct packer *p, const struct dpss_layout *l);
void layout_unpack(struct unpacker *u, struct dpss_layout *l);

#endif
