/* SPDX-License-Identifier: BSD-3-Clause */
/* A handle's beginning and end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpss/client/client.h"
#include "dpss/serve.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/tls.h"

/* --- beginning and end --- */

/* The lists that any client asks for can be recorded, to be asked for again. */
static int
trace_open(struct dpss *d, const struct dpss_opts *opts)
{
	const char *path = opts->trace != NULL ? opts->trace : getenv("DPSS_TRACE");

	if (path == NULL || (d->trace = fopen(path, "ae")) != NULL) {
		d->trace_mono_ns = nw_mono_ns();
		return NW_OK;
	}
	snprintf(d->why, sizeof(d->why), "%.150s: %s", path, strerror(errno));
	return NW_EIO;
}

static int
start(struct dpss *d, const struct dpss_opts *opts, uint16_t type, struct packer *p)
{
	struct channel_message m;
	int rc;

	if ((rc = blocklog_open(opts->log, NULL, &d->log, d->why)) != NW_OK ||
	    (rc = trace_open(d, opts)) != NW_OK ||
	    (rc = serve_tls(opts->tls_dir, false, &d->tls, d->why)) != NW_OK ||
	    (rc = client_connect(opts, d->tls, &d->master, d->why)) != NW_OK) {
		d->master = NULL;
		return rc;
	}
	if ((rc = client_ask(d->master, type, p, DPSS_OPENED, &m, d->why)) != NW_OK ||
	    (rc = client_opened(d, &m.contents)) != NW_OK)
		return rc;
	if (pthread_create(&d->master_thread, NULL, client_master_run, d) != 0)
		return NW_ENOMEM;
	d->master_started = true;
	return NW_OK;
}

static struct dpss *
handle_new(const struct dpss_opts *opts, const char *name)
{
	const char *master = opts->master != NULL ? opts->master : getenv("DPSS_MASTER");
	struct dpss *d = calloc(1, sizeof(*d));
	size_t i;

	if (d == NULL)
		return NULL;
	d->opts = *opts;
	snprintf(d->name, sizeof(d->name), "%s", name);
	if (master != NULL) {
		snprintf(d->master_at, sizeof(d->master_at), "%s", master);
		d->opts.master = d->master_at;
		snprintf(d->master_host, sizeof(d->master_host), "%.*s", (int)strcspn(master, "/"),
		    master);
	}
	for (i = 0; i < DPSS_SERVERS_MAX; i++)
		pthread_mutex_init(&d->servers[i].sending, NULL);
	pthread_mutex_init(&d->lock, NULL);
	pthread_mutex_init(&d->master_sending, NULL);
	pthread_cond_init(&d->change, NULL);
	return d;
}

int
client_begin(const struct dpss_opts *opts, const char *name, uint16_t type, struct packer *p,
    struct dpss **out, char *why)
{
	struct dpss *d = handle_new(opts, name);
	int rc;

	if (d == NULL) {
		pack_free(p);
		return NW_ENOMEM;
	}
	rc = start(d, opts, type, p);
	pack_free(p);
	d->opts.log = d->opts.tls_dir = d->opts.trace = NULL; /* the caller's memory */
	if (rc != NW_OK) {
		snprintf(why, DPSS_WHY_BYTES, "%s", d->why[0] != '\0' ? d->why : nw_strerror(rc));
		dpss_close(d);
		return rc;
	}
	*out = d;
	return NW_OK;
}

int
dpss_open(
    const struct dpss_opts *opts, const char *name, struct dpss **out, char why[DPSS_WHY_BYTES])
{
	struct packer p = { 0 };

	pack_text(&p, name);
	pack_u8(&p,
	    (uint8_t)((opts->write ? DPSS_OPEN_WRITE : 0) | (opts->flush ? DPSS_OPEN_FLUSH : 0)));
	return client_begin(opts, name, DPSS_OPEN, &p, out, why);
}

int
dpss_create(const struct dpss_opts *opts, const char *name, const struct dpss_layout *layout,
    struct dpss **out, char why[DPSS_WHY_BYTES])
{
	struct dpss_opts writing = *opts;
	struct packer p = { 0 };
	int rc;

	writing.write = true;
	writing.flush = false;
	pack_text(&p, name);
	pack_u32(&p, layout->block_bytes);
	pack_u64(&p, layout->bytes);
	layout_pack(&p, layout);
	if ((rc = client_begin(&writing, name, DPSS_CREATE, &p, out, why)) == NW_OK) {
		(*out)->where = layout->where;
		(*out)->where_arg = layout->arg;
	}
	return rc;
}

/* The master's thread may start threads of servers: it ends first. */
static void
threads_end(struct dpss *d)
{
	size_t i;

	pthread_mutex_lock(&d->lock);
	d->closing = true;
	pthread_mutex_unlock(&d->lock);
	if (d->master_started) {
		pthread_mutex_lock(&d->master_sending);
		channel_shut(d->master);
		pthread_mutex_unlock(&d->master_sending);
		pthread_join(d->master_thread, NULL);
	}
	for (i = 0; i < DPSS_SERVERS_MAX; i++) {
		if (d->servers[i].started) {
			pthread_mutex_lock(&d->servers[i].sending);
			if (d->servers[i].wire != NULL)
				channel_shut(d->servers[i].wire);
			pthread_mutex_unlock(&d->servers[i].sending);
			pthread_join(d->servers[i].thread, NULL);
		}
	}
	for (i = 0; i < DPSS_SERVERS_MAX; i++) {
		client_udp_free(&d->servers[i]);
		channel_free(d->servers[i].wire);
		pthread_mutex_destroy(&d->servers[i].sending);
	}
	channel_free(d->master);
}

int
dpss_close(struct dpss *d)
{
	int rc;

	if (d == NULL)
		return NW_OK;
	threads_end(d);
	client_read_free(d);
	client_file_free(d);
	client_write_free(d);
	pool_free(d->pool);
	rc = blocklog_close(d->log);
	if (d->trace != NULL && fclose(d->trace) != 0)
		rc = NW_EIO;
	nw_tls_ctx_release(d->tls);
	pthread_mutex_destroy(&d->lock);
	pthread_mutex_destroy(&d->master_sending);
	pthread_cond_destroy(&d->change);
	free(d);
	return rc;
}
