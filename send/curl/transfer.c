/* SPDX-License-Identifier: BSD-3-Clause */
#include "send/curl/transfer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "narrows/address.h"
#include "narrows/err.h"

struct answer {
	CURL *curl;
	exchange_fn *fn;
	void *arg;
	int *status;
	int rc; /* negative result of fn */
};

static size_t
on_body(char *data, size_t size, size_t n, void *arg)
{
	struct answer *a = arg;
	long status = 0;

	curl_easy_getinfo(a->curl, CURLINFO_RESPONSE_CODE, &status);
	*a->status = (int)status;
	if (a->fn != NULL && (a->rc = a->fn(a->arg, data, size * n)) < 0)
		return 0;
	return size * n;
}

/* --- the address --- */

/* libcurl leaves the brackets around an IPv6 address. */
static bool
is_loopback(const char *host)
{
	char bare[ADDRESS_HOST_BYTES];
	size_t bracket = host[0] == '[';

	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(host + bracket, "]"), host + bracket);
	return address_is_loopback(bare) || strcasecmp(bare, "localhost") == 0;
}

/* Checks the url with libcurl's own reading of it, so that no other reading can differ. */
static int
url_check(const struct exchange *x, char why[EXCHANGE_WHY_BYTES])
{
	CURLU *u = curl_url();
	char *scheme = NULL, *host = NULL, *user = NULL;
	const char *wrong = NULL;

	if (u == NULL)
		return NW_ENOMEM;
	if (curl_url_set(u, CURLUPART_URL, x->url, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
	    (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0))
		wrong = "the url is not https://host/path";
	else if (curl_url_get(u, CURLUPART_USER, &user, 0) == CURLUE_OK)
		wrong = "the url has a user; a file has the place for it";
	else if (x->password != NULL && strcmp(scheme, "http") == 0 && !is_loopback(host))
		wrong = "a password goes to a network by https alone";
	if (wrong != NULL)
		snprintf(why, EXCHANGE_WHY_BYTES, "%s", wrong);
	curl_free(scheme);
	curl_free(host);
	curl_free(user);
	curl_url_cleanup(u);
	return wrong != NULL ? NW_EINVAL : NW_OK;
}

/* --- the exchange --- */

static struct curl_slist *
lines_make(const struct exchange *x)
{
	/* no "Expect: 100-continue": some receivers never answer that; but libcurl would sign the
	 * header that is not sent */
	struct curl_slist *list =
			      curl_slist_append(NULL, x->sign == NULL ? "Expect:" : x->lines[0]),
			  *longer;
	size_t i;

	for (i = x->sign != NULL; list != NULL && i < EXCHANGE_LINES_MAX && x->lines[i] != NULL;
	     i++) {
		if ((longer = curl_slist_append(list, x->lines[i])) == NULL) {
			curl_slist_free_all(list);
			return NULL;
		}
		list = longer;
	}
	return list;
}

static void
options_set(CURL *curl, const struct exchange *x, struct answer *a, struct curl_slist *lines)
{
	curl_easy_setopt(curl, CURLOPT_URL, x->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(curl, CURLOPT_PROXY, x->proxy != NULL ? x->proxy : "");
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
	curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(curl, CURLOPT_CAINFO, x->ca_file);
	curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(curl, CURLOPT_SSLCERT, x->cert_file);
	curl_easy_setopt(curl, CURLOPT_SSLKEY, x->key_file);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "narrows/" NW_VERSION);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, lines);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, a);
	if (x->timeout_ns > 0)
		curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(x->timeout_ns / 1000000));
	if (x->user != NULL && x->password != NULL) {
		if (x->sign != NULL)
			curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, x->sign);
		else
			curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		curl_easy_setopt(curl, CURLOPT_USERNAME, x->user);
		curl_easy_setopt(curl, CURLOPT_PASSWORD, x->password);
	}
	if (x->body != NULL) {
		curl_easy_setopt(curl, CURLOPT_POST, 1L);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, x->body);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body_len);
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, x->method);
	}
}

static int
perform(CURL *curl, struct answer *a, const struct exchange *x, char why[EXCHANGE_WHY_BYTES])
{
	char detail[CURL_ERROR_SIZE] = "";
	struct curl_slist *lines = lines_make(x);
	CURLcode code;
	long status = 0;

	if (lines == NULL)
		return x->sign != NULL && x->lines[0] == NULL ? NW_EINVAL : NW_ENOMEM;
	options_set(curl, x, a, lines);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
	code = curl_easy_perform(curl);
	curl_slist_free_all(lines);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	*a->status = (int)status;
	if (a->rc < 0)
		return a->rc;
	if (code == CURLE_OK)
		return NW_OK;
	snprintf(
	    why, EXCHANGE_WHY_BYTES, "%s", detail[0] != '\0' ? detail : curl_easy_strerror(code));
	return code == CURLE_OUT_OF_MEMORY     ? NW_ENOMEM
	    : code == CURLE_SSL_CACERT_BADFILE ? NW_EINVAL
					       : NW_EIO;
}

int
transfer(
    const struct exchange *x, exchange_fn *fn, void *arg, int *status, char why[EXCHANGE_WHY_BYTES])
{
	struct answer a = { .fn = fn, .arg = arg, .status = status };
	int rc;

	*status = 0;
	why[0] = '\0';
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return NW_ENOMEM;
	if ((rc = url_check(x, why)) == NW_OK && (a.curl = curl_easy_init()) == NULL)
		rc = NW_ENOMEM;
	if (rc == NW_OK)
		rc = perform(a.curl, &a, x, why);
	if (rc < 0 && why[0] == '\0')
		snprintf(why, EXCHANGE_WHY_BYTES, "%s", nw_strerror(rc));
	curl_easy_cleanup(a.curl);
	curl_global_cleanup();
	return rc;
}
