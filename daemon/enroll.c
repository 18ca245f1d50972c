/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/enroll.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/box.h"
#include "narrows/provoked.h"
#include "daemon/conf.h"
#include "narrows/siteconf.h"
#include "narrows/log.h"
#include "narrows/token.h"
#include "narrows/clock.h"
#include "narrows/err.h"

static int
status_of(int rc)
{
	switch (rc) {
	case NW_OK: return 200;
	case NW_EINVAL: return 400;
	case NW_ECONFLICT: return 403;
	case NW_ENOTFOUND: return 404;
	}
	return 500;
}

/* A host measures its own clock by the answer, and tries the port, before its token is spent. */
static int
facts_answer(const struct box *box, char *out, size_t cap)
{
	const char *port = strrchr(box->xsp_tls, '/');

	if (port == NULL) {
		snprintf(out, cap, "this box takes no hosts: set listen-xsp-tls\n");
		return 404;
	}
	snprintf(out, cap, "port %s\nclock %" PRId64 "\n", port + 1, nw_wall_ns());
	return 200;
}

static int
certificate_answer(struct box *box, const char *peer, const char *body, char *out, size_t cap)
{
	char *tls_dir = siteconf_tls_dir(box->conf->state_dir, box->conf->tls_dir),
	     secret[TOKEN_SECRET_CHARS + 1] = "", why[CONF_WHY_BYTES] = "";
	size_t len = strcspn(body, "\r\n");
	struct token_grant grant;
	int rc;

	if (len < sizeof(secret))
		memcpy(secret, body, len);
	rc = token_redeem(tls_dir, secret, body + len + strspn(body + len, "\r\n"),
	    nw_wall_ns() / 1000000000, &grant, why);
	if (rc == NW_OK) {
		log_info("host.enroll peer=%s host=\"%s\" serial=%s", peer, grant.host,
		    grant.cert.serial);
		snprintf(out, cap, "%s\n%s%s", grant.host, grant.cert.cert_pem, grant.ca_pem);
	} else {
		counter_add(&box->counters.rejected_tokens, 1);
		provoked_warnx(
		    &box->enroll_log_rate, peer, "enroll.reject peer=%s why=\"%s\"", peer, why);
		snprintf(out, cap, "%s\n",
		    rc == NW_EIO ? "the box cannot write: read the reason in its log" : why);
	}
	free(tls_dir);
	return status_of(rc);
}

int
enroll_answer(void *arg, const char *peer, const char *body, char *out, size_t cap)
{
	return body != NULL ? certificate_answer(arg, peer, body, out, cap)
			    : facts_answer(arg, out, cap);
}
