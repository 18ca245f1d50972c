/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/nodename.h"

#include <stdio.h>
#include <string.h>

/* One field. */
struct equal {
	const char *type, *field, *name;
	double factor;
};

static const struct equal equals[] = {
	{ "cpu:activity", "context_switches", "context_switches", 1 },
	{ "cpu:activity", "interrupts", "intr", 1 },
	{ "cpu:activity", "forks", "forks", 1 },
	{ "cpu:activity", "running", "procs_running", 1 },
	{ "cpu:activity", "blocked", "procs_blocked", 1 },
	{ "cpu:load", "onemin", "load1", 1 },
	{ "cpu:load", "fivemin", "load5", 1 },
	{ "cpu:load", "fifteenmin", "load15", 1 },
	{ "pressure", "cpu_some_us", "pressure_cpu_waiting_seconds", 1e-6 },
	{ "pressure", "io_some_us", "pressure_io_waiting_seconds", 1e-6 },
	{ "pressure", "io_full_us", "pressure_io_stalled_seconds", 1e-6 },
	{ "pressure", "memory_some_us", "pressure_memory_waiting_seconds", 1e-6 },
	{ "pressure", "memory_full_us", "pressure_memory_stalled_seconds", 1e-6 },
	{ "disk:partition", "read_bytes", "disk_read_bytes", 1 },
	{ "disk:partition", "written_bytes", "disk_written_bytes", 1 },
	{ "disk:partition", "reads_issued", "disk_reads_completed", 1 },
	{ "disk:partition", "writes_issued", "disk_writes_completed", 1 },
	{ "disk:partition", "read_ms", "disk_read_time_seconds", 1e-3 },
	{ "disk:partition", "write_ms", "disk_write_time_seconds", 1e-3 },
	{ "disk:partition", "io_ms", "disk_io_time_seconds", 1e-3 },
	{ "disk:partition", "weighted_io_ms", "disk_io_time_weighted_seconds", 1e-3 },
	{ "disk:partition", "inflight", "disk_io_now", 1 },
	{ "disk:partition", "reads_merged", "disk_reads_merged", 1 },
	{ "disk:partition", "writes_merged", "disk_writes_merged", 1 },
	{ "disk:partition", "discards_issued", "disk_discards_completed", 1 },
	{ "disk:partition", "discard_ms", "disk_discard_time_seconds", 1e-3 },
	{ "disk:partition", "flushes_issued", "disk_flush_requests", 1 },
	{ "disk:partition", "flush_ms", "disk_flush_requests_time_seconds", 1e-3 },
	{ "network:utilization", "bytes_in", "network_receive_bytes", 1 },
	{ "network:utilization", "packets_in", "network_receive_packets", 1 },
	{ "network:utilization", "errors_in", "network_receive_errs", 1 },
	{ "network:utilization", "drops_in", "network_receive_drop", 1 },
	{ "network:utilization", "fifo_in", "network_receive_fifo", 1 },
	{ "network:utilization", "frame_in", "network_receive_frame", 1 },
	{ "network:utilization", "multicast_in", "network_receive_multicast", 1 },
	{ "network:utilization", "bytes_out", "network_transmit_bytes", 1 },
	{ "network:utilization", "packets_out", "network_transmit_packets", 1 },
	{ "network:utilization", "errors_out", "network_transmit_errs", 1 },
	{ "network:utilization", "drops_out", "network_transmit_drop", 1 },
	{ "network:utilization", "fifo_out", "network_transmit_fifo", 1 },
	{ "network:utilization", "collisions", "network_transmit_colls", 1 },
	{ "network:utilization", "carrier", "network_transmit_carrier", 1 },
	{ "network:link", "speed_bit_s", "network_speed_bytes", 0.125 },
	{ "network:link", "mtu", "network_mtu_bytes", 1 },
	{ "network:link", "carrier", "network_carrier", 1 },
	{ "network:link", "carrier_changes", "network_carrier_changes", 1 },
	{ "network:link", "tx_queue_length", "network_transmit_queue_length", 1 },
	{ "filesystem", "total_bytes", "filesystem_size_bytes", 1 },
	{ "filesystem", "free_bytes", "filesystem_free_bytes", 1 },
	{ "filesystem", "available_bytes", "filesystem_avail_bytes", 1 },
	{ "filesystem", "files", "filesystem_files", 1 },
	{ "filesystem", "files_free", "filesystem_files_free", 1 },
	{ "kernel:tables", "open_files", "filefd_allocated", 1 },
	{ "kernel:tables", "open_files_max", "filefd_maximum", 1 },
	{ "nfs:client", "calls", "nfs_rpcs", 1 },
	{ "nfs:client", "retransmitted", "nfs_rpc_retransmissions", 1 },
	{ "nfs:server", "calls", "nfsd_server_rpcs", 1 },
	{ "nfs:server", "threads", "nfsd_server_threads", 1 },
	{ "nfs:server", "connections", "nfsd_connections", 1 },
	{ "nfs:server", "read_bytes", "nfsd_disk_bytes_read", 1 },
	{ "nfs:server", "written_bytes", "nfsd_disk_bytes_written", 1 },
	{ "nfs:server", "replies_cached", "nfsd_reply_cache_hits", 1 },
	{ "clock", "kernel_offset_s", "timex_offset_seconds", 1 },
	{ "clock", "kernel_maxerror_s", "timex_maxerror_seconds", 1 },
	{ "clock", "kernel_esterror_s", "timex_estimated_error_seconds", 1 },
	{ "clock", "kernel_synced", "timex_sync_status", 1 },
};

/* A file of which node_exporter takes every number by the kernel's name. */
static const struct family {
	const char *type, *prefix, *suffix;
	double factor;
	bool untyped;
} families[] = {
	{ "memory:utilization", "memory_", "_bytes", 1024, false },
	{ "memory:vmstat", "vmstat_", "", 1, true },
	{ "network:sockets", "sockstat_", "", 1, false },
	{ "network:ip:utilization", "netstat_Ip_", "", 1, true },
	{ "network:icmp:utilization", "netstat_Icmp_", "", 1, true },
	{ "network:tcp:utilization", "netstat_Tcp_", "", 1, true },
	{ "network:udp:utilization", "netstat_Udp_", "", 1, true },
	{ "network:tcp:extended", "netstat_TcpExt_", "", 1, true },
	{ "network:ip:extended", "netstat_IpExt_", "", 1, true },
	{ "network:ip6", "netstat_", "", 1, true },
};

/* The kernel's names of the fields that have another name in blipp. */
static const struct {
	const char *type, *ours, *theirs;
} kernel_names[] = {
	{ "memory:utilization", "free", "MemFree" },
	{ "memory:utilization", "buffer", "Buffers" },
	{ "memory:utilization", "cache", "Cached" },
	{ "memory:utilization", "kernel", "Slab" },
	{ "memory:utilization", "total", "MemTotal" },
	{ "memory:utilization", "available", "MemAvailable" },
	{ "memory:utilization", "dirty", "Dirty" },
	{ "memory:utilization", "writeback", "Writeback" },
	{ "network:ip:utilization", "packets_in", "InReceives" },
	{ "network:ip:utilization", "packets_out", "OutRequests" },
	{ "network:tcp:utilization", "segments_in", "InSegs" },
	{ "network:tcp:utilization", "segments_out", "OutSegs" },
	{ "network:tcp:utilization", "retrans", "RetransSegs" },
	{ "network:tcp:utilization", "established", "CurrEstab" },
	{ "network:udp:utilization", "datagrams_in", "InDatagrams" },
	{ "network:udp:utilization", "datagrams_out", "OutDatagrams" },
};

static const char *
kernel_name(const char *type, const char *field)
{
	size_t i;

	for (i = 0; i < sizeof(kernel_names) / sizeof(kernel_names[0]); i++)
		if (strcmp(kernel_names[i].type, type) == 0 &&
		    strcmp(kernel_names[i].ours, field) == 0)
			return kernel_names[i].theirs;
	return field;
}

static bool
family_find(const char *type, const char *field, const char *unit, struct nodename *out)
{
	const char *name = kernel_name(type, field), *underscore = "";
	const struct family *f;
	bool bare = strcmp(unit, "1") == 0;
	size_t i, head = 0;

	for (i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (strcmp(families[i].type, type) == 0)
			break;
	if (i == sizeof(families) / sizeof(families[0]) || strcmp(field, "used") == 0)
		return false;
	f = &families[i];
	if (strcmp(f->prefix, "netstat_") == 0) { /* "Ip6InReceives" */
		if ((head = strcspn(name, "6")) == strlen(name))
			return false;
		head++;
		underscore = "_";
	}
	out->factor = bare ? 1 : f->factor;
	out->untyped = f->untyped;
	snprintf(out->name, sizeof(out->name), "node_%s%.*s%s%s%s", f->prefix, (int)head, name,
	    underscore, name + head, bare ? "" : f->suffix);
	return true;
}

/* All kinds of processor time are one metric. */
static bool
cpu_find(const char *type, const char *field, struct nodename *out)
{
	if (strcmp(type, "percpu:utilization") != 0)
		return false;
	out->label = "cpu";
	out->label_skips = sizeof("cpu") - 1;
	out->mode = strcmp(field, "hwirq") == 0 ? "irq"
	    : strcmp(field, "swirq") == 0       ? "softirq"
						: field;
	strcpy(out->name, "node_cpu_seconds");
	return true;
}

bool
nodename_find(const char *type, const char *field, const char *unit, struct nodename *out)
{
	size_t i;

	*out = (struct nodename){ .factor = 1 };
	if (strncmp(type, "network:utilization", 19) == 0 || strncmp(type, "network:link", 12) == 0)
		out->label = "device";
	for (i = 0; i < sizeof(equals) / sizeof(equals[0]); i++)
		if (strcmp(equals[i].type, type) == 0 && strcmp(equals[i].field, field) == 0) {
			out->factor = equals[i].factor;
			snprintf(out->name, sizeof(out->name), "node_%s", equals[i].name);
			return true;
		}
	return cpu_find(type, field, out) || family_find(type, field, unit, out);
}
