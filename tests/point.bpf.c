/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* A point of a user's own, for magnet add: processes that begin a program. With BAD the program
 * reads from an address that is no pointer, which the kernel refuses. */
#include "event.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
const volatile uint32_t magnet_point = 0;

SEC("tp_btf/sched_process_exec")
int
BPF_PROG(on_exec, struct task_struct *p)
{
	struct event e = { .form = MAGNET_PLAIN, .id = p->tgid, .value = 7 };

#ifdef BAD
	e.id = *(volatile uint64_t *)(bpf_ktime_get_ns());
#endif
	return magnet_user_event(&e);
}
