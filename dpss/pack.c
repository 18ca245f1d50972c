/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpss/pack.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

static uint8_t *
room(struct packer *p, size_t len)
{
	size_t cap = p->cap > 0 ? p->cap : 256;
	uint8_t *grown;

	if (p->failed)
		return NULL;
	while (cap - p->len < len)
		cap *= 2;
	if (cap != p->cap) {
		if ((grown = realloc(p->bytes, cap)) == NULL) {
			p->failed = true;
			return NULL;
		}
		p->bytes = grown;
		p->cap = cap;
	}
	p->len += len;
	return p->bytes + p->len - len;
}

static void
put(struct packer *p, uint64_t v, size_t n)
{
	uint8_t *at = room(p, n);

	while (at != NULL && n-- > 0) {
		at[n] = (uint8_t)v;
		v >>= 8;
	}
}

void
pack_u8(struct packer *p, uint8_t v)
{
	put(p, v, 1);
}

void
pack_u16(struct packer *p, uint16_t v)
{
	put(p, v, 2);
}

void
pack_u32(struct packer *p, uint32_t v)
{
	put(p, v, 4);
}

void
pack_u64(struct packer *p, uint64_t v)
{
	put(p, v, 8);
}

void
pack_bytes(struct packer *p, const void *bytes, size_t len)
{
	uint8_t *at = room(p, len);

	if (at != NULL && len > 0)
		memcpy(at, bytes, len);
}

void
pack_text(struct packer *p, const char *text)
{
	size_t len = strlen(text);

	if (len > UINT16_MAX)
		p->failed = true;
	pack_u16(p, (uint16_t)len);
	pack_bytes(p, text, len);
}

void
pack_free(struct packer *p)
{
	free(p->bytes);
	*p = (struct packer){ 0 };
}

struct unpacker
unpack_of(const void *bytes, size_t len)
{
	return (struct unpacker){ bytes, len, false };
}

const uint8_t *
unpack_bytes(struct unpacker *u, size_t len)
{
	const uint8_t *at = u->at;

	if (u->failed || len > u->left) {
		u->failed = true;
		return NULL;
	}
	u->at += len;
	u->left -= len;
	return at;
}

static uint64_t
take(struct unpacker *u, size_t n)
{
	const uint8_t *at = unpack_bytes(u, n);
	uint64_t v = 0;
	size_t i;

	for (i = 0; at != NULL && i < n; i++)
		v = v << 8 | at[i];
	return v;
}

uint8_t
unpack_u8(struct unpacker *u)
{
	return (uint8_t)take(u, 1);
}

uint16_t
unpack_u16(struct unpacker *u)
{
	return (uint16_t)take(u, 2);
}

uint32_t
unpack_u32(struct unpacker *u)
{
	return (uint32_t)take(u, 4);
}

uint64_t
unpack_u64(struct unpacker *u)
{
	return take(u, 8);
}

void
unpack_text(struct unpacker *u, char *out, size_t cap)
{
	size_t len = unpack_u16(u);
	const uint8_t *at = unpack_bytes(u, len);

	out[0] = '\0';
	if (at == NULL || len >= cap || memchr(at, '\0', len) != NULL) {
		u->failed = true;
		return;
	}
	memcpy(out, at, len);
	out[len] = '\0';
}

bool
unpack_has(struct unpacker *u, uint64_t n, size_t entry_bytes)
{
	if (n > u->left / entry_bytes)
		u->failed = true;
	return !u->failed;
}

int
unpack_end(const struct unpacker *u)
{
	return u->failed || u->left > 0 ? NW_EPROTO : NW_OK;
}
