/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Subjects and rows of series as nwrun's collector and GridFTP's driver write them, so that the box
 * reads both alike. Texts and names are on loan until the list is sent; a caller adds fewer than a
 * list has room for. Any thread.
 */
#ifndef HOST_SAID_H
#define HOST_SAID_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/lib/mount.h"
#include "host/lib/net_addr.h"
#include "narrows/provider.h"

/* --- a subject: keys and values --- */

struct kv_list {
	struct nw_kv kv[28];
	size_t n;
	char text[2][INET6_ADDRSTRLEN];
};

/* Adds nothing for NULL or an empty text. */
static inline void
kv_text(struct kv_list *l, const char *key, const char *text)
{
	if (text != NULL && text[0] != '\0')
		l->kv[l->n++] = (struct nw_kv){ .key = key, .type = NW_KV_TEXT, .v.text = text };
}

static inline void
kv_int(struct kv_list *l, const char *key, int64_t i)
{
	l->kv[l->n++] = (struct nw_kv){ .key = key, .type = NW_KV_INT, .v.i = i };
}

/* The box knows places by the type (narrows/filesystem.h). */
static inline void
kv_mount(struct kv_list *l, const struct mount *m)
{
	if (m == NULL)
		return;
	kv_text(l, "filesystem", m->type);
	kv_text(l, "mount", m->point);
	kv_text(l, "source", m->device);
	kv_text(l, "server_address", m->address);
}

/* NULL for an address of no family. */
static inline const char *
addr_text(const struct net_addr *a, char out[INET6_ADDRSTRLEN])
{
	return inet_ntop(a->family, a->ip, out, INET6_ADDRSTRLEN);
}

/* --- a row: numbers by name --- */

struct field_list {
	const char *name[32];
	double value[32];
	size_t n;
	bool any; /* a value is not 0 */
};

static inline void
field(struct field_list *f, const char *name, double value)
{
	f->name[f->n] = name;
	f->value[f->n++] = value;
	f->any |= value != 0;
}

/* --- a connection, by the kernel (collect_tcp.c) --- */

struct tcp_sample {
	double rtt_s, rtt_min_s, cwnd_bytes, retrans, delivery_rate, busy_s, rwnd_limited_s,
	    sndbuf_limited_s;
	double snd_mss, snd_wnd, notsent_bytes; /* NaN: this kernel does not tell */
	/* received and unread bytes, in parts of the largest receive window; NaN: not asked */
	double unread_share;
};
/* Reads the kernel's struct tcp_info, as far as it reaches. */
void tcp_parse(const uint8_t *info, size_t len, struct tcp_sample *out);
void fields_tcp(struct field_list *f, const struct tcp_sample *tcp);

#endif
