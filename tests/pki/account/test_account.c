/* SPDX-License-Identifier: BSD-3-Clause */
/* Accounts come back, passwords and tokens open what they are for, and nothing else does. */
#include "narrows/account.h"

#include <sys/stat.h>
#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"

static char dir[] = "/dev/shm/nw-account-XXXXXX", why[CONF_WHY_BYTES];

static struct accounts *
read_all(void)
{
	struct accounts *a = NULL;

	CHECK_INT(accounts_read(dir, &a, why), NW_OK);
	return a;
}

static void
users_log_in(void)
{
	struct accounts *a;
	const struct account *u;

	CHECK_INT(account_user_put(dir, "eva", ACCOUNT_VIEWER, "correct horse", why), NW_OK);
	CHECK_INT(account_user_put(dir, "bo@site", ACCOUNT_ADMIN, "0123456789", why), NW_OK);
	CHECK_INT(account_user_put(dir, "eva", ACCOUNT_OPERATOR, "battery staple", why), NW_OK);
	a = read_all();
	CHECK_INT(a->n, 2);
	u = accounts_login(a, "eva", "battery staple");
	CHECK(u != NULL && u->role == ACCOUNT_OPERATOR && !u->is_token);
	CHECK(accounts_login(a, "eva", "correct horse") == NULL);
	CHECK(accounts_login(a, "eva", "") == NULL);
	CHECK(accounts_login(a, "nobody", "battery staple") == NULL);
	CHECK(accounts_login(a, "bo@site", "0123456789") != NULL);
	CHECK(strstr(a->list[0].secret, "$argon2id$") == a->list[0].secret);
	CHECK(strcmp(a->list[0].secret, a->list[1].secret) != 0);
	free(a);
}

static void
tokens_open(void)
{
	char text[ACCOUNT_TOKEN_BYTES], other[ACCOUNT_TOKEN_BYTES];
	const struct account *t;
	struct accounts *a;

	CHECK_INT(account_token_make(dir, "prom", ACCOUNT_METRICS, 1000, text, why), NW_OK);
	CHECK_INT(account_token_make(dir, "prom", ACCOUNT_ADMIN, 0, other, why), NW_ECONFLICT);
	CHECK_INT(account_token_make(dir, "eva", ACCOUNT_VIEWER, 0, other, why), NW_OK);
	CHECK_INT(strlen(text), ACCOUNT_TOKEN_BYTES - 1);
	a = read_all();
	t = accounts_token(a, text, 999);
	CHECK(t != NULL && t->is_token && t->role == ACCOUNT_METRICS);
	CHECK(accounts_token(a, text, 1000) == NULL);
	t = accounts_token(a, other, INT64_C(1) << 40);
	CHECK(t != NULL && strcmp(t->name, "eva") == 0);
	text[10] = text[10] == '0' ? '1' : '0';
	CHECK(accounts_token(a, text, 999) == NULL);
	CHECK(accounts_token(a, "", 999) == NULL);
	CHECK(accounts_login(a, "prom", other) == NULL);
	free(a);
}

static void
accounts_go(void)
{
	struct accounts *a;

	CHECK_INT(account_remove(dir, false, "prom", why), NW_ENOTFOUND);
	CHECK_INT(account_remove(dir, true, "prom", why), NW_OK);
	CHECK_INT(account_remove(dir, false, "eva", why), NW_OK);
	a = read_all();
	CHECK_INT(a->n, 2);
	CHECK(accounts_find(a, false, "bo@site") != NULL);
	CHECK(accounts_find(a, true, "eva") != NULL);
	free(a);
}

static void
nonsense_is_refused(void)
{
	char path[64], text[ACCOUNT_TOKEN_BYTES];
	struct accounts *a;
	struct stat sb;
	FILE *f;

	CHECK_INT(account_user_put(dir, "a b", ACCOUNT_VIEWER, "0123456789", why), NW_EINVAL);
	CHECK_INT(account_user_put(dir, "", ACCOUNT_VIEWER, "0123456789", why), NW_EINVAL);
	CHECK_INT(account_user_put(dir, "a", ACCOUNT_VIEWER, "012345678", why), NW_EINVAL);
	CHECK_INT(account_user_put(dir, "a", ACCOUNT_NOBODY, "0123456789", why), NW_EINVAL);
	CHECK_INT(account_token_make(dir, "\n", ACCOUNT_VIEWER, 0, text, why), NW_EINVAL);
	CHECK_INT(account_role_parse("root"), ACCOUNT_NOBODY);
	snprintf(path, sizeof(path), "%s/accounts", dir);
	CHECK_INT(stat(path, &sb), 0);
	CHECK_INT(sb.st_mode & 0777, 0600);
	CHECK((f = fopen(path, "a")) != NULL);
	fputs("user x superuser 0 y\n", f);
	fclose(f);
	CHECK_INT(accounts_read(dir, &a, why), NW_EPROTO);
	CHECK(strstr(why, "accounts:3: ") != NULL);
	unlink(path);
	CHECK_INT(accounts_read(dir, &a, why), NW_OK);
	CHECK_INT(a->n, 0);
	free(a);
}

static void
passwords_differ(void)
{
	char one[ACCOUNT_PASSWORD_BYTES], two[ACCOUNT_PASSWORD_BYTES];

	CHECK_INT(account_password_make(one), NW_OK);
	CHECK_INT(account_password_make(two), NW_OK);
	CHECK_INT(strlen(one), 24);
	CHECK(strcmp(one, two) != 0);
}

int
main(void)
{
	CHECK(check_dir(dir));
	users_log_in();
	tokens_open();
	accounts_go();
	nonsense_is_refused();
	passwords_differ();
	rmdir(dir);
	return check_done("account");
}
