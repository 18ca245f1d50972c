/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/set_layout.h"

#define ROW(name, least, most, usual, option, arg, words) { #name, least, most, usual, option[0] },
const struct layout_row layout_rows[LAYOUT_ROWS] = { DPSS_LAYOUT(ROW) };

#define OFFSET(name, ...) offsetof(struct dpss_layout, name),
static const size_t offsets[LAYOUT_ROWS] = { DPSS_LAYOUT(OFFSET) };

uint8_t *
layout_value(struct dpss_layout *l, size_t row)
{
	return (uint8_t *)l + offsets[row];
}

void
layout_usual(struct dpss_layout *l)
{
	size_t i;

	for (i = 0; i < LAYOUT_ROWS; i++)
		*layout_value(l, i) = layout_rows[i].usual;
}

bool
layout_is_valid(const struct dpss_layout *l)
{
	struct dpss_layout copy = *l;
	size_t i;

	for (i = 0; i < LAYOUT_ROWS; i++)
		if (*layout_value(&copy, i) < layout_rows[i].least ||
		    *layout_value(&copy, i) > layout_rows[i].most)
			return false;
	return true;
}

void
layout_pack(struct packer *p, const struct dpss_layout *l)
{
	struct dpss_layout copy = *l;
	size_t i;

	for (i = 0; i < LAYOUT_ROWS; i++)
		pack_u8(p, *layout_value(&copy, i));
}

void
layout_unpack(struct unpacker *u, struct dpss_layout *l)
{
	size_t i;

	for (i = 0; i < LAYOUT_ROWS; i++)
		*layout_value(l, i) = unpack_u8(u);
}
