/* SPDX-License-Identifier: BSD-3-Clause */
/* A question arrives as asked; what is cut short, too long or has lines of its own is refused. */
#include "send/sendtext.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "narrows/err.h"
#include "tests/check.h"

static const struct exchange asked = { .url = "https://host/path?a=b c",
	.ca_file = "/etc/ca.crt",
	.proxy = "http://proxy:3128",
	.cert_file = "/etc/site.crt",
	.key_file = "/etc/site.key",
	.sign = "aws:amz:us-east-1:s3",
	.body = "line\n\nurl x\n\0end",
	.body_len = 16,
	.method = "PUT",
	.lines = { "Content-Type: text/plain", "Other: two words" },
	.user = "site",
	.password = "pass word",
	.timeout_ns = 5000000000 };

/* The whole question, with a NUL behind it; free() it. */
static char *
whole(const struct exchange *x, size_t *len)
{
	char *head, *bytes;

	CHECK_INT(sendtext_write(x, &head, len), NW_OK);
	bytes = calloc(1, *len + x->body_len + 1);
	memcpy(bytes, head, *len);
	memcpy(bytes + *len, x->body, x->body_len);
	*len += x->body_len;
	free(head);
	return bytes;
}

static void
check_whole(void)
{
	struct exchange x;
	size_t len;
	char *bytes = whole(&asked, &len);

	CHECK_INT(sendtext_read(bytes, len, &x), NW_OK);
	CHECK_STR(x.url, asked.url);
	CHECK_STR(x.ca_file, asked.ca_file);
	CHECK_STR(x.proxy, asked.proxy);
	CHECK_STR(x.cert_file, asked.cert_file);
	CHECK_STR(x.key_file, asked.key_file);
	CHECK_STR(x.sign, asked.sign);
	CHECK_STR(x.method, asked.method);
	CHECK_STR(x.user, asked.user);
	CHECK_STR(x.password, asked.password);
	CHECK_STR(x.lines[0], asked.lines[0]);
	CHECK_STR(x.lines[1], asked.lines[1]);
	CHECK(x.lines[2] == NULL);
	CHECK_INT(x.timeout_ns, asked.timeout_ns);
	CHECK_INT(x.body_len, asked.body_len);
	CHECK(memcmp(x.body, asked.body, asked.body_len) == 0);
	free(bytes);
}

static void
check_cut(void)
{
	struct exchange x;
	size_t len, n;
	char *bytes, *part;

	bytes = whole(&asked, &len);
	for (n = 0; n < len; n++) {
		part = calloc(1, n + 1);
		memcpy(part, bytes, n);
		CHECK(sendtext_read(part, n, &x) < 0);
		free(part);
	}
	free(bytes);
}

static void
check_refused(void)
{
	static const char *const wrong[] = { "", "\n", "url\n\n", "url x\nuri y\n\n",
		"url x\nbody-bytes -1\n\n", "url x\nbody-bytes 99999999999\n\n",
		"url x\ntimeout-ns 1s\n\n", "url x\nca-file a\tb\n\n" };
	struct exchange x;
	char text[64], *head;
	size_t i, len;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "%s", wrong[i]);
		CHECK_INT(sendtext_read(text, strlen(text), &x), NW_EPROTO);
	}
	x = asked;
	x.lines[1] = "Narrows-Event: x\r\nOther: y";
	CHECK_INT(sendtext_write(&x, &head, &len), NW_EINVAL);
	x = asked;
	x.url = "http://host/\nproxy http://evil";
	CHECK_INT(sendtext_write(&x, &head, &len), NW_EINVAL);
}

static void
check_secret(void)
{
	char path[] = "/tmp/test_sendtextXXXXXX", secret[EXCHANGE_SECRET_BYTES],
	     why[EXCHANGE_WHY_BYTES];
	int fd = mkstemp(path), others = -1;

	CHECK(write(fd, "our secret\r\nmore\n", 17) == 17);
	CHECK_INT(exchange_secret(path, secret, NULL, why), NW_OK);
	CHECK_STR(secret, "our secret");
	CHECK(fchmod(fd, 0640) == 0);
	CHECK_INT(exchange_secret(path, secret, NULL, why), NW_EINVAL);
	CHECK_STR(secret, "");
	CHECK(strstr(why, "chmod 600") != NULL && strstr(why, "our") == NULL);
	CHECK_INT(exchange_secret(path, secret, &others, why), NW_OK);
	CHECK_INT(others, 1);
	close(fd);
	unlink(path);
	CHECK_INT(exchange_secret(path, secret, NULL, why), NW_EIO);
}

int
main(void)
{
	check_whole();
	check_cut();
	check_refused();
	check_secret();
	return check_done("test_sendtext");
}
