/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/rights/identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/err.h"
#include "narrows/fnv.h"
#include "narrows/log.h"

static const char own_account[] = "narrows";

/* --- accounts --- */

static bool
account_find(const char *name, struct identity *id)
{
	const struct passwd *pw = getpwnam(name);

	if (pw == NULL)
		return false;
	snprintf(id->name, sizeof(id->name), "%.63s", name);
	id->uid = pw->pw_uid;
	id->gid = pw->pw_gid;
	return true;
}

static void
owner_find(const struct stat *dir, struct identity *id)
{
	const struct passwd *pw = getpwuid(dir->st_uid);

	if (pw != NULL)
		snprintf(id->name, sizeof(id->name), "%.63s", pw->pw_name);
	else
		snprintf(id->name, sizeof(id->name), "%lu", (unsigned long)dir->st_uid);
	id->uid = dir->st_uid;
	id->gid = dir->st_gid;
}

/* Numbers that Linux distributions give to nobody: above the accounts of people and of homed,
 * below the dynamic users of systemd. */
enum { MADE_UP_MIN = 60706, MADE_UP_COUNT = 478 };

/* A user without an account, for a state directory of root: a number by the directory's path, or
 * the next one that no account or group has. */
static void
made_up_find(const char *state_dir, struct identity *id)
{
	char *path = realpath(state_dir, NULL);
	uint64_t n = fnv_text(FNV_BEGIN, path != NULL ? path : state_dir);
	unsigned tries;
	uid_t uid;

	free(path);
	for (tries = 0; tries < MADE_UP_COUNT; tries++, n++) {
		uid = (uid_t)(MADE_UP_MIN + n % MADE_UP_COUNT);
		if (getpwuid(uid) == NULL && getgrgid((gid_t)uid) == NULL) {
			id->uid = uid;
			id->gid = (gid_t)uid;
			snprintf(id->name, sizeof(id->name), "%lu", (unsigned long)uid);
			return;
		}
	}
}

static bool
groups_take(const struct identity *id)
{
	return getpwnam(id->name) != NULL ? initgroups(id->name, id->gid) == 0
					  : setgroups(0, NULL) == 0;
}

/* Asks the kernel as the user whether a directory exists, and its files if files is true. */
static bool
dir_is_reachable(const struct identity *id, const char *dir, bool files)
{
	struct stat st;
	bool yes;

	if (!groups_take(id) || setegid(id->gid) != 0 || seteuid(id->uid) != 0)
		yes = false;
	else
		yes = stat(dir, &st) == 0 &&
		    (!files || faccessat(AT_FDCWD, dir, R_OK | W_OK | X_OK, AT_EACCESS) == 0);
	if (seteuid(0) != 0 || setegid(0) != 0 || setgroups(0, NULL) != 0)
		abort(); /* a process of mixed identities is worse than none */
	return yes;
}

/* --- the state directory --- */

/* For root's eyes. */
static const char FIRST_PASSWORD[] = "first-password";

/* Names of files made by the box; a directory with other names is shared with other programs. */
static bool
name_is_ours(const char *name)
{
	return strncmp(name, "narrows.db", 10) == 0 || strncmp(name, "narrowsd.", 9) == 0 ||
	    strcmp(name, "tls") == 0 || strcmp(name, "lost+found") == 0 ||
	    strcmp(name, "accounts") == 0 || strncmp(name, "audit.log", 9) == 0 ||
	    strcmp(name, FIRST_PASSWORD) == 0;
}

/* Gives a file of root to id; files of others and files with a second name stay. */
static void
file_give(int dir, const char *name, const struct identity *id)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (strcmp(name, FIRST_PASSWORD) == 0) {
		close(fd);
		return;
	}
	if (fstat(fd, &st) == 0 && st.st_uid == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	    fchownat(fd, "", id->uid, id->gid, AT_EMPTY_PATH) != 0)
		log_warn("identity.give file=%s", name);
	close(fd);
}

static bool
name_is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Owns fd. The directory itself changes hands last: after a start that was cut short, the next
 * start gives the rest. */
static int
dir_give(int fd, const struct identity *id, bool top)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	struct stat st;
	int sub, rc = NW_OK;

	if (d == NULL) {
		close(fd);
		return NW_EIO;
	}
	while (rc == NW_OK && (e = readdir(d)) != NULL) {
		if (name_is_dot(e->d_name) || strcmp(e->d_name, "lost+found") == 0)
			continue;
		sub = -1;
		if (top && strcmp(e->d_name, "tls") == 0)
			sub =
			    openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0)
			rc = dir_give(sub, id, false);
		else
			file_give(fd, e->d_name, id);
	}
	if (rc == NW_OK && fstat(fd, &st) == 0 && st.st_uid == 0 &&
	    fchown(fd, id->uid, id->gid) != 0)
		rc = NW_EIO;
	closedir(d);
	return rc;
}

static bool
dir_is_ours_alone(int fd)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	bool ours = d != NULL;

	while (ours && (e = readdir(d)) != NULL)
		ours = name_is_dot(e->d_name) || name_is_ours(e->d_name);
	if (d != NULL)
		closedir(d);
	else
		close(fd);
	return ours;
}

/* NULL, or the reason why the state directory cannot be id's. */
static const char *
state_give(const char *dir, const struct identity *id)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return "the state directory cannot be read";
	if (st.st_uid != 0 && st.st_uid != id->uid) {
		close(fd);
		return "the state directory belongs to another user";
	}
	if (!dir_is_ours_alone(dup(fd)) || (st.st_mode & S_ISVTX) != 0) {
		close(fd);
		return "the state directory has files of others";
	}
	lseek(fd, 0, SEEK_SET); /* the duplicate moved the place in the directory */
	return dir_give(fd, id, true) == NW_OK ? NULL : "the state directory cannot be given away";
}

/* NULL, or the reason why id cannot run the box. */
static const char *
objection(const struct identity *id, const char *state_dir, const char *tls_dir)
{
	if (!dir_is_reachable(id, state_dir, false))
		return "the user does not reach the state directory";
	if (tls_dir != NULL && !dir_is_reachable(id, tls_dir, true))
		return "the user may not write the directory of keys";
	return state_give(state_dir, id);
}

int
identity_choose(const char *user, const char *state_dir, const char *tls_dir, struct identity *out,
    char why[CONF_WHY_BYTES])
{
	bool automatic = strcmp(user, "auto") == 0;
	struct identity id = { 0 };
	struct stat st = { 0 };
	const char *not = NULL;

	*out = (struct identity){ .name = "root" };
	(void)stat(state_dir, &st);
	if (!automatic && !account_find(user, &id)) {
		snprintf(why, CONF_WHY_BYTES, "user %.60s: no such account", user);
		return NW_EINVAL;
	}
	if (automatic && !account_find(own_account, &id)) {
		not = "no account is named narrows";
		owner_find(&st, &id);
		if (id.uid == 0)
			made_up_find(state_dir, &id);
	}
	if (id.uid != 0 && (not = objection(&id, state_dir, tls_dir)) == NULL)
		*out = id;
	else if (!automatic && id.uid != 0) {
		snprintf(why, CONF_WHY_BYTES, "user %.60s: %s", user, not );
		return NW_EINVAL;
	}
	out->note = not ;
	out->is_foreign = out->uid == 0 && st.st_uid != 0;
	if (out->uid == 0 && tls_dir != NULL && stat(tls_dir, &st) == 0 && st.st_uid != 0)
		out->is_foreign = true;
	return NW_OK;
}

int
identity_take(const struct identity *id, char why[CONF_WHY_BYTES])
{
	if (id->uid == 0)
		return NW_OK;
	if (!groups_take(id) || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 ||
	    setresgid(id->gid, id->gid, id->gid) != 0 ||
	    setresuid(id->uid, id->uid, id->uid) != 0) {
		snprintf(why, CONF_WHY_BYTES, "user %.60s: %s", id->name, strerror(errno));
		return NW_EIO;
	}
	return NW_OK;
}
