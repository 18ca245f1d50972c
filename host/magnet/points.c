/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/points.h"

#include <string.h>

#include "narrows/magnet.h"

#define TP(program, where, fidelity)                                    \
	{                                                               \
		program, BACKEND_TRACEPOINT, FIDELITY_##fidelity, where \
	}
#define FN(program, where, fidelity)                                \
	{                                                           \
		program, BACKEND_FENTRY, FIDELITY_##fidelity, where \
	}
#define KP(program, where, fidelity)                                \
	{                                                           \
		program, BACKEND_KPROBE, FIDELITY_##fidelity, where \
	}
#define KM(program, where, fidelity)                                      \
	{                                                                 \
		program, BACKEND_KPROBE_MULTI, FIDELITY_##fidelity, where \
	}
#define CT(program, where, fidelity)                                 \
	{                                                            \
		program, BACKEND_CLASSIC, FIDELITY_##fidelity, where \
	}
#define NF(program, where, fidelity)                                   \
	{                                                              \
		program, BACKEND_NETFILTER, FIDELITY_##fidelity, where \
	}

const struct point points[] = {
	{ POINT_SOCKET_TX, "socket", "socket.tx", "inet_sendmsg",
	    { TP("socket_tx_tp", "sock_send_length", EXACT),
		FN("socket_tx_fn", "inet_sendmsg", EXACT),
		KM("socket_tx_km", "inet_sendmsg", EQUIVALENT),
		KP("socket_tx_kp", "inet_sendmsg", EQUIVALENT) } },
	{ POINT_SOCKET_RX, "socket", "socket.rx", "inet_recvmsg",
	    { TP("socket_rx_tp", "sock_recv_length", EXACT),
		FN("socket_rx_fn", "inet_recvmsg", EXACT),
		KM("socket_rx_km", "inet_recvmsg", EQUIVALENT),
		KP("socket_rx_kp", "inet_recvmsg", EQUIVALENT) } },
	{ POINT_UDP_TX, "transport", "udp.tx", "udp_sendmsg",
	    { FN("udp_tx_fn", "udp_sendmsg", EXACT), KM("udp_tx_km", "udp_sendmsg", EQUIVALENT),
		KP("udp_tx_kp", "udp_sendmsg", EQUIVALENT) } },
	{ POINT_TCP_TX, "transport", "tcp.tx", "tcp_sendmsg",
	    { FN("tcp_tx_fn", "tcp_sendmsg", EXACT), KM("tcp_tx_km", "tcp_sendmsg", EQUIVALENT),
		KP("tcp_tx_kp", "tcp_sendmsg", EQUIVALENT),
		TP("tcp_tx_tp", "tcp_sendmsg_locked", APPROXIMATE) } },
	{ POINT_TCP_RETRANSMIT, "transport", "tcp.retransmit", NULL,
	    { TP("tcp_retransmit_tp", "tcp_retransmit_skb", EXACT) } },
	{ POINT_TRANSPORT_RX, "transport", "transport.rx", "udp_recvmsg, tcp_recvmsg",
	    { TP("transport_rx_tp", "sk_data_ready", EQUIVALENT),
		FN("transport_rx_fn", "sock_def_readable", EQUIVALENT),
		KM("transport_rx_km", "sock_def_readable", EQUIVALENT),
		KP("transport_rx_kp", "sock_def_readable", EQUIVALENT) } },
	{ POINT_IP_TX, "ip", "ip.tx", "ip_push_pending_frames",
	    { FN("ip_tx_fn", "__ip_local_out", EXACT), NF("ip_tx_nf", "LOCAL_OUT", EXACT),
		KM("ip_tx_km", "__ip_local_out", EQUIVALENT),
		KP("ip_tx_kp", "__ip_local_out", EQUIVALENT) } },
	{ POINT_IP_RX, "ip", "ip.rx", "ip_rcv_finish",
	    { FN("ip_rx_fn", "ip_rcv", EXACT), NF("ip_rx_nf", "PRE_ROUTING", EXACT),
		KM("ip_rx_km", "ip_rcv", EQUIVALENT), KP("ip_rx_kp", "ip_rcv", EQUIVALENT) } },
	{ POINT_ACCESS_TX, "access", "access.tx", "dev_queue_xmit",
	    { TP("access_tx_tp", "net_dev_queue", EXACT),
		FN("access_tx_fn", "__dev_queue_xmit", EXACT),
		KM("access_tx_km", "__dev_queue_xmit", EQUIVALENT),
		KP("access_tx_kp", "__dev_queue_xmit", EQUIVALENT),
		CT("access_tx_ct", "net:net_dev_queue", EQUIVALENT) } },
	{ POINT_ACCESS_RX, "access", "access.rx", "net_rx_action",
	    { TP("access_rx_tp", "netif_receive_skb", EQUIVALENT),
		CT("access_rx_ct", "net:netif_receive_skb", EQUIVALENT) } },
	{ POINT_DRIVER_TX, "access", "driver.tx", NULL,
	    { TP("driver_tx_tp", "net_dev_start_xmit", EXACT) } },
	{ POINT_DRIVER_POLL, "access", "driver.poll", "net_rx_action",
	    { TP("driver_poll_tp", "napi_poll", EXACT) } },
	{ POINT_PACKET_DROP, "access", "packet.drop", NULL,
	    { TP("packet_drop_tp", "kfree_skb", EXACT) } },
	{ POINT_QDISC_ENQUEUE, "access", "qdisc.enqueue", NULL,
	    { TP("qdisc_enqueue_tp", "qdisc_enqueue", EXACT) } },
	{ POINT_QDISC_DEQUEUE, "access", "qdisc.dequeue", NULL,
	    { TP("qdisc_dequeue_tp", "qdisc_dequeue", EXACT) } },
	{ POINT_SCHED_SWITCH, "scheduler", "sched.switch", NULL,
	    { TP("sched_switch_tp", "sched_switch", EXACT) } },
	{ POINT_SCHED_WAKEUP, "scheduler", "sched.wakeup", NULL,
	    { TP("sched_wakeup_tp", "sched_wakeup", EXACT) } },
	{ POINT_SCHED_MIGRATE, "scheduler", "sched.migrate", NULL,
	    { TP("sched_migrate_tp", "sched_migrate_task", EXACT) } },
	{ POINT_SCHED_FORK, "scheduler", "sched.fork", NULL,
	    { TP("sched_fork_tp", "sched_process_fork", EXACT) } },
	{ POINT_SCHED_EXEC, "scheduler", "sched.exec", NULL,
	    { TP("sched_exec_tp", "sched_process_exec", EXACT) } },
	{ POINT_SCHED_EXIT, "scheduler", "sched.exit", NULL,
	    { TP("sched_exit_tp", "sched_process_exit", EXACT) } },
	{ POINT_BLOCK_INSERT, "block", "block.insert", NULL,
	    { TP("block_insert_tp", "block_rq_insert", EXACT) } },
	{ POINT_BLOCK_ISSUE, "block", "block.issue", NULL,
	    { TP("block_issue_tp", "block_rq_issue", EXACT) } },
	{ POINT_BLOCK_COMPLETE, "block", "block.complete", NULL,
	    { TP("block_complete_tp", "block_rq_complete", EXACT) } },
	{ POINT_PAGE_ALLOC, "memory", "page.alloc", NULL,
	    { TP("page_alloc_tp", "mm_page_alloc", EXACT) } },
	{ POINT_PAGE_FREE, "memory", "page.free", NULL,
	    { TP("page_free_tp", "mm_page_free", EXACT) } },
	{ POINT_FAULT_USER, "memory", "fault.user", NULL,
	    { TP("fault_user_tp", "page_fault_user", EXACT) } },
	{ POINT_FAULT_KERNEL, "memory", "fault.kernel", NULL,
	    { TP("fault_kernel_tp", "page_fault_kernel", EXACT) } },
	{ POINT_KVM_ENTRY, "kvm", "kvm.entry", NULL, { TP("kvm_entry_tp", "kvm_entry", EXACT) } },
	{ POINT_KVM_EXIT, "kvm", "kvm.exit", NULL, { TP("kvm_exit_tp", "kvm_exit", EXACT) } },
	{ 0, NULL, NULL, NULL, { { NULL, 0, 0, NULL } } },
};

const struct wait_name wait_names[] = {
	{ WAIT_SEND_BUFFER, "send_buffer", "from the program's write to the device's queue" },
	{ WAIT_QDISC, "qdisc", "in the queueing discipline" },
	{ WAIT_DRIVER, "driver", "from the driver to the end of sending" },
	{ WAIT_RECEIVE, "receive", "from the device's interrupt to the socket" },
	{ WAIT_READ, "read", "from the socket to the program's read" },
	{ WAIT_RUN_QUEUE, "run_queue", "from being runnable to running" },
	{ WAIT_BLOCK, "block", "from issue to completion of a block request" },
	{ 0, NULL, NULL },
};

const struct point *
point_find(const char *name)
{
	const struct point *p;

	for (p = points; p->layer != NULL; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

const struct point *
point_of(uint32_t id)
{
	const struct point *p;

	for (p = points; p->layer != NULL; p++)
		if (p->id == id)
			return p;
	return NULL;
}

const char *
fidelity_name(enum fidelity f)
{
	static const char *const names[] = { "exact", "equivalent", "approximate" };

	return names[f];
}

const char *
backend_name(enum backend b)
{
	static const char *const names[] = { "tp_btf", "fentry", "kprobe", "netfilter",
		"kprobe.multi", "tracepoint" };

	return names[b];
}
