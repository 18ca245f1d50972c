/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two TLS endpoints with somebody on the wire between them who cuts, changes, repeats and invents
 * bytes. Whatever he does, what is read was written, in order; who fails says why; and nobody keeps
 * more than he may.
 */
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "narrows/cert.h"
#include "narrows/err.h"
#include "narrows/tls.h"

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

enum { CLIENT, SERVER, SENT_MAX = 4096 };

/* n_read: of the other's sent */
struct end {
	struct nw_tls *tls;
	uint8_t sent[SENT_MAX];
	size_t n_sent, n_read;
};

static struct nw_tls_ctx *contexts[2];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
file_write(char path[96], const char *dir, const char *name, const char *text)
{
	FILE *f;

	snprintf(path, 96, "%s/%s", dir, name);
	MUST((f = fopen(path, "w")) != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void
contexts_make(void)
{
	char dir[] = "/tmp/fuzz_tls.XXXXXX", paths[3][96], why[NW_TLS_WHY_BYTES];
	int64_t now = time(NULL);
	struct nw_cert_opts o = {
		.use = NW_CERT_CA, .name = "ca", .from_wall_s = now - 60, .to_wall_s = now + 864000
	};
	struct nw_cert ca, own;
	int i;

	MUST(mkdtemp(dir) != NULL && nw_cert_make(&o, NULL, &ca) == NW_OK);
	o.name = o.names = "box";
	for (i = CLIENT; i <= SERVER; i++) {
		struct nw_tls_opts t = { .server = i == SERVER,
			.peer_certificate = true,
			.ca_path = paths[0],
			.cert_path = paths[1],
			.key_path = paths[2] };

		o.use = i == SERVER ? NW_CERT_SERVER : NW_CERT_CLIENT;
		MUST(nw_cert_make(&o, &ca, &own) == NW_OK);
		file_write(paths[0], dir, "ca.crt", ca.cert_pem);
		file_write(paths[1], dir, "own.crt", own.cert_pem);
		file_write(paths[2], dir, "own.key", own.key_pem);
		MUST(nw_tls_ctx_new(&t, &contexts[i], why) == NW_OK);
	}
	for (i = 0; i < 3; i++)
		unlink(paths[i]);
	rmdir(dir);
}

/* All that `to` makes of these bytes is a piece of what `from` wrote. */
static void
deliver(struct end *from, struct end *to, const uint8_t *bytes, size_t len)
{
	uint8_t plain[256];
	const uint8_t *out;
	long n;
	int rc;

	nw_tls_feed(to->tls, bytes, len);
	rc = nw_tls_handshake(to->tls);
	MUST(rc == NW_OK || rc == NW_EAGAIN || (rc == NW_EPROTO && nw_tls_why(to->tls)[0] != '\0'));
	MUST((rc == NW_OK) == nw_tls_is_open(to->tls));
	while ((n = nw_tls_read(to->tls, plain, sizeof(plain))) > 0) {
		MUST((size_t)n <= from->n_sent - to->n_read &&
		    memcmp(plain, from->sent + to->n_read, (size_t)n) == 0);
		to->n_read += (size_t)n;
	}
	MUST(n == NW_EAGAIN || n == NW_EPROTO || n == NW_ECLOSED);
	MUST(n == NW_EAGAIN || (!nw_tls_is_open(to->tls) && nw_tls_why(to->tls)[0] != '\0'));
	MUST(nw_tls_output(to->tls, &out) <= NW_TLS_OUT_MAX_BYTES);
}

/* The bytes that wait on a side, whole or spoilt: `what` is the kind of damage, `arg` the place. */
static void
carry(struct end *from, struct end *to, unsigned what, unsigned arg)
{
	static uint8_t copy[NW_TLS_OUT_MAX_BYTES];
	const uint8_t *bytes;
	size_t len = nw_tls_output(from->tls, &bytes);

	if (len == 0)
		return;
	if (what == 1) /* in two */
		len = 1 + arg * len / 256;
	memcpy(copy, bytes, len);
	nw_tls_sent(from->tls, len);
	if (what == 2)
		copy[arg * len / 256] ^= (uint8_t)(1 + arg % 255);
	deliver(from, to, copy, len);
	if (what == 3) /* once more */
		deliver(from, to, copy, len);
}

static void
write_some(struct end *e, unsigned n)
{
	long k;
	unsigned i;

	if (n > SENT_MAX - e->n_sent)
		return;
	for (i = 0; i < n; i++)
		e->sent[e->n_sent + i] = (uint8_t)(e->n_sent + i * 7);
	if (n > 0 && (k = nw_tls_write(e->tls, e->sent + e->n_sent, n)) > 0)
		e->n_sent += (size_t)k;
}

/* Two bytes a step: who and what, and its argument. 4 to 6 of `what`: writes, goodbye, invented
 * bytes of the input. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct end ends[2];
	unsigned who, what, arg;
	int i;

	if (contexts[CLIENT] == NULL)
		contexts_make();
	memset(ends, 0, sizeof(ends));
	for (i = CLIENT; i <= SERVER; i++)
		MUST(nw_tls_new(contexts[i], "box", &ends[i].tls) == NW_OK);
	nw_tls_handshake(ends[CLIENT].tls);
	for (; len >= 2; data += 2, len -= 2) {
		who = data[0] & 1;
		what = data[0] >> 1 & 7;
		arg = data[1];
		if (what == 4)
			write_some(&ends[who], arg);
		else if (what == 5)
			nw_tls_close(ends[who].tls);
		else if (what == 6 && len - 2 >= arg) {
			deliver(&ends[!who], &ends[who], data + 2, arg);
			data += arg & ~1u;
			len -= arg & ~1u;
		} else
			carry(&ends[who], &ends[!who], what, arg);
	}
	for (i = CLIENT; i <= SERVER; i++)
		nw_tls_free(ends[i].tls);
	return 0;
}
