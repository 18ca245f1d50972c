/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver between a stack of Globus XIO and its transport: libglobus_xio_narrows_driver.so, and
 * by another name of the same source libglobus_xio_netlogger_driver.so. Every operation is passed
 * on as it came, with its own result; measure.h counts.
 *
 * Without a wait for bytes the file transport works within the pass, on the calling thread, and the
 * time of the pass is that of the system call; with threads the transport tells the end (finish.h).
 * So a pass to a regular file or a memory device asks for no minimum of bytes; XIO itself passes a
 * short operation's rest on again. If such a pass moves nothing without an error, later passes of
 * the flow are ordinary. UDT always works within the pass.
 *
 * A command that passes through is not the driver's: its arguments are looked at in a copy of the
 * list, because the driver below reads the same list.
 *
 * Nothing here returns an error of its own, except that a command is unknown.
 */
#include <globus_xio_driver.h>
#include <globus_xio_file_driver.h>
#include <globus_xio_tcp_driver.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "gridftp/xio/finish.h"
#include "gridftp/xio/measure.h"
#include "gridftp/xio/options.h"
#include "gridftp/xio/sender.h"
#include "narrows/caliper.h"
#include "narrows/clock.h"

#ifdef NARROWS_NETLOGGER
#define DRIVER netlogger
#else
#define DRIVER narrows
#endif
#define TEXT_OF(x)  #x
#define NAME_OF(x)  TEXT_OF(x)
#define DECLARE(x)  GlobusXIODeclareDriver(x)
#define DEFINE(x)   GlobusXIODefineDriver(x, driver_init, driver_destroy)
#define MODULE(x)   GlobusXIODefineModule(x)
#define REGISTER(x) GlobusXIORegisterDriver(x)
#define FORGET(x)   GlobusXIOUnRegisterDriver(x)

enum { MEMORY_MAJOR = 1, SUMMARY_COMMAND = 1024, CONTACT_BYTES = 64 };
#define EXIT_WAIT_NS INT64_C(2000000000)

/* XIO activates the module of a process once, and gives its functions no place for a state. */
static struct process {
	struct measure measure;
	struct sender *sender; /* NULL: no flow so far */
	bool begun;
} process;
static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;

/* A handle of the stack. */
struct handle {
	struct flow *flow; /* NULL: unmeasured */
	globus_xio_driver_t transport;
	struct flow_label label;
	struct options options;
	bool file; /* the transport has the file driver's commands */
	bool tcp;
	bool udt;
};

/* The contact of a listener, and of the links through the listener. */
struct listener {
	char host[CONTACT_BYTES];
	uint16_t port;
};

/* --- the process --- */

/* The state of this process: the child of a server's fork begins anew. */
static struct measure *
measure_of_process(void)
{
	pthread_mutex_lock(&process_lock);
	if (!process.begun || process.measure.pid != getpid()) {
		measure_init(&process.measure, globus_thread_preemptive_threads());
		/* without threads nothing is woken within a pass */
		process.measure.ends_hidden = process.measure.threads && !finish_watch();
		process.sender = NULL;
		process.begun = true;
	}
	if (process.sender == NULL && !process.measure.no_sender)
		process.sender = sender_start(&process.measure, NAME_OF(DRIVER));
	pthread_mutex_unlock(&process_lock);
	return &process.measure;
}

/* Sends the last reports and ends the thread: the client exits with open handles. */
static void
process_finish(void)
{
	struct sender *sender = NULL;

	pthread_mutex_lock(&process_lock);
	if (process.begun && process.measure.pid == getpid()) {
		sender = process.sender;
		process.sender = NULL;
	}
	pthread_mutex_unlock(&process_lock);
	sender_finish(sender, EXIT_WAIT_NS);
}

__attribute__((destructor)) static void
on_exit_of_process(void)
{
	process_finish();
}

/* --- options --- */

static globus_result_t
attr_init(void **out)
{
	struct options *o = malloc(sizeof(*o));

	if (o != NULL)
		options_init(o);
	*out = o;
	return GLOBUS_SUCCESS;
}

static globus_result_t
attr_copy(void **out, void *from)
{
	struct options *o = from != NULL ? malloc(sizeof(*o)) : NULL;

	if (o != NULL)
		memcpy(o, from, sizeof(*o));
	*out = o;
	return GLOBUS_SUCCESS;
}

static globus_result_t
attr_destroy(void *attr)
{
	free(attr);
	return GLOBUS_SUCCESS;
}

/* "uuid=U", and the text for the last reply of the control channel. */
static globus_result_t
attr_summary(va_list ap)
{
	const char *asked = va_arg(ap, const char *);
	char **out = va_arg(ap, char **);
	const char *id = asked != NULL ? strchr(asked, '=') : NULL;

	GlobusXIOName(attr_summary);
	*out = id != NULL && process.begun
	    ? measure_summary(&process.measure, id + 1, nw_caliper_now())
	    : NULL;
	return *out != NULL ? GLOBUS_SUCCESS : GlobusXIOErrorInvalidCommand(SUMMARY_COMMAND);
}

static globus_result_t
attr_cntl(void *attr, int cmd, va_list ap)
{
	GlobusXIOName(attr_cntl);
	if (cmd == SUMMARY_COMMAND)
		return attr_summary(ap);
	if (cmd < 0 || cmd >= SUMMARY_COMMAND)
		return GlobusXIOErrorInvalidCommand(cmd);
	if (attr != NULL)
		options_set(attr, (unsigned)cmd, va_arg(ap, const char *));
	return GLOBUS_SUCCESS;
}

/* --- listeners --- */

static void
contact_copy(struct listener *l, const globus_xio_contact_t *contact)
{
	memset(l, 0, sizeof(*l));
	if (contact == NULL)
		return;
	if (contact->host != NULL && strlen(contact->host) < sizeof(l->host))
		strcpy(l->host, contact->host);
	if (contact->port != NULL)
		l->port = (uint16_t)strtoul(contact->port, NULL, 10);
}

static globus_result_t
server_init(void *attr, const globus_xio_contact_t *contact, globus_xio_operation_t op)
{
	struct listener *l = malloc(sizeof(*l));

	(void)attr;
	if (l != NULL)
		contact_copy(l, contact);
	return globus_xio_driver_pass_server_init(op, contact, l);
}

static globus_result_t
server_destroy(void *server)
{
	free(server);
	return GLOBUS_SUCCESS;
}

static void
on_accept(globus_xio_operation_t op, globus_result_t result, void *link)
{
	if (result != GLOBUS_SUCCESS) {
		free(link);
		link = NULL;
	}
	globus_xio_driver_finished_accept(op, link, result);
}

static globus_result_t
server_accept(void *server, globus_xio_operation_t op)
{
	struct listener *link = calloc(1, sizeof(*link));
	globus_result_t result;

	if (link != NULL && server != NULL)
		*link = *(struct listener *)server;
	result = globus_xio_driver_pass_accept(op, on_accept, link);
	if (result != GLOBUS_SUCCESS)
		free(link);
	return result;
}

static globus_result_t
unknown_cntl(void *any, int cmd, va_list ap)
{
	GlobusXIOName(unknown_cntl);
	(void)any;
	(void)ap;
	return GlobusXIOErrorInvalidCommand(cmd);
}

static globus_result_t
link_destroy(void *link)
{
	free(link);
	return GLOBUS_SUCCESS;
}

/* --- open --- */

static enum flow_kind
kind_of(const globus_xio_contact_t *contact, const void *link, enum options_stack stack)
{
	if (stack != STACK_AUTO)
		return stack == STACK_NET ? FLOW_NET : FLOW_DISK;
	return link != NULL || (contact != NULL && contact->host != NULL) ? FLOW_NET : FLOW_DISK;
}

/* Contact and listener: a stream over UDT has no other address. */
static void
label_contacts(
    struct flow_label *l, const globus_xio_contact_t *contact, const struct listener *link)
{
	struct listener peer;

	if (link != NULL) {
		strcpy(l->local_text, link->host);
		l->local_port = link->port;
		l->passive = true;
		return;
	}
	contact_copy(&peer, contact);
	strcpy(l->peer_text, peer.host);
	l->peer_port = peer.port;
}

/* The name tells which commands the transport understands: their numbers overlap. */
static void
transport_find(struct handle *h, globus_xio_operation_t op)
{
	const char *name = NULL;

	h->transport = globus_xio_operation_get_transport_user_driver(op);
	if (h->transport == NULL ||
	    globus_xio_driver_attr_cntl(op, h->transport, GLOBUS_XIO_GET_DRIVER_NAME, &name) !=
		GLOBUS_SUCCESS ||
	    name == NULL)
		return;
	strncpy(h->label.transport, name, sizeof(h->label.transport) - 1);
	h->file = strcmp(name, "file") == 0;
	h->tcp = strcmp(name, "tcp") == 0;
	h->udt = strcmp(name, "udt") == 0;
}

static void
socket_look(struct flow_label *l)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	struct net_addr none = { 0 };

	if (getsockname(l->fd, (struct sockaddr *)&a, &len) == 0)
		net_addr_of_socket(&l->local, &a);
	len = sizeof(a);
	if (getpeername(l->fd, (struct sockaddr *)&a, &len) == 0)
		net_addr_of_socket(&l->peer, &a);
	if (l->local.family == 0 || l->peer.family == 0)
		l->local = l->peer = none;
}

/* Whether operations on the file never wait for another process. */
static bool
file_look(struct flow_label *l)
{
	struct stat st;

	if (fstat(l->fd, &st) != 0)
		return false;
	l->dev = st.st_dev;
	if (S_ISREG(st.st_mode) && st.st_size > 0) /* a file to be written is empty */
		l->size_bytes = st.st_size;
	return S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && major(st.st_rdev) == MEMORY_MAJOR);
}

/* Begins the flow of a handle that is open now. */
static void
handle_measure(struct handle *h, globus_xio_operation_t op)
{
	globus_xio_driver_handle_t below = globus_xio_operation_get_driver_handle(op);
	globus_xio_system_socket_t socket = -1;
	globus_xio_system_file_t file = -1;
	bool exact = false;

	if (h->tcp && h->label.kind == FLOW_NET &&
	    globus_xio_driver_handle_cntl(
		below, h->transport, GLOBUS_XIO_TCP_GET_HANDLE, &socket) == GLOBUS_SUCCESS &&
	    (h->label.fd = socket) >= 0)
		socket_look(&h->label);
	if (h->file && h->label.kind == FLOW_DISK &&
	    globus_xio_driver_handle_cntl(below, h->transport, GLOBUS_XIO_FILE_GET_HANDLE, &file) ==
		GLOBUS_SUCCESS &&
	    (h->label.fd = file) >= 0)
		exact = file_look(&h->label) && h->options.exact;
	h->flow = flow_open(
	    measure_of_process(), &h->label, &h->options, exact || h->udt, nw_caliper_now());
}

static void
handle_free(struct handle *h)
{
	if (h != NULL)
		free((char *)h->label.path);
	free(h);
}

static void
on_open(globus_xio_operation_t op, globus_result_t result, void *arg)
{
	struct handle *h = arg;

	if (result != GLOBUS_SUCCESS) {
		handle_free(h);
		h = NULL;
	}
	if (h != NULL)
		handle_measure(h, op);
	globus_xio_driver_finished_open(h, op, result);
}

static struct handle *
handle_new(const globus_xio_contact_t *contact, const struct listener *link,
    const struct options *attr, globus_xio_operation_t op)
{
	struct handle *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	if (attr != NULL)
		h->options = *attr;
	else
		options_init(&h->options);
	h->label.fd = -1;
	h->label.size_bytes = -1;
	h->label.kind = kind_of(contact, link, h->options.stack);
	transport_find(h, op);
	if (h->label.kind == FLOW_NET)
		label_contacts(&h->label, contact, link);
	else if (contact != NULL && contact->resource != NULL)
		h->label.path = strdup(contact->resource);
	return h;
}

static globus_result_t
driver_open(const globus_xio_contact_t *contact, void *link, void *attr, globus_xio_operation_t op)
{
	struct handle *h = handle_new(contact, link, attr, op);
	globus_result_t result = globus_xio_driver_pass_open(op, contact, on_open, h);

	if (result != GLOBUS_SUCCESS)
		handle_free(h);
	return result;
}

/* --- read and write --- */

static void
on_read(globus_xio_operation_t op, globus_result_t result, globus_size_t bytes, void *arg)
{
	struct op *o = arg;

	if (o != NULL)
		op_done(&process.measure, o, bytes,
		    result == GLOBUS_SUCCESS              ? OP_OK
			: globus_xio_error_is_eof(result) ? OP_END_OF_FILE
							  : OP_FAILED,
		    OP_NOW);
	globus_xio_driver_finished_read(op, result, bytes);
}

static void
on_write(globus_xio_operation_t op, globus_result_t result, globus_size_t bytes, void *arg)
{
	struct op *o = arg;

	if (o != NULL)
		op_done(&process.measure, o, bytes, result == GLOBUS_SUCCESS ? OP_OK : OP_FAILED,
		    OP_NOW);
	globus_xio_driver_finished_write(op, result, bytes);
}

/* NULL: the operation goes unmeasured. An operation of no bytes never reaches the system. */
static struct op *
handle_begin(
    const struct handle *h, enum flow_dir dir, const globus_xio_iovec_t *iovec, int iovec_count)
{
	size_t bytes;

	if (h == NULL || h->flow == NULL || iovec_count < 1)
		return NULL;
	GlobusXIOUtilIovTotalLength(bytes, iovec, iovec_count);
	if (bytes == 0)
		return NULL;
	return op_begin(&process.measure, h->flow, dir, iovec[0].iov_base, iovec[0].iov_len,
	    iovec_count, bytes, OP_NOW);
}

/* The least number of bytes that the pass asks for. */
static globus_size_t
wait_for_of(const struct handle *h, const struct op *o, globus_xio_operation_t op)
{
	return o != NULL && o->exact && !h->udt ? 0 : globus_xio_operation_get_wait_for(op);
}

/* Where the end within the pass is noted; NULL: it is of no interest. */
static _Atomic int64_t *
end_of(struct op *o)
{
	return o != NULL && o->exact && process.measure.threads && o->flow->label.kind == FLOW_DISK
	    ? &o->told_end_mono_ns
	    : NULL;
}

static void
handle_passed(struct op *o, globus_result_t result)
{
	if (o == NULL)
		return;
	if (result == GLOBUS_SUCCESS)
		op_returned(&process.measure, o, OP_NOW);
	else
		op_failed(&process.measure, o, OP_NOW);
}

static globus_result_t
driver_read(
    void *handle, const globus_xio_iovec_t *iovec, int iovec_count, globus_xio_operation_t op)
{
	struct op *o = handle_begin(handle, FLOW_READ, iovec, iovec_count);
	_Atomic int64_t *outer = finish_expect(end_of(o));
	globus_result_t result = globus_xio_driver_pass_read(
	    op, (globus_xio_iovec_t *)iovec, iovec_count, wait_for_of(handle, o, op), on_read, o);

	finish_expect(outer);
	handle_passed(o, result);
	return result;
}

static globus_result_t
driver_write(
    void *handle, const globus_xio_iovec_t *iovec, int iovec_count, globus_xio_operation_t op)
{
	struct op *o = handle_begin(handle, FLOW_WRITE, iovec, iovec_count);
	_Atomic int64_t *outer = finish_expect(end_of(o));
	globus_result_t result = globus_xio_driver_pass_write(
	    op, (globus_xio_iovec_t *)iovec, iovec_count, wait_for_of(handle, o, op), on_write, o);

	finish_expect(outer);
	handle_passed(o, result);
	return result;
}

/* --- commands, close --- */

static globus_result_t
driver_cntl(void *handle, int cmd, va_list ap)
{
	struct handle *h = handle;
	va_list copy;

	GlobusXIOName(driver_cntl);
	if (cmd == GLOBUS_XIO_SEEK && h != NULL && h->flow != NULL) {
		va_copy(copy, ap);
		flow_seek(&process.measure, h->flow, va_arg(copy, globus_off_t));
		va_end(copy);
	}
	return GlobusXIOErrorInvalidCommand(cmd);
}

static void
on_close(globus_xio_operation_t op, globus_result_t result, void *arg)
{
	struct handle *h = arg;

	if (h != NULL && h->flow != NULL)
		flow_close(&process.measure, h->flow, nw_caliper_now());
	handle_free(h);
	globus_xio_driver_finished_close(op, result);
}

static globus_result_t
driver_close(void *handle, void *attr, globus_xio_operation_t op)
{
	struct handle *h = handle;
	globus_result_t result;

	(void)attr;
	if (h != NULL && h->flow != NULL)
		flow_closing(&process.measure, h->flow);
	result = globus_xio_driver_pass_close(op, on_close, h);
	if (result != GLOBUS_SUCCESS && h != NULL) {
		if (h->flow != NULL)
			flow_close(&process.measure, h->flow, nw_caliper_now());
		handle_free(h);
	}
	return result;
}

/* --- the module --- */

/* One row per option; options_set() knows the options by their numbers. */
static globus_xio_string_cntl_table_t option_table[32];

static void
option_table_fill(void)
{
	unsigned i;

	for (i = 0;
	     options_keys[i] != NULL && i + 1 < sizeof(option_table) / sizeof(option_table[0]); i++)
		option_table[i] = (globus_xio_string_cntl_table_t){ options_keys[i], (int)i,
			globus_xio_string_cntl_string };
}

static void
driver_destroy(globus_xio_driver_t driver)
{
	globus_xio_driver_destroy(driver);
}

static globus_result_t
driver_init(globus_xio_driver_t *out)
{
	globus_xio_driver_t driver;
	globus_result_t result = globus_xio_driver_init(&driver, NAME_OF(DRIVER), NULL);

	if (result != GLOBUS_SUCCESS)
		return result;
	globus_xio_driver_set_transform(
	    driver, driver_open, driver_close, driver_read, driver_write, driver_cntl, NULL);
	globus_xio_driver_set_server(driver, server_init, server_accept, server_destroy,
	    unknown_cntl, unknown_cntl, link_destroy);
	globus_xio_driver_set_attr(driver, attr_init, attr_copy, attr_cntl, attr_destroy);
	option_table_fill();
	globus_xio_driver_string_cntl_set_table(driver, option_table);
	*out = driver;
	return GLOBUS_SUCCESS;
}

static int activate(void);
static int deactivate(void);
static globus_version_t version = { .major = 1 };

DECLARE(DRIVER);
DEFINE(DRIVER);

/* Seen outside: Globus finds the module by the name of this object. */
#pragma GCC visibility push(default)
MODULE(DRIVER) = { (char *)"globus_xio_" NAME_OF(DRIVER), activate, deactivate, NULL, NULL,
	&version, NULL };
#pragma GCC visibility pop

static int
activate(void)
{
	int rc = globus_module_activate(GLOBUS_XIO_MODULE);

	if (rc == GLOBUS_SUCCESS)
		REGISTER(DRIVER);
	return rc;
}

static int
deactivate(void)
{
	process_finish();
	FORGET(DRIVER);
	return globus_module_deactivate(GLOBUS_XIO_MODULE);
}
