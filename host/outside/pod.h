/* SPDX-License-Identifier: BSD-3-Clause */
/* The pod of Kubernetes that a process is in. Any thread. */
#ifndef HOST_OUTSIDE_POD_H
#define HOST_OUTSIDE_POD_H

#include <stdbool.h>
#include <stdint.h>

enum { POD_UID_BYTES = 37, POD_LABEL_BYTES = 160 };
#define POD_LOGS "/var/log/pods" /* the kubelet's: a directory NAMESPACE_NAME_UID for each pod */

/* The id of the pod in the text of /proc/PID/cgroup, by the names of the kubelet's cgroup drivers:
 * ".../podUID" or "...-podUID.slice". Returns false for a process outside of pods. */
bool pod_uid(const char *cgroups, char out[POD_UID_BYTES]);
/* "pod NAMESPACE/NAME" of a process; "pod UID" if `logs` has no directory of the pod. Returns false
 * for a process outside of pods. */
bool pod_label(uint32_t pid, const char *logs, char out[POD_LABEL_BYTES]);

#endif
