/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libglobus_net_manager_narrows.so: a network manager of GridFTP's server, which the line
 *
 *	xnetmgr "manager=narrows;"
 *
 * loads. The manager sends a notice (flow_notice.h) to the agent of this host (nwflow) after the
 * opening of each data channel and before the close, and changes nothing. The server aborts a
 * transfer whose manager returns an error: every function here returns success, whatever happens.
 * A notice costs three system calls that never wait. Each notice has a socket of its own: the
 * server forks, changes users and closes descriptors at any time.
 */
#include <globus_net_manager.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/notice/flow_notice.h"

static globus_version_t version = { .major = 1 };

/* --- notices --- */

/* Where the agent listens: "manager=narrows;socket=PATH" names another place. */
static const char *
socket_of(const globus_net_manager_attr_t *attrs)
{
	for (; attrs != NULL && attrs->scope != NULL; attrs++)
		if (attrs->name != NULL && attrs->value != NULL &&
		    strcmp(attrs->name, "socket") == 0)
			return attrs->value;
	return FLOW_NOTICE_SOCKET;
}

static bool
send_to(const char *path, const char *bytes, size_t len)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	bool sent = false;
	int fd;

	if (strlen(path) >= sizeof(to.sun_path))
		return false;
	strcpy(to.sun_path, path);
	if ((fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) >= 0) {
		sent = sendto(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to,
			   sizeof(to)) == (ssize_t)len;
		close(fd);
	}
	return sent;
}

/* Threads of a server share the count of notices without an agent, which the next notice has. */
static void
tell(const globus_net_manager_attr_t *attrs, const struct flow_notice_text *known)
{
	static atomic_uint missed;
	struct flow_notice_text t = *known;
	char bytes[FLOW_NOTICE_BYTES];
	size_t len;

	t.missed = atomic_exchange(&missed, 0);
	len = flow_notice_put(&t, bytes);
	if (len == 0 || !send_to(socket_of(attrs), bytes, len))
		atomic_fetch_add(&missed, t.missed + 1);
}

/* --- what the server calls --- */

static globus_result_t
on_post_accept(globus_net_manager_t *manager, const globus_net_manager_attr_t *manager_attrs,
    const char *task_id, const char *transport, const char *local_contact,
    const char *remote_contact, const globus_net_manager_attr_t *attrs,
    globus_net_manager_attr_t **attrs_out)
{
	(void)manager, (void)attrs, (void)attrs_out;
	tell(manager_attrs,
	    &(struct flow_notice_text){ .transport = transport,
		.local = local_contact,
		.peer = remote_contact,
		.task = task_id });
	return GLOBUS_SUCCESS;
}

static globus_result_t
on_pre_close(globus_net_manager_t *manager, const globus_net_manager_attr_t *manager_attrs,
    const char *task_id, const char *transport, const char *local_contact,
    const char *remote_contact, const globus_net_manager_attr_t *attrs)
{
	(void)manager, (void)attrs;
	tell(manager_attrs,
	    &(struct flow_notice_text){ .closing = true,
		.transport = transport,
		.local = local_contact,
		.peer = remote_contact,
		.task = task_id });
	return GLOBUS_SUCCESS;
}

/* The callbacks after an accept and after a connect have the same arguments. */
static globus_net_manager_t manager_narrows = {
	.name = "narrows",
	.post_accept = on_post_accept,
	.post_connect = on_post_accept,
	.pre_close = on_pre_close,
};

/* --- the module --- */

static int activate(void);
static int deactivate(void);

/* Globus looks this symbol up by the name of the library. */
static char module_name[] = "globus_net_manager_narrows";

__attribute__((visibility("default"))) GlobusExtensionDefineModule(globus_net_manager_narrows) = {
	.module_name = module_name,
	.activation_func = activate,
	.deactivation_func = deactivate,
	.version = &version,
};

static int
activate(void)
{
	int rc = globus_module_activate(GLOBUS_NET_MANAGER_MODULE);

	if (rc != GLOBUS_SUCCESS)
		return rc;
	return (int)globus_net_manager_register(
	    &manager_narrows, GlobusExtensionMyModule(globus_net_manager_narrows));
}

static int
deactivate(void)
{
	(void)globus_net_manager_unregister(&manager_narrows);
	return globus_module_deactivate(GLOBUS_NET_MANAGER_MODULE);
}
