/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/filesystem.h"

#include <string.h>

/*
 * How a source names its server:
 *	COLON     [user@]server:export, an IPv6 address in brackets
 *	SLASHES   //[user@]server/share
 *	NID       server@network[:server@network ...]:/export
 *	CEPH      server[:port][,server ...]:/path, or user@fsid.name=/path, without a server
 *	URL       scheme://[user@]server[:port]/path
 *	PLAIN     a name of another kind: tag, pool, bucket, device
 */
enum form { PLAIN, COLON, SLASHES, NID, CEPH, URL };

static const struct row {
	const char *type;
	uint32_t magic;
	enum nw_fs_place place;
	enum form form;
} rows[] = {
#define FILESYSTEM(type, magic, place, form) { type, magic, NW_FS_##place, form },
#include "narrows/filesystem.def"
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const struct row *
row_find(const char *type)
{
	const struct row *r;

	for (r = rows; type != NULL && r < rows + ROWS; r++)
		if (strcmp(r->type, type) == 0)
			return r;
	return NULL;
}

const char *
nw_fs_type_of_magic(uint32_t magic)
{
	const struct row *r;

	for (r = rows; magic != 0 && r < rows + ROWS; r++)
		if (r->magic == magic)
			return r->type;
	return NULL;
}

/* A source of an unknown type that can only be a server's. */
static enum form
form_guess(const char *source)
{
	if (strncmp(source, "//", 2) == 0)
		return SLASHES;
	if (strstr(source, "://") != NULL)
		return URL;
	return strstr(source, ":/") != NULL ? COLON : PLAIN;
}

enum nw_fs_place
nw_fs_place(const char *type, const char *source)
{
	const struct row *r = row_find(type);

	if (r != NULL)
		return r->place;
	if (type == NULL || source == NULL)
		return NW_FS_UNKNOWN;
	if (strncmp(source, "/dev/", 5) == 0 && strncmp(type, "fuse", 4) != 0)
		return NW_FS_LOCAL;
	return form_guess(source) != PLAIN ? NW_FS_NETWORK : NW_FS_UNKNOWN;
}

static void
copy_part(char out[NW_FS_TEXT_BYTES], const char *from, size_t len)
{
	if (len >= NW_FS_TEXT_BYTES)
		len = 0; /* no name of a host is so long */
	memcpy(out, from, len);
	out[len] = '\0';
}

/* "user@host:port/path" from the begin of a source's server on; `end` has the characters behind. */
static void
authority(char out[NW_FS_TEXT_BYTES], const char *from, const char *end)
{
	size_t len = strcspn(from, end), at;
	const char *close;

	for (at = len; at > 0; at--)
		if (from[at - 1] == '@')
			break;
	from += at;
	len -= at;
	if (from[0] == '[' && (close = strchr(from, ']')) != NULL)
		copy_part(out, from + 1, (size_t)(close - from) - 1);
	else {
		at = strcspn(from, ":");
		copy_part(out, from, at < len ? at : len);
	}
}

/* Before the colon, which a bracket may hold. */
static void
server_before_colon(char out[NW_FS_TEXT_BYTES], const char *source)
{
	const char *bracket = strchr(source, '['), *colon = strchr(source, ':');

	if (colon == NULL)
		return;
	if (bracket != NULL && bracket < colon)
		authority(out, source, "/");
	else
		authority(out, source, ":");
}

void
nw_fs_server(const char *type, const char *source, char out[NW_FS_TEXT_BYTES])
{
	const struct row *r = row_find(type);
	const char *at;

	out[0] = '\0';
	if (source == NULL)
		return;
	switch (r != NULL ? r->form : form_guess(source)) {
	case COLON: server_before_colon(out, source); break;
	case SLASHES:
		if (strncmp(source, "//", 2) == 0)
			authority(out, source + 2, "/");
		break;
	case NID:
		if (strchr(source, ':') != NULL)
			copy_part(out, source, strcspn(source, "@:,"));
		break;
	case CEPH:
		if (strstr(source, ":/") != NULL && strchr(source, '=') == NULL)
			authority(out, source, ",/");
		break;
	case URL:
		if ((at = strstr(source, "://")) != NULL)
			authority(out, at + 3, "/,");
		break;
	case PLAIN: break;
	}
}

const char *
nw_fs_place_name(enum nw_fs_place place)
{
	static const char *const names[] = {
		[NW_FS_UNKNOWN] = "unknown", [NW_FS_LOCAL] = "local", [NW_FS_NETWORK] = "network"
	};

	return names[place];
}
