/* SPDX-License-Identifier: BSD-3-Clause */
/* The network manager as Globus finds and calls it: every callback returns success, whatever is at
 * the socket's place, and a notice has the number of those before without an agent. */
#include <fcntl.h>
#include <globus_net_manager.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/notice/flow_notice.h"
#include "tests/check.h"

extern globus_module_descriptor_t globus_net_manager_narrows_module;

/* Globus keeps the paths of its installation until the end of the process. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
	return "leak:libglobus_common\n";
}

static char path[128];
static globus_net_manager_attr_t attrs[3];

static globus_result_t
open_notice(globus_net_manager_t *m, const char *task)
{
	globus_net_manager_attr_t *changed = NULL;
	globus_result_t rc =
	    m->post_accept(m, attrs, task, "tcp", "localhost:5", "10.0.0.1:6", NULL, &changed);

	CHECK(changed == NULL);
	return rc;
}

/* What came at the socket; false: nothing. */
static bool
receive(int fd, struct flow_notice *out)
{
	char bytes[FLOW_NOTICE_BYTES];
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	return n > 0 && flow_notice_parse(bytes, (size_t)n, out);
}

static void
test_calls(globus_net_manager_t *m)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	globus_net_manager_attr_t *changed = NULL;
	struct flow_notice n;
	int i, fd, full = 0;

	/* no agent, a dead agent, a file in its place, a path that no socket can have */
	CHECK(open_notice(m, "t") == GLOBUS_SUCCESS);
	strcpy(at.sun_path, path);
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	close(fd);
	CHECK(open_notice(m, "t") == GLOBUS_SUCCESS);
	unlink(path);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	CHECK(open_notice(m, NULL) == GLOBUS_SUCCESS);
	unlink(path);
	attrs[1].value = (char[300]){ 0 };
	memset(attrs[1].value, 'x', 299);
	CHECK(open_notice(m, "t") == GLOBUS_SUCCESS);
	attrs[1].value = path;
	/* an agent hears of the four */
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(open_notice(m, "t") == GLOBUS_SUCCESS);
	CHECK(receive(fd, &n) && n.missed == 4 && !n.closing && n.local.port == 5);
	CHECK_STR(n.task, "t");
	CHECK(m->post_connect(m, attrs, "none", "tcp", "10.0.0.2:1", "10.0.0.1:6", NULL,
		  &changed) == GLOBUS_SUCCESS &&
	    receive(fd, &n) && n.missed == 0 && n.task[0] == '\0');
	CHECK(m->pre_close(m, attrs, "t", "tcp", "10.0.0.2:1", "10.0.0.1:6", NULL) ==
		GLOBUS_SUCCESS &&
	    receive(fd, &n) && n.closing);
	/* an agent that reads nothing */
	for (i = 0; i < 2000; i++)
		full += open_notice(m, "t") != GLOBUS_SUCCESS;
	CHECK(full == 0);
	for (i = 0; receive(fd, &n); i++)
		CHECK(n.missed == 0);
	CHECK(i > 0 && i < 2000);
	CHECK(open_notice(m, "t") == GLOBUS_SUCCESS && receive(fd, &n));
	CHECK_INT(n.missed, 2000 - i);
	/* texts that no notice can have */
	CHECK(m->post_accept(m, NULL, NULL, NULL, NULL, NULL, NULL, &changed) == GLOBUS_SUCCESS);
	CHECK(!receive(fd, &n));
	close(fd);
	unlink(path);
}

int
main(void)
{
	char dir[] = "/tmp/test_net_manager.XXXXXX", scope[] = "narrows", net[] = "net_manager",
	     manager[] = "manager", name[] = "socket";
	globus_extension_handle_t handle;
	globus_net_manager_t *m;

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/flows", dir);
	attrs[0] = (globus_net_manager_attr_t){ net, manager, scope };
	attrs[1] = (globus_net_manager_attr_t){ scope, name, path };
	CHECK(globus_module_activate(GLOBUS_COMMON_MODULE) == 0);
	CHECK(globus_net_manager_narrows_module.activation_func() == 0);
	m = globus_extension_lookup(&handle, GLOBUS_NET_MANAGER_REGISTRY, scope);
	CHECK(m != NULL);
	if (m != NULL) {
		test_calls(m);
		globus_extension_release(handle);
	}
	CHECK(globus_net_manager_narrows_module.deactivation_func() == 0);
	rmdir(dir);
	return check_done("test_net_manager");
}
