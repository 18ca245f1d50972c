/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs of the field announce of their transfers by datagrams: fireflies (scitags.org) of
 * XRootD, dCache and flowd, and XRootD's monitoring (narrows/xrootd.h). Bytes in, structs out; no
 * socket, no clock, no allocation by the size of a stranger's bytes. A datagram has no identity: an
 * announcement is hearsay, and is marked so wherever a person sees it.
 */
#ifndef NARROWS_ANNOUNCE_H
#define NARROWS_ANNOUNCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/field.h"

enum {
	NW_ANNOUNCE_MAX_BYTES = 9000,   /* of a datagram: the MTU of a fast network */
	NW_ANNOUNCE_ADDRESS_BYTES = 64, /* of a numeric address, or a name that XRootD knows */
	NW_ANNOUNCE_NAME_BYTES = 64,
	NW_ANNOUNCE_FILE_BYTES = 256,
	NW_ANNOUNCE_ID_BYTES = 40,
	NW_ANNOUNCE_GROUP_BYTES = 112
};

enum nw_announce_form {
	NW_ANNOUNCE_FIREFLY,
	NW_ANNOUNCE_XROOTD,
	NW_ANNOUNCE_XROOTD_TPC,
	NW_ANNOUNCE_FTS,
	NW_ANNOUNCE_RUCIO,
	NW_ANNOUNCE_LOG
};
static inline const char *
nw_announce_form_name(enum nw_announce_form form)
{
	static const char *const names[] = { [NW_ANNOUNCE_FIREFLY] = "firefly",
		[NW_ANNOUNCE_XROOTD] = "xrootd",
		[NW_ANNOUNCE_XROOTD_TPC] = "xrootd tpc",
		[NW_ANNOUNCE_FTS] = "fts",
		[NW_ANNOUNCE_RUCIO] = "rucio",
		[NW_ANNOUNCE_LOG] = "log" };

	return names[form];
}

/*
 * Numbers of a flow since its start, as the announcer says; NaN where it says nothing. X(name).
 * Directions are those of `src`: bytes_out went from src to dst. `read` and `write` are those of
 * the announcer's storage: wait_s is time waiting for storage, net_s time for the network. `lost`
 * is the number of XRootD's datagrams lost since the start, slack_s how wrong elapsed_s may be.
 * Phases of FTS and Rucio stand outside of elapsed_s: in the queue, preparing, checksums at source
 * and target.
 */
/* clang-format off */
#define NW_ANNOUNCED_FIELDS(X) \
	X(bytes_in) X(bytes_out) X(rtt_s) X(rtt_min_s) X(retrans) X(cwnd_bytes) X(delivery_rate) \
	X(busy_s) X(rwnd_limited_s) X(sndbuf_limited_s) X(snd_wnd) X(snd_mss) \
	X(storage_bytes) X(connection_s) X(read_wait_s) X(read_net_s) X(write_wait_s) \
	X(write_net_s) X(elapsed_s) X(over) X(reads) X(vector_reads) X(writes) X(size_bytes) \
	X(lost) X(slack_s) X(queue_s) X(prepare_s) X(source_check_s) X(target_check_s)
/* clang-format on */

enum nw_announced_field {
#define X(name) NW_ANNOUNCED_##name,
	NW_ANNOUNCED_FIELDS(X)
#undef X
	    NW_ANNOUNCED_COUNT
};
extern const char *const nw_announced_names[NW_ANNOUNCED_COUNT];

/*
 * The kernel's account of TCP in a firefly's tcpInfo, as flowd-go has it: X(field, name in the
 * datagram, its unit in that of the field).
 */
/* clang-format off */
#define NW_FIREFLY_TCP(X) \
	X(rtt_s, "rtt", 1e-6) X(rtt_min_s, "minRtt", 1e-6) X(snd_mss, "sndMss", 1) \
	X(snd_wnd, "sndWnd", 1) X(retrans, "totalRetrans", 1) X(delivery_rate, "deliveryRate", 1) \
	X(busy_s, "busyTime", 1e-6) X(rwnd_limited_s, "rwndLimited", 1e-6) \
	X(sndbuf_limited_s, "sndBufLimited", 1e-6)
/* clang-format on */

enum nw_announce_state { NW_ANNOUNCE_START, NW_ANNOUNCE_ONGOING, NW_ANNOUNCE_END };

struct nw_announcement {
	enum nw_announce_form form;
	enum nw_announce_state state;
	int64_t start_wall_ns, t_wall_ns; /* by the announcer's clock */
	/* numeric addresses in the form of inet_ntop(); IPv4 in IPv6 is IPv4 */
	char src[NW_ANNOUNCE_ADDRESS_BYTES], dst[NW_ANNOUNCE_ADDRESS_BYTES];
	uint16_t sport, dport; /* 0: not said; a firefly says both */
	/* what tells flows of one announcer apart beside addresses and ports; empty: nothing */
	char id[NW_ANNOUNCE_ID_BYTES];
	/* flows with the same text are one transfer; empty: the flow is one alone */
	char group[NW_ANNOUNCE_GROUP_BYTES];
	char also[NW_ANNOUNCE_GROUP_BYTES]; /* another group that is the same transfer; or empty */
	char file[NW_ANNOUNCE_FILE_BYTES];  /* path or URL; empty: not said */
	char user[NW_ANNOUNCE_NAME_BYTES];  /* empty: not said */
	char application[NW_ANNOUNCE_NAME_BYTES]; /* empty: not said */
	int64_t experiment, activity;             /* -1: not said */
	double value[NW_ANNOUNCED_COUNT];
};

/* An announcement without anything said. */
void nw_announcement_init(struct nw_announcement *a);

/*
 * Reads a firefly: JSON of version 1, alone or behind a header of RFC 5424. Unknown keys are
 * skipped. NW_EPROTO, NW_ETOOBIG or NW_EUNSUPPORTED (another version) with static *why.
 */
int
nw_firefly_read(const uint8_t *bytes, size_t len, struct nw_announcement *out, const char **why);

struct nw_event;
/*
 * Reads an event of a whole transfer, whose name begins with "transfer.": a line of a log
 * (nwlog(1)) with seconds and bytes, or a message of FTS (narrows/fts.h). `host` sent the event.
 * Returns false for any other event, and for a log's transfer below a second, of which no stage can
 * be told.
 */
bool
nw_transfer_event_read(const struct nw_event *e, const char *host, struct nw_announcement *out);

/* What tells the file of a flow; texts on loan. */
struct nw_flow_file {
	const char *file, *src, *dst; /* path, ends */
	int64_t start_wall_ns;
};
/*
 * Whether a flow and the announcement of a whole transfer are of one file: the last part of the
 * path, the time, and an end. A client that one of them knows by name and the other by address is
 * no contradiction.
 */
bool nw_flow_file_is(const struct nw_flow_file *flow, const struct nw_announcement *whole);

/* The newest whole transfers, told by senders with a proven name: a flow of the same file that
 * begins later belongs to the same transfer. */
struct nw_wholes;

enum { NW_WHOLES_MAX = 512 };

struct nw_wholes *nw_wholes_new(void);    /* NULL without memory */
void nw_wholes_free(struct nw_wholes *w); /* accepts NULL */
/* Keeps the announcement in the place of the oldest one, if it has a group and a file. */
void nw_wholes_put(struct nw_wholes *w, const struct nw_announcement *whole);
/* The only group of kept transfers of other forms that have the flow's file; NULL without one.
 * On loan until the next nw_wholes_put(). */
const char *nw_wholes_find(const struct nw_wholes *w, const struct nw_announcement *flow);

/* --- networks --- */

enum { NW_NETWORKS_MAX = 64 };

struct nw_networks {
	struct nw_network {
		uint8_t ip[16]; /* IPv4 as ::ffff:0:0/96 */
		unsigned bits;
	} network[NW_NETWORKS_MAX];
	size_t n;
};

/* Reads "10.0.0.0/8 2001:db8::/32 192.0.2.7"; an address alone is a network of itself. NW_EINVAL
 * with static *why; bits behind the prefix must be zero. */
int nw_networks_parse(const char *list, struct nw_networks *out, const char **why);
/* Whether an address (16 bytes, IPv4 as ::ffff:0:0/96) is in one of the networks. */
bool nw_networks_have(const struct nw_networks *n, const uint8_t ip[16]);
/* The same for text; false for text that is no numeric address. */
bool nw_networks_have_text(const struct nw_networks *n, const char *address);

/* --- names of experiments and activities --- */

struct nw_scitags;
/*
 * Reads lines "EXPERIMENT NAME" and "EXPERIMENT.ACTIVITY NAME" with numbers from 0 to 65535; '#'
 * begins a comment. NW_EINVAL with static *why and *line, NW_ENOMEM. *out is freed by
 * nw_scitags_free().
 */
int nw_scitags_read(const char *text, struct nw_scitags **out, unsigned *line, const char **why);
void nw_scitags_free(struct nw_scitags *names); /* accepts NULL */
/* "ATLAS/Data Export"; a number without a name stands for itself. Empty for -1. `names` may be
 * NULL. */
enum { NW_SCITAGS_LABEL_BYTES = 96 };
void nw_scitags_label(const struct nw_scitags *names, int64_t experiment, int64_t activity,
    char out[NW_SCITAGS_LABEL_BYTES]);

/* --- flows --- */

/*
 * The flows announced now, bounded for each source (the sender of the datagrams) and in all. A
 * flow is a 4-tuple with id and start. When all places are taken, a source with fewer flows
 * displaces the newest flow of the source with most; sources with one flow each displace nobody.
 */
struct nw_flows;

enum { NW_FLOWS_MAX = 4096, NW_FLOWS_OF_SOURCE_MAX = 1024 };

/* Why an announcement changed nothing, or NW_FLOWS_TAKEN. */
enum nw_flows_answer {
	NW_FLOWS_TAKEN,
	NW_FLOWS_REPEATED, /* known, or older than what is known; or after the end */
	NW_FLOWS_CLOCK,    /* a time more than ten minutes from the box's */
	NW_FLOWS_LIMIT     /* too many flows or announcements of the source, or of all */
};

struct nw_flows_ops {
	/* A flow is new. Returns the owner's record of the flow, or NULL to refuse. */
	void *(*begin)(void *arg, const char *source, const struct nw_announcement *a);
	/* Numbers of a flow, at most one a second and one at the end. */
	void (*row)(void *arg, void *flow, const struct nw_announcement *a);
	/* The flow is over, silent for ten minutes, or displaced: its record is the owner's. */
	void (*end)(void *arg, void *flow);
	void *arg;
};

/* NULL without memory. `per_s`: announcements a second that sources share. */
struct nw_flows *nw_flows_new(const struct nw_flows_ops *ops, unsigned per_s);
/* Ends all flows. Accepts NULL. */
void nw_flows_free(struct nw_flows *f);
/* Whether another datagram of a source may be read. */
bool nw_flows_may(struct nw_flows *f, const char *source, int64_t now_mono_ns);
/* Whether another flow of a source may begin that is told of as a whole, outside of this table. */
bool nw_flows_may_begin(struct nw_flows *f, const char *source, int64_t now_mono_ns);
enum nw_flows_answer nw_flows_take(struct nw_flows *f, const char *source,
    const struct nw_announcement *a, int64_t now_wall_ns, int64_t now_mono_ns);
/* Once a second: ends silent flows, forgets ended flows after ten minutes. */
void nw_flows_tick(struct nw_flows *f, int64_t now_mono_ns);
size_t nw_flows_count(const struct nw_flows *f);

#endif
