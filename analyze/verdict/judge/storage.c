/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Storage: files on no device of the host, but behind a server, or in a file system of an unknown
 * type. The host's devices tell nothing of it. Where the server is measured, its devices and
 * processors do.
 */
#include "analyze/verdict/judge/judge_in.h"

#include "narrows/xmalloc.h"

const struct evidence_mount *
judge_stage_mount(const struct evidence *e, const struct nw_path_stage *s)
{
	return nw_stage_kind_is_storage(s->kind)
	    ? evidence_mount_of(e, s->host, s->kind == NW_STAGE_STORAGE_WRITE)
	    : NULL;
}

/* "reading /mnt on dtn-a from nas:/export (nfs4, a file system over the network)" */
static char *
network_text(const struct evidence_mount *m, const char *way, const char *host, bool writes)
{
	const char *towards = writes ? " to " : " from ";

	return xasprintf("%s %s on %s%s%s (%s, a file system over the network)", way,
	    m->point[0] != '\0' ? m->point : "files", host, m->source[0] != '\0' ? towards : "",
	    m->source, m->type);
}

char *
storage_text(const struct evidence *e, const struct nw_path_stage *s)
{
	const struct evidence_mount *m = judge_stage_mount(e, s);
	bool writes = s->kind == NW_STAGE_STORAGE_WRITE;
	const char *host = evidence_host_name(e, s->host, "?"),
		   *way = writes ? "writing" : "reading";

	if (m != NULL && m->place == NW_FS_NETWORK)
		return network_text(m, way, host, writes);
	if (m != NULL && m->point[0] != '\0')
		return xasprintf("%s %s on %s (%s, a file system of unknown type)", way, m->point,
		    host, m->type);
	return xasprintf("%s a file system of unknown type on %s", way, host);
}

/* The measured server of the limit's storage; the number of hosts if there is none. */
static size_t
server_of(const struct judgement *j, const struct evidence *e)
{
	const struct evidence_mount *m = j->limit.stage < j->path.n
	    ? judge_stage_mount(e, &j->path.stage[j->limit.stage])
	    : NULL;

	return m != NULL && m->serves < e->n_hosts ? m->serves : e->n_hosts;
}

bool
storage_server(const struct judgement *j, const struct evidence *e, struct storage_server *out)
{
	const struct evidence_host *h;

	out->host = server_of(j, e);
	if (out->host == e->n_hosts)
		return false;
	h = &e->hosts[out->host];
	out->disk_busy = mean_known(h->disk_busy, e->n_windows);
	out->cpu_busy = mean_known(h->cpu_busy, e->n_windows);
	return true;
}
