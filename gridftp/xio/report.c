/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metadata go before the first data of their series. A process may move any number of files: a file
 * gets a series of its own once it has moved 1 MiB, the first 32 small files at once; all other
 * files share a series, and so do streams beyond the limit.
 */
#include "gridftp/xio/report.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/lib/hostname.h"
#include "host/lib/mount.h"
#include "host/lib/procfile.h"
#include "host/lib/procread.h"
#include "host/lib/uuid.h"
#include "host/nwrun/collect/place.h"
#include "host/nwrun/collect/said.h"
#include "narrows/clock.h"
#include "narrows/eventtype.h"

enum { NAMED_MAX = 512, SMALL_NAMED_MAX = 32, NAMED_BYTES = 1 << 20, CLOSE_MAX = 256 };

static const double NS = 1e-9;

static const char *const stage_names[STAGES] = { "disk.read", "disk.write", "net.read",
	"net.write" };

/* Processor time of the process since its begin. */
struct usage {
	double cpu_user_s, cpu_sys_s;
	double starved_s; /* ready to run without a processor; NaN: not known */
};

struct report {
	struct nw_provider *provider;
	const char *driver;
	bool threads, ends_hidden;
	char host[HOSTNAME_BYTES];
	char task_id[OPTIONS_ID_BYTES], label[OPTIONS_LABEL_BYTES], options[OPTIONS_TEXT_BYTES];
	char process_id[UUID_BYTES], stage_id[STAGES][UUID_BYTES], other_id[2][UUID_BYTES];
	bool process_said, stage_said[STAGES], other_said[2];
	unsigned named, small_named;
	uint64_t reports;
	int64_t since_mono_ns; /* of the process's next window */
	struct usage usage;
	double interval_s;
};

/* A flow's news, copied with the lock held. */
struct news {
	struct flow *flow;
	struct flow_sum sum[2]; /* since the last report */
	bool closed;
	uint8_t tcp_info[TCPINFO_BYTES];
	size_t tcp_info_len;
};

/* --- the process --- */

/* Seconds of the process's threads without a processor. */
static double
starved_s(void)
{
	char path[64], text[128];
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *e;
	uint64_t wait_ns;
	double sum = NAN;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "/proc/self/task/%.20s/schedstat", e->d_name) >=
			(int)sizeof(path) ||
		    procread_path(path, text, sizeof(text)) == 0 ||
		    !procfile_parse_schedstat(text, &wait_ns))
			continue;
		sum = (isnan(sum) ? 0 : sum) + (double)wait_ns * NS;
	}
	if (dir != NULL)
		closedir(dir);
	return sum;
}

static double
seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

static void
usage_get(struct usage *u)
{
	struct rusage r;

	memset(u, 0, sizeof(*u));
	if (getrusage(RUSAGE_SELF, &r) == 0) {
		u->cpu_user_s = seconds(&r.ru_utime);
		u->cpu_sys_s = seconds(&r.ru_stime);
	}
	u->starved_s = starved_s();
}

static void
kv_process(struct kv_list *l, const struct report *r)
{
	kv_text(l, "task_id", r->task_id);
	kv_text(l, "hostname", r->host);
	kv_int(l, "pid", getpid());
	kv_int(l, "ppid", getppid());
	kv_text(l, "program", program_invocation_short_name);
	kv_text(l, "label", r->label);
}

static void
say_meta(struct report *r, const char *id, const char *pid, const char *event_type,
    const struct kv_list *subject)
{
	const struct nw_kv params[] = {
		{ .key = "collectionInterval", .type = NW_KV_REAL, .v.d = r->interval_s },
	};

	(void)nw_provider_meta(
	    r->provider, id, pid, event_type, subject->kv, subject->n, params, 1);
}

/* The first record of a session: the driver, and the options in force. */
static void
say_process_meta(struct report *r)
{
	struct kv_list subject = { .n = 0 };

	if (r->process_said)
		return;
	r->process_said = true;
	kv_process(&subject, r);
	kv_text(&subject, "driver", r->driver);
	kv_text(&subject, "options", r->options);
	kv_text(&subject, "threads", r->threads ? "several" : "one");
	kv_text(&subject, "disk_times", r->ends_hidden ? "at most" : "calls");
	say_meta(r, r->process_id, NULL, NW_TYPE_PROCESS, &subject);
}

static void
say_process(struct report *r, const uint64_t bytes[2], uint64_t missed_ops, int64_t now_mono_ns,
    int64_t now_wall_ns)
{
	struct field_list f = { .n = 0 };
	struct usage now;

	usage_get(&now);
	say_process_meta(r);
	field(&f, "cpu_user", fmax(0, now.cpu_user_s - r->usage.cpu_user_s));
	field(&f, "cpu_sys", fmax(0, now.cpu_sys_s - r->usage.cpu_sys_s));
	/* the waits of a thread are gone with the thread */
	field(&f, "cpu_wait",
	    isnan(now.starved_s) ? NAN : fmax(0, now.starved_s - r->usage.starved_s));
	field(&f, "seen_read", (double)bytes[FLOW_READ]);
	field(&f, "seen_written", (double)bytes[FLOW_WRITE]);
	field(&f, "window", (double)(now_mono_ns - r->since_mono_ns) * NS);
	field(&f, "report", (double)r->reports++);
	field(&f, "missed_ops", (double)missed_ops);
	(void)nw_provider_data(
	    r->provider, r->process_id, now_wall_ns, f.name, f.value, f.n, NULL, 0);
	r->usage = now;
	r->since_mono_ns = now_mono_ns;
}

static void
say_stage(struct report *r, unsigned stage, const struct nw_caliper_window *w, int64_t now_wall_ns)
{
	struct kv_list subject = { .n = 0 };

	say_process_meta(r);
	if (!r->stage_said[stage]) {
		kv_process(&subject, r);
		kv_text(&subject, "type", stage_is_disk(stage) ? "disk" : "network");
		kv_text(&subject, "stage", stage_names[stage]);
		say_meta(r, r->stage_id[stage], r->process_id,
		    stage % 2 == FLOW_READ ? NW_TYPE_SUMMARY "read" : NW_TYPE_SUMMARY "write",
		    &subject);
	}
	r->stage_said[stage] = true;
	(void)nw_provider_caliper(r->provider, r->stage_id[stage], now_wall_ns, w);
}

/* --- files and streams --- */

/* The device of a file, or its mount where no device of the host has the file. */
static void
kv_file(
    struct kv_list *l, const struct flow_label *label, char place[PLACE_BYTES], struct mount *mount)
{
	kv_text(l, "resource", label->path);
	if (label->size_bytes >= 0)
		kv_int(l, "size", label->size_bytes);
	if (label->dev != 0 && place_of_device("/sys/dev/block", label->dev, place))
		kv_text(l, "device", place);
	else if (label->path != NULL && mount_find(label->path, mount) == 0)
		kv_mount(l, mount);
}

static void
kv_stream(struct kv_list *l, const struct flow_label *label, char place[PLACE_BYTES])
{
	const char *src = addr_text(&label->local, l->text[0]),
		   *dst = addr_text(&label->peer, l->text[1]);

	kv_text(l, "transport", label->transport);
	kv_text(l, "src", src != NULL ? src : label->local_text);
	kv_text(l, "dst", dst != NULL ? dst : label->peer_text);
	kv_int(l, "sport", src != NULL ? label->local.port : label->local_port);
	kv_int(l, "dport", dst != NULL ? label->peer.port : label->peer_port);
	if (src != NULL && place_of_address(&label->local, place))
		kv_text(l, "interface", place);
}

static void
say_flow_meta(struct report *r, const struct flow *f)
{
	struct kv_list subject = { .n = 0 };
	char place[PLACE_BYTES];
	bool disk = f->label.kind == FLOW_DISK;
	struct mount mount;

	kv_process(&subject, r);
	kv_text(&subject, "type", disk ? "disk" : "network");
	kv_int(&subject, "stream", f->number);
	if (disk)
		kv_file(&subject, &f->label, place, &mount);
	else
		kv_stream(&subject, &f->label, place);
	say_meta(r, f->id, r->process_id, disk ? NW_TYPE_FILE : NW_TYPE_CONNECTION, &subject);
}

static const char *
say_other_meta(struct report *r, enum flow_kind kind)
{
	struct kv_list subject = { .n = 0 };
	bool disk = kind == FLOW_DISK;

	if (!r->other_said[kind]) {
		kv_process(&subject, r);
		kv_text(&subject, "type", disk ? "disk" : "network");
		kv_text(&subject, "resource", disk ? "other files" : "other connections");
		say_meta(r, r->other_id[kind], r->process_id,
		    disk ? NW_TYPE_FILE : NW_TYPE_CONNECTION, &subject);
	}
	r->other_said[kind] = true;
	return r->other_id[kind];
}

static void
say_flow_data(struct report *r, const char *id, const struct news *n, int64_t now_wall_ns)
{
	const struct flow_sum *in = &n->sum[FLOW_READ], *out = &n->sum[FLOW_WRITE];
	bool disk = n->flow->label.kind == FLOW_DISK;
	struct field_list f = { .n = 0 };
	struct tcp_sample tcp;

	field(&f, disk ? "read_bytes" : "bytes_in", (double)in->bytes);
	field(&f, disk ? "write_bytes" : "bytes_out", (double)out->bytes);
	field(&f, "read_s", (double)in->ns * NS);
	field(&f, "write_s", (double)out->ns * NS);
	field(&f, "reads", (double)in->ops);
	field(&f, "writes", (double)out->ops);
	field(&f, "errors", (double)(in->errors + out->errors));
	if (disk) {
		field(&f, "jumps", (double)(in->jumps + out->jumps));
	} else {
		field(&f, "header_bytes", (double)(in->header_bytes + out->header_bytes));
		field(&f, "header_s", (double)(in->header_ns + out->header_ns) * NS);
		if (n->tcp_info_len > 0) {
			tcp_parse(n->tcp_info, n->tcp_info_len, &tcp);
			fields_tcp(&f, &tcp);
		}
	}
	(void)nw_provider_data(r->provider, id, now_wall_ns, f.name, f.value, f.n, NULL, 0);
}

/* Whether the flow gets a series of its own now. */
static bool
flow_is_worth_a_name(struct report *r, const struct news *n)
{
	const struct flow_sum *in = &n->flow->sum[FLOW_READ], *out = &n->flow->sum[FLOW_WRITE];

	if (r->named >= NAMED_MAX)
		return false;
	if (n->flow->label.kind == FLOW_NET || in->bytes + out->bytes >= NAMED_BYTES)
		return true;
	if (r->small_named >= SMALL_NAMED_MAX)
		return false;
	r->small_named++;
	return true;
}

static void
say_flow(struct report *r, const struct session *s, const struct news *n, int64_t now_wall_ns)
{
	struct flow *f = n->flow;

	if (f->said_in != s->number) {
		f->said_in = 0;
		if (flow_is_worth_a_name(r, n) && uuid_make(f->id) == 0) {
			f->said_in = s->number;
			r->named++;
			say_flow_meta(r, f);
		}
	}
	if (f->said_in != s->number) {
		say_flow_data(r, say_other_meta(r, f->label.kind), n, now_wall_ns);
		return;
	}
	say_flow_data(r, f->id, n, now_wall_ns);
	if (n->closed)
		nw_provider_meta_end(r->provider, f->id);
}

/* --- taking --- */

static void
sum_take(struct flow_sum *out, const struct flow_sum *now, struct flow_sum *said)
{
	out->bytes = now->bytes - said->bytes;
	out->ops = now->ops - said->ops;
	out->errors = now->errors - said->errors;
	out->ns = now->ns - said->ns;
	out->header_bytes = now->header_bytes - said->header_bytes;
	out->header_ns = now->header_ns - said->header_ns;
	out->jumps = now->jumps - said->jumps;
	*said = *now;
}

static bool
sum_is_new(const struct flow_sum *now, const struct flow_sum *said)
{
	return now->bytes != said->bytes || now->ops != said->ops || now->errors != said->errors ||
	    now->header_bytes != said->header_bytes;
}

/* A file without bytes is reported at the close, and so is a small file without a series. */
static bool
flow_has_news(const struct report *r, const struct flow *f)
{
	bool news = sum_is_new(&f->sum[0], &f->said[0]) || sum_is_new(&f->sum[1], &f->said[1]);

	if (f->closed)
		return news || f->said_in != 0 || f->label.kind == FLOW_DISK;
	if (f->label.kind == FLOW_DISK && f->said_in == 0 && r->small_named >= SMALL_NAMED_MAX &&
	    f->sum[0].bytes + f->sum[1].bytes < NAMED_BYTES)
		return false;
	return news;
}

static void
news_take(struct news *n, struct flow *f)
{
	socklen_t len = sizeof(n->tcp_info);

	n->flow = f;
	n->closed = f->closed;
	sum_take(&n->sum[0], &f->sum[0], &f->said[0]);
	sum_take(&n->sum[1], &f->sum[1], &f->said[1]);
	n->tcp_info_len = f->tcp_info_len;
	memcpy(n->tcp_info, f->tcp_info, f->tcp_info_len);
	if (f->label.kind == FLOW_NET && f->label.fd >= 0 && f->label.local.family != 0 &&
	    getsockopt(f->label.fd, IPPROTO_TCP, TCP_INFO, n->tcp_info, &len) == 0)
		n->tcp_info_len = len;
}

/* The news of at most `cap` flows; flows that were closed without news are freed. */
static size_t
news_collect(
    struct report *r, struct measure *m, const struct session *s, struct news *out, size_t cap)
{
	struct flow *f, *next;
	size_t n = 0;

	for (f = m->flows; f != NULL && n < cap; f = next) {
		next = f->next;
		if (f->session != s)
			continue;
		if (flow_has_news(r, f))
			news_take(&out[n++], f);
		else if (f->closed)
			flow_free(m, f);
	}
	return n;
}

static void
say_news(struct report *r, struct measure *m, const struct session *s, const struct news *news,
    size_t n, int64_t now_wall_ns)
{
	size_t i;

	for (i = 0; i < n; i++) {
		say_process_meta(r);
		say_flow(r, s, &news[i], now_wall_ns);
	}
	pthread_mutex_lock(&m->lock);
	for (i = 0; i < n; i++)
		if (news[i].closed)
			flow_free(m, news[i].flow);
	pthread_mutex_unlock(&m->lock);
}

void
report_make(struct report *r, struct measure *m, struct session *s, int64_t now_mono_ns)
{
	struct nw_caliper_window w[STAGES];
	bool moved[STAGES], any = false;
	uint64_t bytes[2] = { 0, 0 }, missed_ops;
	int64_t now_wall_ns = nw_wall_ns(), apart_ns;
	struct news *news = calloc(CLOSE_MAX, sizeof(*news));
	size_t n;
	unsigned i;

	if (news == NULL)
		return;
	pthread_mutex_lock(&m->lock);
	apart_ns = measure_apart_ns(m, now_mono_ns);
	for (i = 0; i < STAGES; i++)
		moved[i] = meter_take(
		    &s->meter[i], now_mono_ns, stage_is_disk(i) ? 0 : apart_ns, !m->threads, &w[i]);
	missed_ops = s->missed_ops;
	n = news_collect(r, m, s, news, CLOSE_MAX);
	pthread_mutex_unlock(&m->lock);
	for (i = 0; i < STAGES; i++)
		if (moved[i]) {
			say_stage(r, i, &w[i], now_wall_ns);
			bytes[i % 2] += (uint64_t)w[i].v.sum;
			any = true;
		}
	if (any || n > 0)
		say_process(r, bytes, missed_ops, now_mono_ns, now_wall_ns);
	while (n > 0) {
		say_news(r, m, s, news, n, now_wall_ns);
		if (n < CLOSE_MAX)
			break;
		pthread_mutex_lock(&m->lock);
		n = news_collect(r, m, s, news, CLOSE_MAX);
		pthread_mutex_unlock(&m->lock);
	}
	free(news);
}

/* --- life --- */

static int
ids_make(struct report *r)
{
	unsigned i, rc = 0;

	for (i = 0; i < STAGES; i++)
		rc |= uuid_make(r->stage_id[i]) != 0;
	return uuid_make(r->process_id) != 0 || uuid_make(r->other_id[0]) != 0 ||
		uuid_make(r->other_id[1]) != 0 || rc != 0
	    ? -1
	    : 0;
}

struct report *
report_new(const struct session *s, const char *driver, const struct measure *m)
{
	struct report *r = calloc(1, sizeof(*r));
	struct nw_provider_opts opts = { .software = "gridftp-xio" };
	const char *host;

	if (r == NULL)
		return NULL;
	strcpy(r->task_id, s->task_id);
	strcpy(r->label, s->options.label);
	options_text(&s->options, r->options);
	r->driver = driver;
	r->threads = m->threads;
	r->ends_hidden = m->ends_hidden;
	r->interval_s = s->options.interval_ns > 0 ? (double)s->options.interval_ns * NS : 1;
	host = hostname_get(NULL, r->host);
	if (host != r->host)
		snprintf(r->host, sizeof(r->host), "%s", host);
	r->since_mono_ns = s->born_mono_ns;
	usage_get(&r->usage);
	opts.host = r->host;
	opts.task_id = r->task_id;
	opts.program = program_invocation_short_name;
	if (ids_make(r) < 0 || nw_provider_new(&opts, &r->provider) < 0) {
		free(r);
		return NULL;
	}
	return r;
}

void
report_free(struct report *r, int64_t wait_ns)
{
	if (r == NULL)
		return;
	(void)nw_provider_close(r->provider, wait_ns);
	free(r);
}

struct nw_provider *
report_provider(struct report *r)
{
	return r->provider;
}
