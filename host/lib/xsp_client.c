/* SPDX-License-Identifier: BSD-3-Clause */
/* The original library's calls on top of struct conn: each call waits, within its time, for its
 * result. */
#include "narrows/xsp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>

#include "host/lib/conn.h"
#include "host/lib/hop.h"
#include "host/lib/hostname.h"
#include "host/lib/tlsfiles.h"
#include "narrows/clock.h"
#include "narrows/err.h"

#define SECOND_NS  INT64_C(1000000000)
#define ANSWER_NS  (10 * SECOND_NS)
#define SEND_NS    (60 * SECOND_NS)
#define GOODBYE_NS SECOND_NS
#define FOREVER    INT64_MAX

enum { OPTIONS_MAX = 16, OPTION_BYTES = 32, KEPT_MAX_BYTES = 16 << 20 };

struct xsp_sec_info {
	int nothing;
};

/* An application block that has come and has not been asked for yet. */
struct kept {
	STAILQ_ENTRY(kept) link;
	uint16_t type;
	size_t len;
	uint8_t *data;
};

struct option {
	int level, name;
	socklen_t len;
	unsigned char value[OPTION_BYTES];
};

struct xsp_sess {
	struct conn conn;
	struct hop root;
	struct option options[OPTIONS_MAX];
	size_t n_options;
	int64_t receive_ns, send_ns;
	STAILQ_HEAD(, kept) kept;
	size_t kept_bytes;
	struct tlsfiles files;
};

int
libxsp_init(void)
{
	return 0;
}

libxspSess *
xsp_session(void)
{
	libxspSess *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	conn_init(&s->conn);
	s->conn.exact = true;
	s->receive_ns = FOREVER;
	s->send_ns = SEND_NS;
	STAILQ_INIT(&s->kept);
	return s;
}

static void
session_free(libxspSess *s)
{
	struct kept *k;

	while ((k = STAILQ_FIRST(&s->kept)) != NULL) {
		STAILQ_REMOVE_HEAD(&s->kept, link);
		free(k->data);
		free(k);
	}
	hop_clear(&s->root);
	conn_clear(&s->conn);
	tlsfiles_clear(&s->files);
	free(s);
}

const char *
xsp_why(const libxspSess *sess)
{
	return sess->conn.why;
}

/* --- the path --- */

int
xsp_sess_appendchild(libxspSess *sess, const char *child, unsigned int flags)
{
	return hop_add(hop_last(&sess->root), child, (uint16_t)flags) != NULL ? 0 : -1;
}

int
xsp_sess_addchild(libxspSess *sess, const char *parent, const char *child, uint16_t flags)
{
	struct hop *p = hop_find(&sess->root, parent);

	if (p == NULL)
		errno = ENOENT;
	return p != NULL && hop_add(p, child, flags) != NULL;
}

/* --- waiting --- */

static int
fail(int error)
{
	errno = error;
	return -1;
}

static int
fail_code(int rc)
{
	switch (rc) {
	case NW_ENOMEM: return fail(ENOMEM);
	case NW_ETOOBIG: return fail(EMSGSIZE);
	case NW_EPROTO: return fail(EPROTO);
	case NW_EIO: return fail(ECONNREFUSED);
	}
	return fail(ECONNRESET);
}

static int64_t
deadline_in(int64_t ns)
{
	int64_t now = nw_mono_ns();

	return ns < FOREVER - now ? now + ns : FOREVER;
}

static int
wait_io(const libxspSess *s, int64_t deadline_mono_ns)
{
	struct pollfd pfd = { .fd = s->conn.fd, .events = conn_events(&s->conn) };
	int64_t left = deadline_mono_ns == FOREVER ? FOREVER : deadline_mono_ns - nw_mono_ns();
	struct timespec ts = { .tv_sec = left / SECOND_NS, .tv_nsec = left % SECOND_NS };

	if (left <= 0)
		return fail(ETIMEDOUT);
	return ppoll(&pfd, 1, left == FOREVER ? NULL : &ts, NULL) < 0 && errno != EINTR ? -1 : 0;
}

static int
flush(libxspSess *s, int64_t deadline_mono_ns)
{
	int rc;

	for (;;) {
		if ((rc = conn_step(&s->conn, nw_mono_ns())) < 0)
			return fail_code(rc);
		if (conn_unsent_bytes(&s->conn) == 0)
			return 0;
		if (wait_io(s, deadline_mono_ns) < 0) {
			rc = errno;
			conn_close(&s->conn, "the peer did not take the message in time");
			return fail(rc);
		}
	}
}

static int
keep_block(libxspSess *s, const struct nw_block *b)
{
	struct kept *k;

	if (s->kept_bytes + b->len > KEPT_MAX_BYTES)
		return fail(ENOBUFS);
	if ((k = malloc(sizeof(*k))) == NULL)
		return -1;
	if ((k->data = malloc(b->len + 1)) == NULL) {
		free(k);
		return -1;
	}
	k->type = b->type;
	k->len = b->len;
	memcpy(k->data, b->data, b->len);
	k->data[b->len] = '\0';
	STAILQ_INSERT_TAIL(&s->kept, k, link);
	s->kept_bytes += b->len;
	return 0;
}

/* Takes one message off the connection. Returns the message type; application blocks are kept, a
 * PING is answered. */
static int
take_message(libxspSess *s, int64_t deadline_mono_ns)
{
	struct nw_frame f;
	struct nw_block b;
	size_t cursor = 0;
	int rc;

	for (;;) {
		if ((rc = conn_step(&s->conn, nw_mono_ns())) < 0)
			return fail_code(rc);
		if ((rc = conn_recv(&s->conn, &f)) == NW_OK)
			break;
		if (rc != NW_EAGAIN)
			return fail_code(rc);
		if (wait_io(s, deadline_mono_ns) < 0)
			return -1;
	}
	if (f.type == NW_MSG_PING && (rc = conn_queue(&s->conn, f.version, NW_MSG_PONG, NULL)) < 0)
		return fail_code(rc);
	while (f.type == NW_MSG_APP_DATA && nw_frame_next_block(&f, &cursor, &b))
		if (keep_block(s, &b) < 0)
			return -1;
	if (f.type == NW_MSG_SESS_CLOSE) {
		conn_close(&s->conn, "the peer ended the session");
		return fail(ECONNRESET);
	}
	return f.type;
}

/* Waits for a message of one type; a refusal ends the waiting. */
static int
wait_for(libxspSess *s, int wanted, int64_t ns)
{
	int64_t deadline = deadline_in(ns);
	int type;

	do {
		if ((type = take_message(s, deadline)) < 0)
			return -1;
		if (type == NW_MSG_SESS_NACK)
			return fail(EPERM);
	} while (type != wanted);
	return 0;
}

static int
send_message(libxspSess *s, uint8_t version, uint16_t type, const struct nw_block *block)
{
	uint64_t before = s->conn.queued_bytes;
	int rc;

	if (s->conn.state != CONN_OPEN)
		return fail(ENOTCONN);
	if ((rc = conn_queue(&s->conn, version, type, block)) < 0)
		return fail_code(rc);
	if (flush(s, deadline_in(s->send_ns)) < 0)
		return -1;
	return (int)(s->conn.queued_bytes - before);
}

/* --- opening and closing --- */

static void
apply_options(libxspSess *s)
{
	size_t i;

	for (i = 0; i < s->n_options; i++)
		setsockopt(s->conn.fd, s->options[i].level, s->options[i].name, s->options[i].value,
		    s->options[i].len);
}

/* A hop whose name begins with tls:// wants the files of `narrows enroll` for this host. */
static int
files_find(libxspSess *s)
{
	static const struct tlsfiles_opts usual = { NULL, NULL, NULL, NULL };
	char name[HOSTNAME_BYTES];

	tlsfiles_clear(&s->files);
	s->conn.files = &s->files;
	return tlsfiles_find(&s->files, &usual, hostname_get(NULL, name));
}

static int
start_connect(libxspSess *s, const struct hop *first)
{
	size_t n = hop_count_below(first);
	struct conn_addr addr;
	uint8_t *hops = NULL;
	int rc;

	if (n > HOP_COUNT_MAX || conn_addr_parse(first->id, &addr) < 0)
		return fail(EINVAL);
	if (addr.tls && files_find(s) < 0)
		return fail(ENOMEM);
	if (n > 0 && (hops = malloc(n * HOP_RECORD_BYTES)) == NULL)
		return -1;
	hop_write_below(first, hops);
	rc = conn_connect(&s->conn, &addr, hops, n * HOP_RECORD_BYTES, ANSWER_NS);
	free(hops);
	return rc < 0 ? fail_code(rc) : 0;
}

int
xsp_connect(libxspSess *sess)
{
	const struct hop *first = sess->root.children;
	int64_t deadline;
	int rc;

	if (sess->conn.state == CONN_OPEN)
		return fail(EISCONN);
	if (first == NULL || first->next != NULL)
		return fail(EINVAL);
	if (start_connect(sess, first) < 0)
		return -1;
	deadline = sess->conn.deadline_mono_ns;
	while (sess->conn.state != CONN_OPEN) {
		if (wait_io(sess, conn_deadline(&sess->conn)) < 0 && errno != ETIMEDOUT)
			return -1;
		if ((rc = conn_step(&sess->conn, nw_mono_ns())) < 0)
			return fail(nw_mono_ns() >= deadline ? ETIMEDOUT : ECONNREFUSED);
	}
	/* a program that uses the socket directly expects calls to wait */
	fcntl(sess->conn.fd, F_SETFL, 0);
	apply_options(sess);
	return 0;
}

int
xsp_close(libxspSess *sess)
{
	if (sess == NULL)
		return fail(EINVAL);
	session_free(sess);
	return 0;
}

/* Bytes left unread would make the system reset the connection and destroy bytes still on the
 * way to the peer. */
static void
drain(libxspSess *s)
{
	int64_t deadline = deadline_in(GOODBYE_NS);
	char bytes[4096];

	shutdown(s->conn.fd, SHUT_WR);
	while (
	    wait_io(s, deadline) == 0 && recv(s->conn.fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		continue;
}

int
xsp_close2(libxspSess *sess)
{
	int rc;

	if (sess == NULL)
		return fail(EINVAL);
	rc = send_message(sess, 1, NW_MSG_SESS_CLOSE, NULL) > 0 ? 0 : -1;
	if (rc == 0)
		drain(sess);
	session_free(sess);
	return rc;
}

int
xsp_shutdown(libxspSess *sess, int how)
{
	return shutdown(sess->conn.fd, how);
}

/* --- messages --- */

int
xsp_send_msg(libxspSess *sess, const void *buf, uint64_t len, int opt_type)
{
	struct nw_block b = {
		.type = (uint16_t)opt_type, .sport = 1, .data = buf, .len = (size_t)len
	};
	int n;

	if (len > NW_FRAME_V1_PAYLOAD_SAFE)
		n = fail(EMSGSIZE);
	else if (opt_type < 0 || opt_type > UINT16_MAX)
		n = fail(EINVAL);
	else
		n = send_message(sess, 1, NW_MSG_APP_DATA, &b);
	return n > 0 ? n : 0;
}

int
xsp_recv_msg(libxspSess *sess, void **ret_buf, uint64_t *len, int *ret_type)
{
	int64_t deadline = deadline_in(sess->receive_ns);
	struct kept *k;

	*ret_buf = NULL;
	*len = 0;
	while ((k = STAILQ_FIRST(&sess->kept)) == NULL)
		if (take_message(sess, deadline) < 0)
			return 0;
	STAILQ_REMOVE_HEAD(&sess->kept, link);
	sess->kept_bytes -= k->len;
	*ret_buf = k->data;
	*len = k->len;
	*ret_type = k->type;
	free(k);
	errno = 0;
	return (int)*len;
}

int
xsp_wait_ack(libxspSess *sess)
{
	return wait_for(sess, NW_MSG_SESS_ACK, ANSWER_NS);
}

/* In the short form, as the original does: every XSP peer answers a short ping. */
int
xsp_send_ping(libxspSess *sess)
{
	return send_message(sess, 0, NW_MSG_PING, NULL) > 0 ? 0 : -1;
}

int
xsp_recv_ping(libxspSess *sess)
{
	return wait_for(sess, NW_MSG_PONG, ANSWER_NS);
}

int
xsp_signal_inf_data(libxspSess *sess)
{
	return send_message(sess, 1, NW_MSG_INF_DATA, NULL) > 0 ? 0 : -1;
}

/* --- the socket --- */

ssize_t
xsp_send(libxspSess *sess, const void *buf, size_t len, int flags)
{
	return send(sess->conn.fd, buf, len, flags | MSG_NOSIGNAL);
}

ssize_t
xsp_recv(libxspSess *sess, void *buf, size_t len, int flags)
{
	return recv(sess->conn.fd, buf, len, flags);
}

/* A timeout of 0 means none, as for the socket. */
static void
remember_timeout(libxspSess *s, const struct option *o)
{
	struct timeval tv;
	int64_t ns;

	if (o->level != SOL_SOCKET || (o->name != SO_RCVTIMEO && o->name != SO_SNDTIMEO) ||
	    o->len != sizeof(tv))
		return;
	memcpy(&tv, o->value, sizeof(tv));
	ns = (int64_t)tv.tv_sec * SECOND_NS + tv.tv_usec * 1000;
	*(o->name == SO_RCVTIMEO ? &s->receive_ns : &s->send_ns) = ns > 0 ? ns : FOREVER;
}

static struct option *
find_option(libxspSess *s, int level, int name)
{
	size_t i;

	for (i = 0; i < s->n_options; i++)
		if (s->options[i].level == level && s->options[i].name == name)
			return &s->options[i];
	return NULL;
}

int
xsp_setsockopt(libxspSess *sess, int level, int optname, const void *optval, socklen_t optlen)
{
	struct option *o = find_option(sess, level, optname);

	if (level == XSP_SOCKET)
		return fail(ENOPROTOOPT);
	if (optlen > OPTION_BYTES)
		return fail(EINVAL);
	if (sess->conn.fd >= 0 && setsockopt(sess->conn.fd, level, optname, optval, optlen) < 0)
		return -1;
	if (o == NULL && sess->n_options == OPTIONS_MAX)
		return fail(ENOBUFS);
	if (o == NULL)
		o = &sess->options[sess->n_options++];
	o->level = level;
	o->name = optname;
	o->len = optlen;
	memcpy(o->value, optval, optlen);
	remember_timeout(sess, o);
	return 0;
}

int
xsp_getsockopt(libxspSess *sess, int level, int optname, void *optval, socklen_t *optlen)
{
	const struct option *o = find_option(sess, level, optname);

	if (sess->conn.fd >= 0)
		return getsockopt(sess->conn.fd, level, optname, optval, optlen);
	if (o == NULL)
		return fail(ENOTCONN);
	if (*optlen > o->len)
		*optlen = o->len;
	memcpy(optval, o->value, *optlen);
	return 0;
}

int
xsp_get_session_socket(libxspSess *sess)
{
	return sess->conn.fd;
}

int
xsp_set_session_socket(libxspSess *sess, int new_sd)
{
	static const uint8_t none[NW_SESS_ID_BYTES];

	if (new_sd < 0)
		return fail(EBADF);
	if (memcmp(sess->conn.sess_id, none, sizeof(none)) == 0 &&
	    getrandom(sess->conn.sess_id, sizeof(none), 0) != (ssize_t)sizeof(none))
		return -1;
	conn_adopt(&sess->conn, new_sd);
	apply_options(sess);
	return 0;
}

int
xsp_set_session_connected(libxspSess *sess)
{
	return sess->conn.state == CONN_OPEN ? 0 : fail(ENOTCONN);
}

int
xsp_sess_cmp(libxspSess *sess1, libxspSess *sess2)
{
	return memcmp(sess1->conn.sess_id, sess2->conn.sess_id, NW_SESS_ID_BYTES);
}

/* --- calls without effect, for programs to link --- */

libxspSecInfo *
xsp_sess_new_security(const char *username, const char *password, const char *key1,
    const char *key2, const char *keypass)
{
	static struct xsp_sec_info empty;

	(void)username, (void)password, (void)key1, (void)key2, (void)keypass;
	return &empty;
}

int
xsp_sess_set_security(libxspSess *sess, libxspSecInfo *sec, int type)
{
	(void)sess, (void)sec;
	return type == XSP_SEC_NONE ? 0 : fail(ENOTSUP);
}

libxspNetPath *
xsp_sess_new_net_path(int action)
{
	(void)action;
	errno = ENOTSUP;
	return NULL;
}

libxspNetPathRule *
xsp_sess_new_net_path_rule(libxspNetPath *path, const char *type, ...)
{
	(void)path, (void)type;
	errno = ENOTSUP;
	return NULL;
}

int
xsp_sess_set_net_path_rule_crit(libxspNetPathRule *rule, libxspNetPathRuleCrit *crit)
{
	(void)rule, (void)crit;
	return fail(ENOTSUP);
}

int
xsp_sess_set_net_path_rule_eid(libxspNetPathRule *rule, void *eid, int type)
{
	(void)rule, (void)eid, (void)type;
	return fail(ENOTSUP);
}

int
xsp_sess_set_net_path_rule_op(libxspNetPathRule *rule, int op)
{
	(void)rule, (void)op;
	return fail(ENOTSUP);
}

int
xsp_signal_path(libxspSess *sess, libxspNetPath *path)
{
	(void)sess, (void)path;
	return fail(ENOTSUP);
}
