/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mounts of a session's files, as the hosts described them with the files. The texts are those
 * of a host's mount table, which a user of that host may have written: they are cut, and characters
 * that a line of text cannot show are replaced.
 */
#include "analyze/verdict/evidence/evidence_in.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/xmalloc.h"

/* Connections of a host with the host's addresses. */
enum { HOST_CONNECTIONS = 8 };

enum { TEXT_BYTES = 128 };

/* Controls, the characters U+0080 to U+009F, and marks of writing direction hide or move text. A
 * text is cut before a character that does not fit. malloc'ed. */
static char *
text_clean(const char *text)
{
	static const char *const hidden[] = { "\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac",
		"\xe2\x80\xad", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa7", "\xe2\x81\xa8",
		"\xe2\x81\xa9", "\xe2\x80\xa8", "\xe2\x80\xa9" };
	char *out = xstrdup(text != NULL ? text : "");
	size_t n = strlen(out), i;
	char *at;

	if (n >= TEXT_BYTES) {
		for (n = TEXT_BYTES - 1; n > 0 && ((unsigned char)out[n] & 0xc0) == 0x80; n--)
			;
		out[n] = '\0';
	}
	for (at = out; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
		else if ((unsigned char)at[0] == 0xc2 && ((unsigned char)at[1] & 0xe0) == 0x80)
			at[0] = at[1] = '?';
	for (i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		while ((at = strstr(out, hidden[i])) != NULL)
			memset(at, '?', strlen(hidden[i]));
	return out;
}

static char *
member_clean(const json_t *subject, const char *key)
{
	return text_clean(json_string_value(json_object_get(subject, key)));
}

void
mount_clear(struct evidence_mount *m)
{
	free(m->type);
	free(m->point);
	free(m->source);
	free(m->server);
	free(m->address);
}

static bool
mount_is(const struct evidence_mount *a, const struct evidence_mount *b)
{
	return a->host == b->host && strcmp(a->type, b->type) == 0 &&
	    strcmp(a->point, b->point) == 0 && strcmp(a->source, b->source) == 0;
}

size_t
mount_add(struct evidence *e, size_t host, const json_t *subject)
{
	struct evidence_mount m = { .host = host, .serves = SIZE_MAX };
	char server[NW_FS_TEXT_BYTES];
	size_t i;

	m.type = member_clean(subject, "filesystem");
	m.point = member_clean(subject, "mount");
	m.source = member_clean(subject, "source");
	m.address = member_clean(subject, "server_address");
	nw_fs_server(m.type, m.source, server);
	m.server = text_clean(server);
	/* without a type the host's own device: agents name no other mount so, and older agents
	 * none at all */
	m.place = m.type[0] == '\0' ? NW_FS_LOCAL : nw_fs_place(m.type, m.source);
	for (i = 0; i < e->n_mounts; i++)
		if (mount_is(&e->mounts[i], &m))
			break;
	if (i < e->n_mounts || e->n_mounts == EVIDENCE_LIST_MAX) {
		mount_clear(&m);
		return i;
	}
	e->mounts = xreallocarray(e->mounts, e->n_mounts + 1, sizeof(*e->mounts));
	e->mounts[e->n_mounts++] = m;
	return i;
}

const struct evidence_mount *
evidence_mount_of(const struct evidence *e, size_t host, bool write)
{
	const struct evidence_mount *m, *most = NULL;
	double all = 0, far = 0;

	for (m = e->mounts; m < e->mounts + e->n_mounts; m++) {
		if (m->host != host)
			continue;
		all += m->bytes[write];
		if (!nw_fs_is_far(m->place))
			continue;
		far += m->bytes[write];
		if (m->bytes[write] > 0 && (most == NULL || m->bytes[write] > most->bytes[write]))
			most = m;
	}
	return far >= 0.5 * all ? most : NULL;
}

/* --- the measured server of a mount --- */

/* "dtn-a" is "dtn-a.site.example", and the other way round; an address is itself alone. */
static bool
names_meet(const char *a, const char *b)
{
	size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

	return n > 0 && strncmp(a, b, n) == 0 &&
	    (a[n] == b[n] ||
		((a[n] == '.' || b[n] == '.') && strspn(a, "0123456789.") < n &&
		    memchr(a, '.', n) == NULL));
}

struct server_search {
	struct loader *l;
	struct evidence_mount *mount;
	bool found;
};

/* Whether a list of addresses, each ended by a blank or a slash with a port, has the address. */
static bool
has_word(const char *list, const char *address)
{
	size_t n = strlen(address);

	for (; list != NULL && *list != '\0'; list += strcspn(list, " "), list += *list == ' ')
		if (strncmp(list, address, n) == 0 && strchr(" /", list[n]) != NULL)
			return true;
	return false;
}

static int
on_connection(void *arg, const struct nw_xsp_rec *x)
{
	struct server_search *s = arg;
	const char *by[] = { s->mount->address, s->mount->server };
	size_t i;

	for (i = 0; i < 2 && !s->found; i++)
		s->found =
		    by[i][0] != '\0' && (has_word(x->peer, by[i]) || has_word(x->addresses, by[i]));
	return s->found;
}

static int
on_host_of_box(void *arg, const struct nw_host_rec *h)
{
	struct server_search *s = arg;
	int rc = NW_OK;

	s->found = names_meet(h->name, s->mount->server);
	if (!s->found)
		rc = store_xsp_of_host(s->l->reader, h->id, HOST_CONNECTIONS, on_connection, s);
	if (s->found && rc == NW_OK)
		s->mount->serves = host_index(s->l, h->id);
	return rc < 0 ? rc : s->found;
}

int
mounts_serve(struct loader *l)
{
	struct server_search s = { .l = l };
	size_t i;
	int rc = NW_OK;

	for (i = 0; i < l->e->n_mounts && rc == NW_OK; i++) {
		s.mount = &l->e->mounts[i];
		if (s.mount->place == NW_FS_NETWORK &&
		    (s.mount->server[0] != '\0' || s.mount->address[0] != '\0'))
			rc = store_hosts(l->reader, on_host_of_box, &s);
	}
	return rc;
}
