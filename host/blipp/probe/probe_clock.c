/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This host's clock: the kernel's view (ntp_adjtime, a system call) and chronyd's view, by the
 * protocol of its commands over UDP (version 6: any host of chrony 2.2 or newer), to which nothing
 * here waits for the answer. When chronyd does not answer, the probe asks less and less often.
 *
 *	request   version 6, type 1, 2 bytes 0, command (2 bytes), attempt (2), sequence (4),
 *	          zeros; as long as the answer at least: chronyd is no amplifier
 *	answer    version, type 2, 2 bytes, command (2), kind of answer (2), status (2),
 *	          6 bytes, sequence (4), 8 bytes; of TRACKING: reference id (4), its address
 *	          (20), stratum (2), leap (2), time of reference (12), then numbers of 4 bytes:
 *	          offset, last offset, RMS offset, frequency, residual frequency, skew, root
 *	          delay, root dispersion, update interval
 *
 * All in network byte order. A number has an exponent of 7 bits and a fraction of 25, both signed.
 */
#include "host/blipp/probe/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <unistd.h>

#include "host/lib/conn.h"
#include "narrows/clock.h"
#include "narrows/err.h"

#define SECOND_NS         INT64_C(1000000000)
#define PERIOD_NS         (16 * SECOND_NS)
#define PERIOD_MAX_NS     (600 * SECOND_NS) /* pause before another question to an absent chronyd */
#define ANSWER_TIMEOUT_NS (3 * SECOND_NS)

enum {
	N_KERNEL = 4,
	CHRONY_VERSION = 6,
	CHRONY_REQUEST = 1,
	CHRONY_ANSWER = 2,
	CHRONY_TRACKING = 33,
	CHRONY_TRACKING_ANSWER = 5,
	CHRONY_ANSWER_BYTES = 104,
	LOCAL_REFERENCE = 0x7f7f01
};

static const struct series_field fields[] = {
	{ "offset_s", "s", false },
	{ "bound_s", "s", false },
	{ "root_delay_s", "s", false },
	{ "root_dispersion_s", "s", false },
	{ "frequency_ppm", "ppm", false },
	{ "skew_ppm", "ppm", false },
	{ "stratum", "1", false },
	{ "leap", "1", false },
	{ "local_reference", "1", false },
	{ "kernel_offset_s", "s", false },
	{ "kernel_maxerror_s", "s", false },
	{ "kernel_esterror_s", "s", false },
	{ "kernel_synced", "1", false },
};
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]), KERNEL_AT = N_FIELDS - N_KERNEL };
static const struct series_kind kind = { NW_TYPE_CLOCK, NULL, fields, N_FIELDS };

struct clock_probe {
	struct series series;
	bool asked; /* an answer may come */
	int fd;     /* of the socket while asked */
	uint32_t sequence;
	int64_t started_mono_ns, next_mono_ns, ask_mono_ns, ask_period_ns;
};

/* --- chronyd's messages --- */

static uint32_t
get_be(const uint8_t *p, unsigned bytes)
{
	uint32_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | *p++;
	return v;
}

static void
put_be(uint8_t *p, uint32_t v, unsigned bytes)
{
	for (; bytes-- > 0; v >>= 8)
		p[bytes] = (uint8_t)v;
}

static double
get_number(const uint8_t *p)
{
	uint32_t bits = get_be(p, 4);
	int32_t exponent = (int32_t)(bits >> 25), fraction = (int32_t)(bits & 0x1ffffff);

	if (exponent >= 64)
		exponent -= 128;
	if (fraction >= 1 << 24)
		fraction -= 1 << 25;
	return ldexp(fraction, exponent - 25);
}

void
clock_request(uint8_t out[CLOCK_REQUEST_BYTES], uint32_t sequence)
{
	memset(out, 0, CLOCK_REQUEST_BYTES);
	out[0] = CHRONY_VERSION;
	out[1] = CHRONY_REQUEST;
	put_be(out + 4, CHRONY_TRACKING, 2);
	put_be(out + 8, sequence, 4);
}

int
clock_parse(const uint8_t *answer, size_t len, uint32_t sequence, struct clock_tracking *out)
{
	const uint8_t *tracking = answer + 28, *numbers = tracking + 40;
	uint32_t leap;

	if (len < CHRONY_ANSWER_BYTES || answer[0] != CHRONY_VERSION ||
	    answer[1] != CHRONY_ANSWER || get_be(answer + 4, 2) != CHRONY_TRACKING ||
	    get_be(answer + 6, 2) != CHRONY_TRACKING_ANSWER || get_be(answer + 8, 2) != 0 ||
	    get_be(answer + 16, 4) != sequence || get_be(tracking + 24, 2) > 16)
		return NW_EPROTO;
	leap = get_be(tracking + 26, 2);
	/* positive: this clock is slow */
	out->offset_s = 0 - get_number(numbers);
	out->frequency_ppm = get_number(numbers + 12);
	out->skew_ppm = get_number(numbers + 20);
	out->root_delay_s = get_number(numbers + 24);
	out->root_dispersion_s = get_number(numbers + 28);
	out->stratum = get_be(tracking + 24, 2);
	out->leap = leap < 3 ? leap : 3;
	out->local_reference = get_be(tracking, 3) == LOCAL_REFERENCE;
	return NW_OK;
}

/*
 * chrony's own bound: the distance to the reference and all errors on the way there. A clock that
 * is its own reference (127.127.1.1) claims to be perfect: its error is unknown.
 */
double
clock_bound_s(const struct clock_tracking *t)
{
	return t->leap == 3 || t->local_reference
	    ? NAN
	    : fabs(t->offset_s) + t->root_dispersion_s + t->root_delay_s / 2;
}

/* --- sending --- */

static void
put_kernel(double *v)
{
	struct timex tx = { .modes = 0 };

	if (ntp_adjtime(&tx) < 0)
		return;
	v[0] = (double)tx.offset * (tx.status & STA_NANO ? 1e-9 : 1e-6);
	v[1] = (double)tx.maxerror * 1e-6;
	v[2] = (double)tx.esterror * 1e-6;
	v[3] = tx.status & STA_UNSYNC ? 0 : 1;
}

/* t: NULL when chronyd did not say. */
static int
send_clock(struct clock_probe *p, struct report *r, const struct clock_tracking *t)
{
	double v[N_FIELDS];
	size_t i;

	for (i = 0; i < N_FIELDS; i++)
		v[i] = NAN;
	if (t != NULL) {
		const double tracking[KERNEL_AT] = { t->offset_s, clock_bound_s(t), t->root_delay_s,
			t->root_dispersion_s, t->frequency_ppm, t->skew_ppm, t->stratum, t->leap,
			t->local_reference };

		memcpy(v, tracking, sizeof(tracking));
	}
	put_kernel(v + KERNEL_AT);
	return series_send(&p->series, &kind, r, v);
}

/* --- asking --- */

/* A socket whose only peer is chronyd, with a question on its way. */
static int
ask(struct clock_probe *p, const char *chronyd, int64_t now_mono_ns)
{
	uint8_t request[CLOCK_REQUEST_BYTES];
	struct conn_addr a;
	struct sockaddr_in to = { .sin_family = AF_INET };

	if (conn_addr_parse(chronyd, &a) < 0 || inet_pton(AF_INET, a.host, &to.sin_addr) != 1)
		return NW_EINVAL;
	to.sin_port = htons((uint16_t)strtoul(a.port, NULL, 10));
	p->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd < 0)
		return NW_EIO;
	clock_request(request, ++p->sequence);
	if (connect(p->fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    send(p->fd, request, sizeof(request), MSG_NOSIGNAL) < 0) {
		close(p->fd);
		return NW_EIO;
	}
	p->asked = true;
	p->started_mono_ns = now_mono_ns;
	return NW_OK;
}

static void
ask_less(struct clock_probe *p, int64_t now_mono_ns)
{
	p->ask_period_ns =
	    p->ask_period_ns < PERIOD_MAX_NS / 2 ? 2 * p->ask_period_ns : PERIOD_MAX_NS;
	p->ask_mono_ns = now_mono_ns + p->ask_period_ns;
}

/* len: negative without an answer. */
static void
take_answer(struct clock_probe *p, struct report *r, const uint8_t *answer, ssize_t len)
{
	struct clock_tracking t;
	bool good = len > 0 && clock_parse(answer, (size_t)len, p->sequence, &t) == NW_OK;

	close(p->fd);
	p->asked = false;
	if (good)
		p->ask_period_ns = PERIOD_NS;
	else
		ask_less(p, nw_mono_ns());
	send_clock(p, r, good ? &t : NULL);
}

static int
fd(const void *state)
{
	const struct clock_probe *p = state;

	return p->asked ? p->fd : -1;
}

static void
ready(void *state, struct report *r)
{
	struct clock_probe *p = state;
	uint8_t answer[512];
	ssize_t n = recv(p->fd, answer, sizeof(answer), 0);

	/* no server listens at the port: the kernel says so at once */
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		take_answer(p, r, answer, n);
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct clock_probe *p = state;
	int64_t now = nw_mono_ns();

	(void)buf;
	if (p->asked && now - p->started_mono_ns > ANSWER_TIMEOUT_NS)
		take_answer(p, r, NULL, -1);
	if (now < p->next_mono_ns || p->asked)
		return NW_OK;
	if (p->ask_period_ns == 0)
		p->ask_period_ns = PERIOD_NS;
	p->next_mono_ns = now + PERIOD_NS - SECOND_NS / 2; /* ticks are not exact */
	if (now >= p->ask_mono_ns) {
		if (ask(p, r->chronyd != NULL ? r->chronyd : CLOCK_CHRONYD, now) == NW_OK)
			return NW_OK;
		ask_less(p, now);
	}
	return send_clock(p, r, NULL);
}

static void
clear(void *state)
{
	struct clock_probe *p = state;

	if (p->asked)
		close(p->fd);
}

const struct probe probe_clock = {
	.name = "clock",
	.source = "adjtimex,chronyd",
	.event_type = NW_TYPE_CLOCK,
	.kinds = { &kind },
	.state_bytes = sizeof(struct clock_probe),
	.sample = sample,
	.clear = clear,
	.fd = fd,
	.ready = ready,
};
