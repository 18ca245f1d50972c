/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection to a broker: frames in pieces, the largest frames in clear and by TLS, an end at any
 * place, a broker that does not read, a broker of another CA. */
#include "host/nwfts/brokerwire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "narrows/cert.h"
#include "narrows/err.h"
#include "tests/check.h"

#define WAIT_NS INT64_C(60000000000)
enum { LARGEST_FRAMES = 5 };

static char dir[] = "/tmp/test_brokerwire.XXXXXX";
static char port[8], why[NW_TLS_WHY_BYTES];
static int listener;
/* result of the last step of the connection in hand: after a failure no step follows */
static int moved;

static void
listener_open(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(at);

	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&at, size) != 0 ||
	    listen(listener, 8) != 0 || getsockname(listener, (struct sockaddr *)&at, &size) != 0) {
		perror("listen");
		exit(1);
	}
	(void)snprintf(port, sizeof(port), "%u", ntohs(at.sin_port));
}

/* Both ends of a connection in clear. */
static struct brokerwire *
connected(int *fd)
{
	const struct brokerwire_opts o = { .host = "127.0.0.1", .port = port };
	struct brokerwire *w = NULL;

	CHECK_INT(brokerwire_open(&o, WAIT_NS, &w, why), NW_OK);
	*fd = accept(listener, NULL, NULL);
	moved = NW_OK;
	if (w == NULL || *fd < 0)
		exit(check_done("brokerwire"));
	return w;
}

static void
wait_for(const struct brokerwire *w)
{
	struct pollfd p = { brokerwire_fd(w), brokerwire_events(w), 0 };

	CHECK(poll(&p, 1, 20000) == 1);
}

/* Steps until a frame or a failure comes. Frames before a failure come first. */
static int
frame_await(struct brokerwire *w, struct nw_stomp_frame *f)
{
	int rc;

	while ((rc = brokerwire_frame(w, f)) == NW_EAGAIN && moved == NW_OK) {
		wait_for(w);
		moved = brokerwire_step(w);
	}
	return rc == NW_EAGAIN ? moved : rc;
}

static void
bytes_send(int fd, const void *bytes, size_t len)
{
	CHECK(send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len);
}

static void
test_pieces(void)
{
	static const char two[] = "\nMESSAGE\nack:1\n\none\0\n\nERROR\nmessage:x\n\n";
	struct nw_stomp_frame f;
	size_t i;
	int fd;
	struct brokerwire *w = connected(&fd);

	for (i = 0; i < sizeof(two); i++) { /* with the last NUL */
		bytes_send(fd, two + i, 1);
		while (brokerwire_received(w) == i) {
			wait_for(w);
			CHECK_INT(brokerwire_step(w), NW_OK);
		}
		if (i == 19 || i == sizeof(two) - 1) {
			CHECK_INT(brokerwire_frame(w, &f), NW_OK);
			CHECK(nw_stomp_is(&f, i == 19 ? "MESSAGE" : "ERROR"));
		}
		CHECK_INT(brokerwire_frame(w, &f), NW_EAGAIN);
	}
	CHECK_INT(brokerwire_received(w), sizeof(two));
	bytes_send(fd, "ERROR\n\n\0M\nx", 11); /* and at once the end */
	close(fd);
	CHECK_INT(frame_await(w, &f), NW_OK);
	CHECK(nw_stomp_is(&f, "ERROR"));
	CHECK_INT(frame_await(w, &f), NW_ECLOSED);
	CHECK(strstr(brokerwire_why(w), "closed") != NULL);
	brokerwire_close(w);
	w = connected(&fd);
	bytes_send(fd, "M\ncontent-length:-1\n\n", 21);
	CHECK_INT(frame_await(w, &f), NW_EPROTO);
	CHECK(brokerwire_why(w)[0] != '\0');
	close(fd);
	brokerwire_close(w);
}

/* A broker that reads nothing: frames and signs of life wait up to a bound, and none is cut. */
static void
test_full(void)
{
	static const char *const pairs[] = { "id", "0123456789", NULL };
	static const char ack[] = "ACK\nid:0123456789\n\n";
	char got[sizeof(ack)];
	size_t n = 0, i;
	int fd, rc;
	struct brokerwire *w = connected(&fd);

	CHECK_INT(brokerwire_events(w), POLLIN);
	while ((rc = brokerwire_send(w, "ACK", pairs)) == NW_OK)
		n++;
	CHECK_INT(rc, NW_ETOOBIG);
	CHECK_INT(brokerwire_events(w), POLLIN | POLLOUT);
	while ((rc = brokerwire_beat(w)) == NW_OK)
		;
	CHECK_INT(rc, NW_ETOOBIG);
	CHECK(n > 1000);
	for (i = 0; i < n; i++) {
		CHECK_INT(brokerwire_step(w), NW_OK);
		if (recv(fd, got, sizeof(ack), MSG_WAITALL) != (ssize_t)sizeof(ack) ||
		    memcmp(got, ack, sizeof(ack)) != 0)
			break;
	}
	CHECK_INT(i, n);
	close(fd);
	brokerwire_close(w);
}

/* --- TLS --- */

static const char *
path_of(const char *name)
{
	static char paths[8][96];
	static unsigned turn;
	char *p = paths[turn++ % 8];

	(void)snprintf(p, sizeof(paths[0]), "%s/%s", dir, name);
	return p;
}

static void
file_write(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "w");

	CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void
files_make(void)
{
	struct nw_cert_opts o = { .use = NW_CERT_CA,
		.name = "CA",
		.from_wall_s = time(NULL) - 60,
		.to_wall_s = time(NULL) + 86400 };
	struct nw_cert ca, other, c;

	CHECK_INT(nw_cert_make(&o, NULL, &ca), NW_OK);
	CHECK_INT(nw_cert_make(&o, NULL, &other), NW_OK);
	o.use = NW_CERT_SERVER;
	o.name = "localhost";
	CHECK_INT(nw_cert_make(&o, &ca, &c), NW_OK);
	file_write("ca.crt", ca.cert_pem);
	file_write("other.crt", other.cert_pem);
	file_write("server.crt", c.cert_pem);
	file_write("server.key", c.key_pem);
	nw_cert_clear(&ca);
	nw_cert_clear(&other);
	nw_cert_clear(&c);
}

static void
out_send(struct nw_tls *t, int fd)
{
	const uint8_t *bytes;
	size_t len;

	while ((len = nw_tls_output(t, &bytes)) > 0) {
		if (send(fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
			_exit(2);
		nw_tls_sent(t, len);
	}
}

/* The bytes of frame n of the broker. */
static uint8_t
byte_of(size_t n, size_t i)
{
	return (uint8_t)(n + i % 251);
}

/* One client of a broker with TLS: frames of the largest size, then a goodbye. Returns 0 if the
 * handshake succeeds. */
static int
broker_serve(void)
{
	static const char head[] = "MESSAGE\ncontent-length:262144\n\n";
	static uint8_t frame[sizeof(head) - 1 + NW_STOMP_BODY_MAX_BYTES + 1];
	const struct nw_tls_opts o = { .server = true,
		.ca_path = path_of("ca.crt"),
		.cert_path = path_of("server.crt"),
		.key_path = path_of("server.key") };
	struct nw_tls_ctx *ctx;
	struct nw_tls *t;
	uint8_t wire[4096];
	size_t n, i, at;
	ssize_t came;
	long took;
	int fd = accept(listener, NULL, NULL), rc;

	if (fd < 0 || nw_tls_ctx_new(&o, &ctx, why) < 0 || nw_tls_new(ctx, NULL, &t) < 0)
		return 2;
	while ((rc = nw_tls_handshake(t)) == NW_EAGAIN) {
		out_send(t, fd);
		if ((came = recv(fd, wire, sizeof(wire), 0)) <= 0)
			return 1;
		nw_tls_feed(t, wire, (size_t)came);
	}
	if (rc < 0)
		return 1;
	memcpy(frame, head, sizeof(head) - 1);
	for (n = 0; n < LARGEST_FRAMES; n++) {
		for (i = 0; i < NW_STOMP_BODY_MAX_BYTES; i++)
			frame[sizeof(head) - 1 + i] = byte_of(n, i);
		for (at = 0; at < sizeof(frame); at += (size_t)took) {
			if ((took = nw_tls_write(t, frame + at, sizeof(frame) - at)) == NW_EFULL)
				took = 0;
			if (took < 0)
				return 2;
			out_send(t, fd);
		}
	}
	nw_tls_close(t);
	out_send(t, fd);
	return recv(fd, wire, sizeof(wire), 0) >= 0 ? 0 : 2; /* the client closes */
}

/* Opens a connection by TLS to a broker in a process of its own. */
static int
tls_open(const char *ca, struct brokerwire **w, pid_t *broker)
{
	const struct brokerwire_opts o = {
		.host = "localhost", .port = port, .tls = true, .ca_file = path_of(ca)
	};

	if ((*broker = fork()) == 0)
		_exit(broker_serve());
	return brokerwire_open(&o, WAIT_NS, w, why);
}

static void
test_tls(void)
{
	struct brokerwire *w = NULL;
	struct nw_stomp_frame f;
	size_t n, i;
	pid_t broker;
	int status = 0, rc;

	CHECK_INT(tls_open("ca.crt", &w, &broker), NW_OK);
	moved = NW_OK;
	for (n = 0; w != NULL && n < LARGEST_FRAMES; n++) {
		if ((rc = frame_await(w, &f)) != NW_OK)
			break;
		CHECK_INT(f.body_len, NW_STOMP_BODY_MAX_BYTES);
		for (i = 0; i < f.body_len && (uint8_t)f.body[i] == byte_of(n, i); i++)
			;
		CHECK_INT(i, f.body_len);
	}
	CHECK_INT(n, LARGEST_FRAMES);
	CHECK_INT(w != NULL ? frame_await(w, &f) : 0, NW_ECLOSED);
	brokerwire_close(w);
	CHECK(waitpid(broker, &status, 0) == broker && status == 0);

	w = NULL;
	CHECK(tls_open("other.crt", &w, &broker) < 0);
	CHECK(w == NULL && strstr(why, "certificate") != NULL);
	CHECK(waitpid(broker, &status, 0) == broker && WEXITSTATUS(status) == 1);
	CHECK(tls_open("none.crt", &w, &broker) < 0);
	CHECK(w == NULL && why[0] != '\0');
	kill(broker, SIGKILL);
	(void)waitpid(broker, &status, 0);
}

/* --- no connection --- */

static void
test_none(void)
{
	struct brokerwire_opts o = { .host = "127.0.0.1", .port = port };
	struct brokerwire *w = NULL;

	close(listener);
	CHECK_INT(brokerwire_open(&o, WAIT_NS, &w, why), NW_EIO);
	CHECK_STR(why, "no broker listens at the address");
	o.host = "256.0.0.1";
	CHECK_INT(brokerwire_open(&o, WAIT_NS, &w, why), NW_EIO);
	CHECK_STR(why, "the host name is not known");
	CHECK(w == NULL);
}

int
main(void)
{
	static const char *const files[] = { "ca.crt", "other.crt", "server.crt", "server.key" };
	size_t i;

	if (mkdtemp(dir) == NULL)
		return 1;
	listener_open();
	files_make();
	test_pieces();
	test_full();
	test_tls();
	test_none();
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(path_of(files[i]));
	rmdir(dir);
	return check_done("brokerwire");
}
