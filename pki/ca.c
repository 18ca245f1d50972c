/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/ca.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "narrows/xmalloc.h"
#include "narrows/clock.h"
#include "narrows/err.h"

#define DAY_S    INT64_C(86400)
#define CA_DAYS  3653
#define BOX_DAYS 365
#define SKEW_S   3600 /* hosts whose clocks are late must take a new certificate, too */

/* --- files --- */

static int
refuse(char why[CONF_WHY_BYTES], const char *dir, const char *name)
{
	snprintf(why, CONF_WHY_BYTES, "%.150s/%.40s: %s", dir, name, strerror(errno));
	return NW_EIO;
}

/* Root may enroll for a box of another user, possibly an intruder: a file with a second name is
 * not given away. */
static bool
owner_follow(const char *dir, int fd)
{
	struct stat st, file;

	if (geteuid() != 0)
		return true;
	errno = EPERM;
	return fstat(fd, &file) == 0 &&
	    (S_ISDIR(file.st_mode) || (S_ISREG(file.st_mode) && file.st_nlink == 1)) &&
	    stat(dir, &st) == 0 && fchown(fd, st.st_uid, st.st_gid) == 0;
}

/* Whether another user than root or ours made dir as a link: root would write wherever the link
 * points. */
static bool
dir_is_planted(const char *dir)
{
	struct stat st;

	return lstat(dir, &st) == 0 && S_ISLNK(st.st_mode) && st.st_uid != 0 &&
	    st.st_uid != geteuid();
}

int
ca_file_write(
    const char *dir, const char *name, const char *text, unsigned mode, char why[CONF_WHY_BYTES])
{
	char *path = xasprintf("%s/%s", dir, name), *tmp = xasprintf("%s/.%s.XXXXXX", dir, name);
	size_t len = strlen(text);
	int fd, rc = NW_OK;

	if ((fd = mkostemp(tmp, O_CLOEXEC)) < 0) /* 0600 from the first moment */
		rc = refuse(why, dir, name);
	else if (write(fd, text, len) != (ssize_t)len || !owner_follow(dir, fd) ||
	    fchmod(fd, mode) != 0 || fsync(fd) != 0 || rename(tmp, path) != 0) {
		rc = refuse(why, dir, name);
		unlink(tmp);
	}
	if (fd >= 0)
		close(fd);
	free(tmp);
	free(path);
	return rc;
}

/* A small text file. NW_ENOTFOUND: there is none. */
static int
file_read(const char *dir, const char *name, char *out, size_t cap, char why[CONF_WHY_BYTES])
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "re");
	int rc = NW_OK;
	size_t n;

	free(path);
	if (f == NULL)
		return errno == ENOENT ? NW_ENOTFOUND : refuse(why, dir, name);
	n = fread(out, 1, cap - 1, f);
	out[n] = '\0';
	if (ferror(f))
		rc = refuse(why, dir, name);
	fclose(f);
	return rc;
}

/* The lock of every change of the directory. The lock ends with its descriptor. */
static int
lock_take(const char *dir, int *fd, char why[CONF_WHY_BYTES])
{
	char *path = xasprintf("%s/lock", dir);

	*fd = -1;
	errno = EPERM;
	if (!dir_is_planted(dir))
		*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	free(path);
	if (*fd >= 0 && owner_follow(dir, *fd) && flock(*fd, LOCK_EX) == 0)
		return NW_OK;
	refuse(why, dir, "lock");
	if (*fd >= 0)
		close(*fd);
	return NW_EIO;
}

/* --- the authority --- */

static int
authority_load(const char *dir, struct nw_cert *ca, char why[CONF_WHY_BYTES])
{
	int rc;

	if ((rc = file_read(dir, "ca.key", ca->key_pem, sizeof(ca->key_pem), why)) == NW_OK)
		rc = file_read(dir, "ca.crt", ca->cert_pem, sizeof(ca->cert_pem), why);
	return rc;
}

static int
authority_make(const char *dir, char why[CONF_WHY_BYTES])
{
	int64_t now_s = nw_wall_ns() / 1000000000;
	char host[64] = "", name[128];
	struct nw_cert_opts o = { .use = NW_CERT_CA,
		.name = name,
		.from_wall_s = now_s - SKEW_S,
		.to_wall_s = now_s + CA_DAYS * DAY_S };
	struct nw_cert ca;
	int rc;

	if (gethostname(host, sizeof(host) - 1) != 0 || !nw_cert_name_ok(host))
		strcpy(host, "this site");
	snprintf(name, sizeof(name), "Narrows CA of %s", host);
	if ((rc = nw_cert_make(&o, NULL, &ca)) < 0) {
		snprintf(why, CONF_WHY_BYTES, "%.200s: no key can be made", dir);
		return rc;
	}
	/* the certificate first: with a key, the directory counts as ours and whole */
	if ((rc = ca_file_write(dir, "ca.crt", ca.cert_pem, 0644, why)) == NW_OK)
		rc = ca_file_write(dir, "ca.key", ca.key_pem, 0600, why);
	nw_cert_clear(&ca);
	return rc;
}

static int
dir_make(const char *dir, char why[CONF_WHY_BYTES])
{
	char *parent = xasprintf("%s/..", dir);
	int fd = -1, rc = NW_OK;

	if (mkdir(dir, 0750) == 0) {
		if ((fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
		    !owner_follow(parent, fd))
			rc = refuse(why, dir, "");
	} else if (errno != EEXIST)
		rc = refuse(why, dir, "");
	if (fd >= 0)
		close(fd);
	free(parent);
	return rc;
}

static bool
has_file(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	bool has = access(path, F_OK) == 0;

	free(path);
	return has;
}

int
ca_ensure(const char *dir, char why[CONF_WHY_BYTES])
{
	int lock, rc;

	if ((rc = dir_make(dir, why)) < 0 || (rc = lock_take(dir, &lock, why)) < 0)
		return rc;
	if (!has_file(dir, "ca.key") && !has_file(dir, "box.crt"))
		rc = authority_make(dir, why);
	close(lock);
	return rc;
}

int
ca_use(const char *dir,
    int (*work)(const char *dir, const struct nw_cert *ca, void *arg, char why[CONF_WHY_BYTES]),
    void *arg, char why[CONF_WHY_BYTES])
{
	struct nw_cert ca = { .serial = "" };
	int lock, rc;

	if ((rc = lock_take(dir, &lock, why)) < 0)
		return rc;
	if ((rc = authority_load(dir, &ca, why)) == NW_OK)
		rc = work(dir, &ca, arg, why);
	else if (rc == NW_ENOTFOUND)
		snprintf(why, CONF_WHY_BYTES,
		    "%.150s: no ca.key here: this box's certificates are made elsewhere", dir);
	nw_cert_clear(&ca);
	close(lock);
	return rc;
}

static int
cert_make(const char *dir, const struct nw_cert_opts *o, const struct nw_cert *ca,
    struct nw_cert *out, char why[CONF_WHY_BYTES])
{
	int rc = nw_cert_make(o, ca, out);

	if (rc < 0)
		snprintf(why, CONF_WHY_BYTES, "%.100s: no certificate can be made for %.100s", dir,
		    o->name);
	return rc;
}

/* --- the box --- */

static int
box_work(const char *dir, const struct nw_cert *ca, void *arg, char why[CONF_WHY_BYTES])
{
	struct nw_cert c;
	int rc;

	if ((rc = cert_make(dir, arg, ca, &c, why)) < 0)
		return rc;
	if ((rc = ca_file_write(dir, "box.key", c.key_pem, 0600, why)) == NW_OK)
		rc = ca_file_write(dir, "box.crt", c.cert_pem, 0644, why);
	nw_cert_clear(&c);
	return rc;
}

int
ca_issue_box(const char *dir, const char *names, int64_t now_wall_s, int64_t *expires_wall_s,
    char why[CONF_WHY_BYTES])
{
	struct nw_cert_opts o = { .use = NW_CERT_SERVER,
		.name = "narrowsd",
		.names = names,
		.from_wall_s = now_wall_s - SKEW_S,
		.to_wall_s = now_wall_s + BOX_DAYS * DAY_S };
	int rc = ca_use(dir, box_work, &o, why);

	*expires_wall_s = rc == NW_OK ? o.to_wall_s : 0;
	return rc == NW_ENOTFOUND ? NW_OK : rc;
}

/* --- the list of hosts --- */

static void
time_write(char out[32], int64_t wall_s)
{
	time_t t = (time_t)wall_s;
	struct tm tm;

	strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
}

static bool
line_parse(const char *line, struct ca_host *h)
{
	char state[8], expires[32];
	struct tm tm = { 0 };

	if (sscanf(line, "%7s %40s %31s %255s", state, h->serial, expires, h->name) != 4 ||
	    strptime(expires, "%Y-%m-%dT%H:%M:%SZ", &tm) == NULL)
		return false;
	h->revoked = strcmp(state, "revoked") == 0;
	h->expires_wall_s = timegm(&tm);
	return h->revoked || strcmp(state, "valid") == 0;
}

int
ca_hosts(const char *dir, int (*fn)(void *arg, const struct ca_host *h), void *arg,
    char why[CONF_WHY_BYTES])
{
	char *path = xasprintf("%s/hosts", dir), line[512];
	FILE *f = fopen(path, "re");
	struct ca_host h;
	int rc = NW_OK;

	free(path);
	if (f == NULL)
		return errno == ENOENT ? NW_OK : refuse(why, dir, "hosts");
	while (rc == NW_OK && fgets(line, sizeof(line), f) != NULL)
		if (line_parse(line, &h))
			rc = fn(arg, &h);
	if (rc == NW_OK && ferror(f))
		rc = refuse(why, dir, "hosts");
	fclose(f);
	return rc;
}

/* The list being written anew. */
struct list {
	char *text;
	size_t len;
	const char *revoke; /* host or serial number whose certificates get revoked; or NULL */
	size_t n_revoked;
};

static void
list_add(struct list *l, const struct ca_host *h)
{
	char expires[32], line[NW_TLS_NAME_BYTES + 128];
	int n;

	time_write(expires, h->expires_wall_s);
	n = snprintf(line, sizeof(line), "%s %s %s %s\n", h->revoked ? "revoked" : "valid",
	    h->serial, expires, h->name);
	l->text = xreallocarray(l->text, l->len + (size_t)n + 1, 1);
	memcpy(l->text + l->len, line, (size_t)n + 1);
	l->len += (size_t)n;
}

static int
on_old_line(void *arg, const struct ca_host *old)
{
	struct ca_host h = *old;
	struct list *l = arg;

	if (l->revoke != NULL && !h.revoked &&
	    (strcasecmp(h.name, l->revoke) == 0 || strcmp(h.serial, l->revoke) == 0)) {
		h.revoked = true;
		l->n_revoked++;
	}
	list_add(l, &h);
	return NW_OK;
}

/* --- hosts --- */

/* Addresses of a single machine, of all machines, or of a group of them name no host. */
static bool
names_host(int family, const unsigned char bytes[16])
{
	static const unsigned char v4[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff },
				   low[15] = { 0 };

	if (family == AF_INET)
		return bytes[0] != 0 && bytes[0] != 127 && bytes[0] < 224;
	return memcmp(bytes, low, sizeof(low)) != 0 && memcmp(bytes, v4, sizeof(v4)) != 0 &&
	    bytes[0] != 0xff && (bytes[0] != 0xfe || (bytes[1] & 0xc0) != 0x80);
}

int
ca_address_add(char addresses[CA_ADDRESSES_BYTES], const char *text, const char **why)
{
	int family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
	size_t len = strlen(addresses), n = len > 0, i;
	char usual[INET6_ADDRSTRLEN];
	unsigned char bytes[16];

	*why = "not an address that names one host of a network";
	if (inet_pton(family, text, bytes) != 1 || !names_host(family, bytes) ||
	    inet_ntop(family, bytes, usual, sizeof(usual)) == NULL)
		return NW_EINVAL;
	for (i = 0; i < len; i++)
		n += addresses[i] == ' ';
	*why = "too many addresses for a certificate";
	if (n >= CA_ADDRESSES_MAX)
		return NW_ETOOBIG;
	snprintf(addresses + len, CA_ADDRESSES_BYTES - len, "%s%s", len > 0 ? " " : "", usual);
	return NW_OK;
}

int
ca_enroll_within(const char *dir, const struct nw_cert *ca, const struct ca_enrolment *e,
    struct nw_cert *out, char why[CONF_WHY_BYTES])
{
	char names[NW_TLS_NAME_BYTES + CA_ADDRESSES_BYTES];
	const struct nw_cert_opts o = { .use = e->serves ? NW_CERT_BOTH : NW_CERT_CLIENT,
		.name = e->host,
		.names = names,
		.request_pem = e->request_pem,
		.from_wall_s = e->now_wall_s - SKEW_S,
		.to_wall_s = e->now_wall_s + e->for_s };
	struct ca_host h = { .expires_wall_s = o.to_wall_s };
	struct list l = { 0 };
	int rc;

	if (!nw_cert_name_ok(e->host)) {
		snprintf(why, CONF_WHY_BYTES, "%.100s: not a host name", e->host);
		return NW_EINVAL;
	}
	snprintf(names, sizeof(names), "%s %s", e->host, e->addresses != NULL ? e->addresses : "");
	if ((rc = cert_make(dir, &o, ca, out, why)) < 0)
		return rc;
	snprintf(h.name, sizeof(h.name), "%s", e->host);
	memcpy(h.serial, out->serial, sizeof(h.serial));
	if ((rc = ca_hosts(dir, on_old_line, &l, why)) == NW_OK) {
		list_add(&l, &h);
		rc = ca_file_write(dir, "hosts", l.text, 0644, why);
	}
	free(l.text);
	if (rc < 0)
		nw_cert_clear(out);
	return rc;
}

struct enroll_work {
	const struct ca_enrolment *e;
	struct nw_cert *out;
};

static int
enroll_work(const char *dir, const struct nw_cert *ca, void *arg, char why[CONF_WHY_BYTES])
{
	const struct enroll_work *w = arg;

	return ca_enroll_within(dir, ca, w->e, w->out, why);
}

int
ca_enroll(
    const char *dir, const struct ca_enrolment *e, struct nw_cert *out, char why[CONF_WHY_BYTES])
{
	struct enroll_work w = { .e = e, .out = out };

	return ca_use(dir, enroll_work, &w, why);
}

int
ca_revoke(const char *dir, const char *host_or_serial, char why[CONF_WHY_BYTES])
{
	struct list l = { .revoke = host_or_serial };
	int lock, rc;

	if ((rc = lock_take(dir, &lock, why)) < 0)
		return rc;
	if ((rc = ca_hosts(dir, on_old_line, &l, why)) == NW_OK && l.n_revoked == 0) {
		snprintf(why, CONF_WHY_BYTES, "%.100s: no certificate to revoke", host_or_serial);
		rc = NW_ENOTFOUND;
	}
	if (rc == NW_OK)
		rc = ca_file_write(dir, "hosts", l.text, 0644, why);
	free(l.text);
	close(lock);
	return rc;
}
