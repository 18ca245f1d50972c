/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program as it was written for the original library (its header's name included), against a peer
 * in a process of its own. What the peer does is chosen by the option type it is sent; what it
 * finds wrong is its exit status.
 */
#include "libxsp_client.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "tests/fakebox.h"
#include "narrows/clock.h"
#include "narrows/original/compat.h"
#include "narrows/original/mongo.h"
#include "narrows/original/option_types.h"

enum {
	ECHO = 0x99,
	TWO_MESSAGES = 0x50,
	TWO_BLOCKS,
	HANG_UP,
	ACK,
	NACK,
	CLOSE_SESSION,
	GARBAGE,
	SLOW_PIECES
};

static struct fakebox box;
static pid_t peer_pid;

/* --- the peer --- */

static void
send_bytes_slowly(const uint8_t *p, size_t len)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	size_t i;

	for (i = 0; i < len; i += 7) {
		CHECK(write(box.fd, p + i, len - i < 7 ? len - i : 7) > 0);
		nanosleep(&pause, NULL);
	}
}

static void
on_option(struct fakebox *b, const struct nw_block *block)
{
	const struct nw_block two[] = { { .type = 1, .data = (const uint8_t *)"first", .len = 5 },
		{ .type = 2, .data = (const uint8_t *)"", .len = 0 } };
	uint8_t out[1024];
	long n;

	switch (block->type) {
	case ECHO: fakebox_send(b, 1, NW_MSG_APP_DATA, block); break;
	case TWO_MESSAGES:
		fakebox_send(b, 1, NW_MSG_PING, NULL);
		fakebox_send(b, 1, NW_MSG_APP_DATA, &two[0]);
		fakebox_send(b, 1, NW_MSG_APP_DATA, &two[1]);
		break;
	case TWO_BLOCKS:
		n = nw_frame_write(out, sizeof(out), 1, NW_MSG_APP_DATA, b->sess_id, two, 2);
		CHECK(write(b->fd, out, (size_t)n) == n);
		break;
	case HANG_UP: fakebox_hang_up(b); break;
	case ACK: fakebox_send(b, 1, NW_MSG_SESS_ACK, NULL); break;
	case NACK: fakebox_send(b, 1, NW_MSG_SESS_NACK, NULL); break;
	case CLOSE_SESSION: fakebox_send(b, 1, NW_MSG_SESS_CLOSE, NULL); break;
	case GARBAGE:
		memset(out, 0xa5, sizeof(out));
		CHECK(write(b->fd, out, sizeof(out)) == sizeof(out));
		break;
	case SLOW_PIECES:
		n = nw_frame_write(out, sizeof(out), 1, NW_MSG_APP_DATA, b->sess_id, two, 1);
		send_bytes_slowly(out, (size_t)n);
		break;
	}
}

/* Serves until killed (status unknown) or until `sessions` sessions were closed properly. */
static void
peer_start(unsigned sessions, bool refuse, unsigned hops)
{
	struct timespec pause = { .tv_nsec = 200000 };
	int64_t end;

	fakebox_start(&box);
	box.refuse = refuse;
	box.on_option = on_option;
	if ((peer_pid = fork()) != 0)
		return;
	check_count = check_failed = 0;
	for (end = nw_mono_ns() + INT64_C(20000000000); nw_mono_ns() < end && box.closes < sessions;
	     nanosleep(&pause, NULL))
		fakebox_step(&box);
	CHECK_INT(box.closes, sessions);
	CHECK_INT(box.hops, hops);
	_exit(check_failed != 0);
}

static void
peer_end(void)
{
	int status = -1;

	CHECK_INT(waitpid(peer_pid, &status, 0), peer_pid);
	CHECK_INT(status, 0);
	fakebox_stop(&box);
}

static void
peer_kill(void)
{
	kill(peer_pid, SIGKILL);
	waitpid(peer_pid, NULL, 0);
	fakebox_stop(&box);
}

/* --- the program --- */

static libxspSess *
open_session(void)
{
	libxspSess *sess = xsp_session();

	CHECK(sess != NULL);
	CHECK_INT(xsp_sess_appendchild(sess, box.addr, XSP_HOP_NATIVE), 0);
	CHECK_INT(xsp_connect(sess), 0);
	return sess;
}

static void
expect(libxspSess *sess, int type, const char *text)
{
	void *buf;
	uint64_t len;
	int got_type = -1;

	CHECK_INT(xsp_recv_msg(sess, &buf, &len, &got_type), strlen(text));
	CHECK_INT(len, strlen(text));
	CHECK_INT(got_type, type);
	CHECK_STR((const char *)buf, text);
	CHECK(strlen(text) > 0 || errno == 0);
	free(buf);
}

static void
expect_failure(libxspSess *sess, int error)
{
	void *buf = &error;
	uint64_t len = 9;
	int type;

	CHECK_INT(xsp_recv_msg(sess, &buf, &len, &type), 0);
	CHECK_INT(errno, error);
	CHECK(buf == NULL && len == 0);
}

static void
test_messages(void)
{
	static char big[70000];
	libxspSess *sess;
	void *buf;
	uint64_t len;
	int type, one = 0;
	socklen_t size = sizeof(one);

	peer_start(1, false, 0);
	CHECK_INT(libxsp_init(), 0);
	sess = open_session();
	CHECK_INT(xsp_connect(sess), -1);
	CHECK_INT(errno, EISCONN);
	CHECK_INT(xsp_getsockopt(sess, IPPROTO_TCP, TCP_NODELAY, &one, &size), 0);
	CHECK_INT(one, 1);
	CHECK_INT(xsp_send_msg(sess, "abcdefghij", 10, ECHO), 186); /* what the original returns */
	expect(sess, ECHO, "abcdefghij");
	CHECK_INT(xsp_send_msg(sess, "", 0, ECHO), 176);
	expect(sess, ECHO, "");

	memset(big, 'x', sizeof(big));
	CHECK_INT(xsp_send_msg(sess, big, 65361, ECHO), 0); /* refused whole */
	CHECK_INT(errno, EMSGSIZE);
	CHECK_INT(xsp_send_msg(sess, big, 65360, ECHO), 65536);
	CHECK_INT(xsp_recv_msg(sess, &buf, &len, &type), 65360);
	CHECK(buf != NULL && memcmp(buf, big, 65360) == 0);
	free(buf);
	CHECK_INT(xsp_send_msg(sess, "x", 1, 70000), 0);
	CHECK_INT(errno, EINVAL);

	/* a PING before them is answered */
	CHECK_INT(xsp_send_msg(sess, "", 0, TWO_MESSAGES), 176);
	expect(sess, 1, "first");
	expect(sess, 2, "");
	CHECK_INT(xsp_send_msg(sess, "", 0, TWO_BLOCKS), 176);
	expect(sess, 1, "first");
	expect(sess, 2, "");
	CHECK_INT(xsp_send_msg(sess, "", 0, SLOW_PIECES), 176);
	expect(sess, 1, "first");

	/* kept while the PONG is waited for */
	CHECK_INT(xsp_send_msg(sess, "early", 5, ECHO), 181);
	CHECK_INT(xsp_send_ping(sess), 0);
	CHECK_INT(xsp_recv_ping(sess), 0);
	expect(sess, ECHO, "early");

	CHECK_INT(xsp_send_msg(sess, "", 0, ACK), 176);
	CHECK_INT(xsp_wait_ack(sess), 0);
	CHECK_INT(xsp_send_msg(sess, "", 0, NACK), 176);
	CHECK_INT(xsp_wait_ack(sess), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(xsp_signal_inf_data(sess), 0);
	CHECK_INT(xsp_close2(sess), 0);
	peer_end();
}

static void
test_timeouts_and_ends(void)
{
	const struct timeval brief = { .tv_usec = 50000 };
	libxspSess *sess;
	int64_t start;

	peer_start(1, false, 0);
	sess = xsp_session();
	CHECK_INT(xsp_setsockopt(sess, SOL_SOCKET, SO_RCVTIMEO, &brief, sizeof(brief)), 0);
	CHECK_INT(xsp_sess_appendchild(sess, box.addr, XSP_HOP_NATIVE), 0);
	CHECK_INT(xsp_connect(sess), 0);
	start = nw_mono_ns();
	expect_failure(sess, ETIMEDOUT);
	CHECK(nw_mono_ns() - start >= 50000000 && nw_mono_ns() - start < INT64_C(10000000000));
	CHECK_INT(xsp_send_msg(sess, "still here", 10, ECHO), 186);
	expect(sess, ECHO, "still here");
	CHECK_INT(xsp_send_msg(sess, "", 0, CLOSE_SESSION), 176);
	expect_failure(sess, ECONNRESET);
	CHECK_INT(xsp_send_msg(sess, "", 0, ECHO), 0);
	CHECK_INT(errno, ENOTCONN);
	CHECK_INT(xsp_get_session_socket(sess), -1);
	CHECK_INT(xsp_close2(sess), -1); /* nothing to say it to */

	sess = open_session();
	CHECK_INT(xsp_send_msg(sess, "", 0, GARBAGE), 176);
	expect_failure(sess, EPROTO);
	CHECK_STR(xsp_why(sess), "unknown protocol version");
	CHECK_INT(xsp_connect(sess), 0); /* again */
	CHECK_INT(xsp_send_msg(sess, "", 0, HANG_UP), 176);
	expect_failure(sess, ECONNRESET);
	CHECK_INT(xsp_connect(sess), 0);
	CHECK_INT(xsp_close2(sess), 0);
	peer_end();
}

static void
test_refusals(void)
{
	libxspNetPathRuleCrit crit = {
		.src = "a", .dst = "b", .vlan = 605, .bandwidth = 300000, .duration = 600
	};
	libxspSess *sess = xsp_session();

	peer_start(0xffff, true, 0);
	CHECK_INT(xsp_connect(sess), -1); /* no hop */
	CHECK_INT(errno, EINVAL);
	CHECK_INT(xsp_sess_appendchild(sess, "", XSP_HOP_NATIVE), -1);
	CHECK_INT(xsp_sess_appendchild(sess, box.addr, XSP_HOP_NATIVE), 0);
	CHECK_INT(xsp_connect(sess), -1);
	CHECK_INT(errno, ECONNREFUSED);
	CHECK_STR(xsp_why(sess), "come back later");
	CHECK_INT(xsp_close(sess), 0);
	peer_kill();

	sess = xsp_session();
	CHECK_INT(xsp_sess_appendchild(sess, box.addr, XSP_HOP_NATIVE), 0);
	CHECK_INT(xsp_connect(sess), -1); /* nobody there any more */
	CHECK_INT(xsp_sess_set_security(
		      sess, xsp_sess_new_security("u", NULL, NULL, NULL, NULL), XSP_SEC_NONE),
	    0);
	CHECK_INT(xsp_sess_set_security(sess, NULL, XSP_SEC_SSL), -1);
	CHECK_INT(errno, ENOTSUP);
	CHECK(xsp_sess_new_net_path(XSP_NET_PATH_CREATE) == NULL);
	CHECK_INT(
	    xsp_sess_set_net_path_rule_crit(xsp_sess_new_net_path_rule(NULL, "OSCARS"), &crit), -1);
	CHECK(xsp_sess_new_net_path_rule(NULL, "OSCARS", "data", 4) == NULL);
	CHECK_INT(xsp_signal_path(sess, NULL), -1);
	CHECK_INT(xsp_close(sess), 0);
	CHECK_INT(xsp_close(NULL), -1);
}

static void
test_path_and_sockets(void)
{
	libxspSess *sess = xsp_session(), *other = xsp_session();

	peer_start(1, false, 3);
	CHECK_INT(xsp_sess_addchild(sess, "", box.addr, XSP_HOP_NATIVE), 1);
	CHECK_INT(xsp_sess_appendchild(sess, "b/5006", XSP_HOP_NATIVE), 0);
	CHECK_INT(xsp_sess_appendchild(sess, "c/5006", 0), 0);
	CHECK_INT(xsp_sess_addchild(sess, "b/5006", "d/5006", 0), 1);
	CHECK_INT(xsp_sess_addchild(sess, "nowhere", "e/5006", 0), 0);
	CHECK_INT(errno, ENOENT);
	CHECK_INT(xsp_set_session_connected(other), -1);
	CHECK_INT(xsp_connect(sess), 0);
	CHECK(xsp_sess_cmp(sess, sess) == 0 && xsp_sess_cmp(sess, other) != 0);

	/* the session's socket in another program's hands: messages go on there */
	CHECK_INT(xsp_set_session_socket(other, dup(xsp_get_session_socket(sess))), 0);
	CHECK_INT(xsp_set_session_connected(other), 0);
	CHECK_INT(xsp_send(sess, "", 0, 0), 0);
	CHECK_INT(xsp_send_ping(other), 0);
	CHECK_INT(xsp_recv_ping(other), 0);
	CHECK_INT(xsp_close(other), 0);
	CHECK_INT(xsp_send_msg(sess, "x", 1, ECHO), 177);
	expect(sess, ECHO, "x");
	CHECK_INT(xsp_close2(sess), 0);
	peer_end();
}

/* --- headers beside the calls --- */

static void
test_words(void)
{
	char **list;
	int n;

	list = split(",,a/1,b/22,,c", ",", &n);
	CHECK_INT(n, 3);
	CHECK_STR(list[0], "a/1");
	CHECK_STR(list[1], "b/22");
	CHECK_STR(list[2], "c");
	strlist_free(list, n);
	list = split(",;,", ",;", &n);
	CHECK(list == NULL && n == 0);
}

static void
test_documents(void)
{
	static const char want[] = "3e0000000164001f85eb51b81e09400273000600000068656c6c6f00026e00"
				   "04000000676f6f00106900feffffff126c0000000000000100000862000100";
	char got[2 * sizeof(want)];
	bson b[1];
	int i;

	bson_init(b);
	bson_append_double(b, "d", 3.14);
	bson_append_string(b, "s", "hello");
	bson_append_string_n(b, "n", "goodbye", 3);
	bson_append_int(b, "i", -2);
	bson_append_long(b, "l", INT64_C(1) << 40);
	CHECK_INT(bson_append_bool(b, "b", 7), BSON_OK);
	CHECK_INT(bson_finish(b), BSON_OK);
	for (i = 0; i < bson_size(b) && i < (int)sizeof(want); i++)
		snprintf(got + 2 * i, 3, "%02x", (unsigned char)bson_data(b)[i]);
	CHECK_STR(got, want);
	bson_destroy(b);
	CHECK(BLIPP_BSON_META == 0x20 && BLIPP_BSON_DATA == 0x21);
}

int
main(void)
{
	test_messages();
	test_timeouts_and_ends();
	test_refusals();
	test_path_and_sockets();
	test_words();
	test_documents();
	return check_done("xsp_client");
}
