/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How interfaces are set up: /sys/class/net, the ethtool calls that need no privilege, and the
 * queueing disciplines by route netlink. Interfaces that have moved nothing are left out, and so
 * are the ends of containers in a bridge.
 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "host/blipp/probe/filter.h"
#include "host/blipp/probe/probe.h"
#include "host/blipp/settings/settings_list.h"

enum { PATH_BYTES = 256, INTERFACES_MAX = 32, ANSWER_BYTES = 16384, TEXT_BYTES = 32768 };

struct interface {
	struct settings *s;
	const char *name;
	int fd; /* of the ethtool calls */
};

/* --- ethtool --- */

/* Fills the struct of a command. Returns false if the driver has no answer. */
static bool
ethtool(const struct interface *at, uint32_t command, void *data)
{
	struct ifreq request = { 0 };

	memcpy(data, &command, sizeof(command));
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", at->name);
	request.ifr_data = data;
	return ioctl(at->fd, SIOCETHTOOL, &request) == 0;
}

static void
put_driver(const struct interface *at)
{
	struct ethtool_drvinfo d = { 0 };

	if (!ethtool(at, ETHTOOL_GDRVINFO, &d))
		return;
	d.driver[sizeof(d.driver) - 1] = d.version[sizeof(d.version) - 1] =
	    d.fw_version[sizeof(d.fw_version) - 1] = '\0';
	settings_put(at->s, "net", at->name, "driver", d.driver);
	settings_put(at->s, "net", at->name, "driver_version", d.version);
	if (d.fw_version[0] != '\0')
		settings_put(at->s, "net", at->name, "firmware", d.fw_version);
}

static void
put_offloads(const struct interface *at)
{
	static const struct {
		uint32_t command;
		const char *name;
	} offloads[] = { { ETHTOOL_GRXCSUM, "offload.rx_checksum" },
		{ ETHTOOL_GTXCSUM, "offload.tx_checksum" },
		{ ETHTOOL_GSG, "offload.scatter_gather" }, { ETHTOOL_GTSO, "offload.tso" },
		{ ETHTOOL_GGSO, "offload.gso" }, { ETHTOOL_GGRO, "offload.gro" } };
	static const struct {
		uint32_t flag;
		const char *name;
	} flags[] = { { ETH_FLAG_LRO, "offload.lro" }, { ETH_FLAG_NTUPLE, "offload.ntuple" },
		{ ETH_FLAG_RXHASH, "offload.rxhash" } };
	struct ethtool_value v;
	size_t i;

	for (i = 0; i < sizeof(offloads) / sizeof(offloads[0]); i++)
		if (ethtool(at, offloads[i].command, &v))
			settings_put(
			    at->s, "net", at->name, offloads[i].name, v.data != 0 ? "on" : "off");
	if (!ethtool(at, ETHTOOL_GFLAGS, &v))
		return;
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		settings_put(at->s, "net", at->name, flags[i].name,
		    (v.data & flags[i].flag) != 0 ? "on" : "off");
}

static void
put_rings(const struct interface *at)
{
	struct ethtool_pauseparam pause = { 0 };
	struct ethtool_ringparam ring = { 0 };
	struct ethtool_channels channels = { 0 };
	struct ethtool_coalesce c = { 0 };

	if (ethtool(at, ETHTOOL_GRINGPARAM, &ring)) {
		settings_put_number(at->s, "net", at->name, "rx_ring", ring.rx_pending);
		settings_put_number(at->s, "net", at->name, "tx_ring", ring.tx_pending);
	}
	if (ethtool(at, ETHTOOL_GCHANNELS, &channels))
		settings_put_number(at->s, "net", at->name, "channels",
		    channels.combined_count + channels.rx_count);
	if (ethtool(at, ETHTOOL_GCOALESCE, &c)) {
		settings_put_number(
		    at->s, "net", at->name, "coalesce.rx_usecs", c.rx_coalesce_usecs);
		settings_put_number(
		    at->s, "net", at->name, "coalesce.tx_usecs", c.tx_coalesce_usecs);
		settings_put(at->s, "net", at->name, "coalesce.adaptive_rx",
		    c.use_adaptive_rx_coalesce != 0 ? "on" : "off");
	}
	if (ethtool(at, ETHTOOL_GPAUSEPARAM, &pause)) {
		settings_put(
		    at->s, "net", at->name, "pause.rx", pause.rx_pause != 0 ? "on" : "off");
		settings_put(
		    at->s, "net", at->name, "pause.tx", pause.tx_pause != 0 ? "on" : "off");
	}
}

/* --- /sys/class/net --- */

static bool
has_file(const char *interface, const char *file)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", interface, file);
	return access(path, F_OK) == 0;
}

static void
put_files(const struct interface *at)
{
	static const struct {
		const char *name, *file;
	} files[] = { { "mtu", "mtu" }, { "duplex", "duplex" }, { "txqueuelen", "tx_queue_len" },
		{ "gro_flush_timeout", "gro_flush_timeout" },
		{ "napi_defer_hard_irqs", "napi_defer_hard_irqs" }, { "threaded", "threaded" },
		{ "numa_node", "device/numa_node" } };
	char path[PATH_BYTES], text[32];
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "/sys/class/net/%s/%s", at->name, files[i].file);
		settings_put_file(at->s, "net", at->name, files[i].name, path);
	}
	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", at->name);
	if (settings_read(path, text, sizeof(text)) && text[0] != '-')
		settings_put(at->s, "net", at->name, "speed_mbit_s", text);
}

/* --- queueing disciplines --- */

/* FNV-1a */
static uint32_t
hash(const uint8_t *bytes, size_t len)
{
	uint32_t h = 2166136261u;

	while (len-- > 0)
		h = (h ^ *bytes++) * 16777619u;
	return h;
}

/* Disciplines with options of parameters alone; options of other disciplines count packets, too. */
static bool
options_are_steady(const char *kind)
{
	static const char *const kinds[] = { "fq", "fq_codel", "codel", "netem", "tbf", "pfifo",
		"bfifo", "pfifo_fast", "cake", "sfq", "red", "prio" };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}

/* The kind, and a hash of the parameters. */
static void
put_qdisc(struct settings *s, const struct nlmsghdr *h, const struct filter *filter)
{
	const struct rtattr *a, *options = NULL;
	const struct tcmsg *t = NLMSG_DATA(h);
	char kind[32] = "", name[IF_NAMESIZE], value[64], field[32];
	int left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*t));

	if (left < 0 || if_indextoname((unsigned)t->tcm_ifindex, name) == NULL ||
	    !filter_takes(filter, name))
		return;
	a = (const struct rtattr *)((const char *)t + NLMSG_ALIGN(sizeof(*t)));
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if ((a->rta_type & NLA_TYPE_MASK) == TCA_KIND)
			snprintf(kind, sizeof(kind), "%.*s", (int)RTA_PAYLOAD(a),
			    (const char *)RTA_DATA(a));
		else if ((a->rta_type & NLA_TYPE_MASK) == TCA_OPTIONS)
			options = a;
	}
	snprintf(value, sizeof(value), "%s", kind);
	if (options != NULL && RTA_PAYLOAD(options) > 0 && options_are_steady(kind))
		snprintf(value, sizeof(value), "%s #%08x", kind,
		    hash(RTA_DATA(options), RTA_PAYLOAD(options)));
	if (t->tcm_parent == TC_H_ROOT)
		snprintf(field, sizeof(field), "qdisc");
	else
		snprintf(field, sizeof(field), "qdisc.%x:%x", t->tcm_parent >> 16,
		    t->tcm_parent & 0xffff);
	settings_put(s, "net", name, field, value);
}

/* Reads answers until the last. */
static void
take_qdiscs(int fd, struct settings *s, const struct filter *filter)
{
	static char answer[ANSWER_BYTES] __attribute__((aligned(8)));
	const struct nlmsghdr *h;
	unsigned left;
	ssize_t n;

	while ((n = recv(fd, answer, sizeof(answer), 0)) > 0) {
		left = (unsigned)n;
		for (h = (const struct nlmsghdr *)answer; NLMSG_OK(h, left);
		     h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
				return;
			if (h->nlmsg_type == RTM_NEWQDISC)
				put_qdisc(s, h, filter);
		}
	}
}

static void
put_qdiscs(struct settings *s, const struct filter *filter)
{
	const struct timeval patience = { .tv_usec = 200000 };
	struct {
		struct nlmsghdr h;
		struct tcmsg t;
	} question = { .h = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
			   .nlmsg_type = RTM_GETQDISC,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (send(fd, &question, question.h.nlmsg_len, 0) > 0)
		take_qdiscs(fd, s, filter);
	close(fd);
}

void
settings_of_net(struct settings *s, const struct filter *filter)
{
	static char file[TEXT_BYTES];
	char name[IF_NAMESIZE];
	struct interface at = { .s = s, .name = name };
	struct net_line line;
	struct scan text;
	int n = 0;

	if (!settings_read("/proc/net/dev", file, sizeof(file)) ||
	    (at.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0)
		return;
	text = scan_text(file, strlen(file));
	while (n < INTERFACES_MAX && net_next(&text, &line)) {
		if (line.interface.end - line.interface.at >= IF_NAMESIZE ||
		    line.v[NET_PACKETS_IN] + line.v[NET_PACKETS_OUT] == 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(line.interface.end - line.interface.at),
		    line.interface.at);
		if (!filter_takes(filter, name) ||
		    (has_file(name, "brport") && !has_file(name, "device")))
			continue;
		put_files(&at);
		put_driver(&at);
		put_offloads(&at);
		put_rings(&at);
		n++;
	}
	close(at.fd);
	put_qdiscs(s, filter);
}
