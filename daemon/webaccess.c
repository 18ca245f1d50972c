/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/webaccess.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/provoked.h"
#include "narrows/account.h"
#include "narrows/audit.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/fnv.h"
#include "narrows/log.h"
#include "narrows/xmalloc.h"

/* Tokens come with every request: the audit log has each once in this time. */
#define TOKEN_NOTE_NS (INT64_C(3600) * 1000000000)

struct webaccess {
	char *state_dir, *path;
	struct accounts *now;
	struct fairrate *log_rate;
	struct stat seen; /* the file that `now` was read from */
	int64_t token_noted_ns[ACCOUNTS_MAX];
};

/* Reads the accounts again if the file is another. A damaged file admits no user. */
static void
refresh(struct webaccess *a)
{
	struct accounts *fresh;
	char why[CONF_WHY_BYTES];
	struct stat sb = { 0 };

	if (stat(a->path, &sb) != 0)
		memset(&sb, 0, sizeof(sb));
	if (a->now != NULL && sb.st_ino == a->seen.st_ino && sb.st_size == a->seen.st_size &&
	    sb.st_mtim.tv_sec == a->seen.st_mtim.tv_sec &&
	    sb.st_mtim.tv_nsec == a->seen.st_mtim.tv_nsec)
		return;
	if (accounts_read(a->state_dir, &fresh, why) < 0) {
		log_warnx("access.read why=\"%s\"", why);
		fresh = xcalloc(1, sizeof(*fresh));
	}
	free(a->now);
	a->now = fresh;
	a->seen = sb;
	memset(a->token_noted_ns, 0, sizeof(a->token_noted_ns));
}

/* Each password that is set has a salt of its own, also if it is the same one again: so no two
 * have the same stamp. */
static uint64_t
stamp_of(const struct account *who)
{
	return fnv_text(FNV_BEGIN, who->secret);
}

static enum account_role
on_login(void *arg, const char *peer, const char *user, const char *password, uint64_t *stamp)
{
	struct webaccess *a = arg;
	const struct account *who;

	refresh(a);
	who = accounts_login(a->now, user, password);
	audit_note(a->state_dir, who != NULL ? "login" : "login.refused", user, peer);
	if (who == NULL)
		provoked_warnx(&a->log_rate, peer, "login.reject peer=%s", peer);
	else
		log_info("login.accept peer=%s user=%s", peer, who->name);
	if (who == NULL)
		return ACCOUNT_NOBODY;
	*stamp = stamp_of(who);
	return who->role;
}

static enum account_role
on_token(void *arg, const char *peer, const char *text, char name[ACCOUNT_NAME_BYTES])
{
	int64_t now = nw_wall_ns();
	struct webaccess *a = arg;
	const struct account *who;
	int64_t *noted;

	refresh(a);
	if ((who = accounts_token(a->now, text, now / 1000000000)) == NULL) {
		provoked_warnx(&a->log_rate, peer, "token.reject peer=%s", peer);
		return ACCOUNT_NOBODY;
	}
	noted = &a->token_noted_ns[who - a->now->list];
	if (now - *noted > TOKEN_NOTE_NS) {
		*noted = now;
		audit_note(a->state_dir, "token", who->name, peer);
	}
	snprintf(name, ACCOUNT_NAME_BYTES, "%s", who->name);
	return who->role;
}

static enum account_role
on_role(void *arg, const char *user, uint64_t stamp)
{
	struct webaccess *a = arg;
	const struct account *who;

	refresh(a);
	who = accounts_find(a->now, false, user);
	return who != NULL && stamp_of(who) == stamp ? who->role : ACCOUNT_NOBODY;
}

static void
on_end(void *arg, const char *peer, const char *user)
{
	struct webaccess *a = arg;

	audit_note(a->state_dir, "logout", user, peer);
}

static void
on_changed(void *arg, const char *peer, const char *user, const char *event)
{
	struct webaccess *a = arg;

	audit_note(a->state_dir, event, *user != '\0' ? user : "-", peer);
}

static int
on_list(void *arg, void (*fn)(void *fn_arg, const struct account *account), void *fn_arg)
{
	struct webaccess *a = arg;
	struct account shown;
	size_t i;

	refresh(a);
	for (i = 0; i < a->now->n; i++) {
		shown = a->now->list[i];
		memset(shown.secret, 0, sizeof(shown.secret));
		fn(fn_arg, &shown);
	}
	return NW_OK;
}

struct webaccess *
webaccess_open(const struct conf *c, struct web_access *out)
{
	struct webaccess *a = xcalloc(1, sizeof(*a));

	a->state_dir = xstrdup(c->state_dir);
	a->path = xasprintf("%s/accounts", c->state_dir);
	refresh(a);
	*out = (struct web_access){ .wants = c->login,
		.login = on_login,
		.token = on_token,
		.role = on_role,
		.changed = on_changed,
		.end = on_end,
		.list = on_list,
		.arg = a };
	return a;
}

void
webaccess_close(struct webaccess *a)
{
	if (a == NULL)
		return;
	fairrate_free(a->log_rate);
	free(a->now);
	free(a->path);
	free(a->state_dir);
	free(a);
}

/* --- the first account --- */

static int
password_write(const char *path, const char *password)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), rc;

	if (fd < 0)
		return NW_EIO;
	rc = dprintf(fd, "admin %s\n", password) > 0 && fsync(fd) == 0 ? NW_OK : NW_EIO;
	close(fd);
	return rc;
}

void
webaccess_first(const struct conf *c)
{
	char password[ACCOUNT_PASSWORD_BYTES], why[CONF_WHY_BYTES] = "", *path;
	struct accounts *a;
	bool none;

	if (!conf_wants_login(c) || accounts_read(c->state_dir, &a, why) < 0)
		return;
	none = a->n == 0;
	free(a);
	if (!none)
		return;
	path = xasprintf("%s/first-password", c->state_dir);
	/* without the password: remove the file, and the next start makes another */
	if (account_password_make(password) < 0 || password_write(path, password) < 0)
		log_warnx("access.first path=%s why=\"%s\"", path, strerror(errno));
	else if (account_user_put(c->state_dir, "admin", ACCOUNT_ADMIN, password, why) < 0)
		log_warnx("access.first why=\"%s\"", why);
	else
		log_info(
		    "access.first path=%s note=\"name and password of the first account\"", path);
	explicit_bzero(password, sizeof(password));
	free(path);
}
