/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/collect/version.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/eventtype.h"

enum { HEADERS_MAX = 64, NOTES_BYTES = 4096, NAME_BYTES = 48, KEY_BYTES = 80, PATH_SHOWN = 200 };

/* In the notes of a segment; lengths are a stranger's word. */
static bool
id_find(const uint8_t *notes, size_t len, char id[VERSION_ID_BYTES])
{
	size_t at = 0, name_len, desc_len, i;
	Elf64_Nhdr n;

	while (len - at >= sizeof(n)) {
		memcpy(&n, notes + at, sizeof(n));
		at += sizeof(n);
		if (n.n_namesz > NOTES_BYTES || n.n_descsz > NOTES_BYTES)
			return false;
		name_len = (n.n_namesz + 3u) & ~(size_t)3;
		desc_len = (n.n_descsz + 3u) & ~(size_t)3;
		if (name_len + desc_len > len - at)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    memcmp(notes + at, "GNU", 4) == 0 && n.n_descsz > 0 &&
		    2 * n.n_descsz < VERSION_ID_BYTES) {
			for (i = 0; i < n.n_descsz; i++)
				snprintf(id + 2 * i, 3, "%02x", notes[at + name_len + i]);
			return true;
		}
		at += name_len + desc_len;
	}
	return false;
}

bool
version_id_read(int fd, char id[VERSION_ID_BYTES])
{
	uint8_t notes[NOTES_BYTES];
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	unsigned i;
	ssize_t n;

	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_phentsize != sizeof(ph) || eh.e_phnum > HEADERS_MAX || eh.e_phoff > INT32_MAX)
		return false;
	for (i = 0; i < eh.e_phnum; i++) {
		if (pread(fd, &ph, sizeof(ph), (off_t)(eh.e_phoff + i * sizeof(ph))) != sizeof(ph))
			return false;
		if (ph.p_type != PT_NOTE || ph.p_filesz > sizeof(notes) || ph.p_offset > INT32_MAX)
			continue;
		n = pread(fd, notes, ph.p_filesz, (off_t)ph.p_offset);
		if (n > 0 && id_find(notes, (size_t)n, id))
			return true;
	}
	return false;
}

/* A name that is a part of a setting's name: no dots, blanks or slashes. */
static void
name_make(const char *path, char name[NAME_BYTES])
{
	const char *base = strrchr(path, '/');
	char *p;

	snprintf(name, NAME_BYTES, "%.47s", base != NULL ? base + 1 : path);
	for (p = name; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~' || *p == '.' || *p == '/')
			*p = '_';
}

static int
send_settings(struct nw_provider *p, const char *host, const char *path, const struct stat *st,
    const char *id, int64_t now_wall_ns)
{
	char name[NAME_BYTES], from[KEY_BYTES], until[KEY_BYTES], mid[PATH_MAX], size[32];
	char keys[3][KEY_BYTES + 16], shown[PATH_SHOWN];
	struct nw_kv subject[] = { { "hostname", NW_KV_TEXT, { .text = host } },
		{ "type", NW_KV_TEXT, { .text = "host" } },
		{ "from", NW_KV_TEXT, { .text = from } },
		{ "until", NW_KV_TEXT, { .text = until } },
		{ "t_ns", NW_KV_INT, { .i = now_wall_ns } } };
	struct nw_kv kv[] = { { keys[0], NW_KV_TEXT, { .text = id } },
		{ keys[1], NW_KV_TEXT, { .text = shown } },
		{ keys[2], NW_KV_TEXT, { .text = size } } };

	name_make(path, name);
	snprintf(from, sizeof(from), "program.%s.", name);
	snprintf(until, sizeof(until), "program.%s/", name);
	snprintf(keys[0], sizeof(keys[0]), "%sbuild", from);
	snprintf(keys[1], sizeof(keys[1]), "%spath", from);
	snprintf(keys[2], sizeof(keys[2]), "%ssize", from);
	snprintf(shown, sizeof(shown), "%.199s", path);
	snprintf(size, sizeof(size), "%lld", (long long)st->st_size);
	snprintf(mid, sizeof(mid), "%.150s/config/%s/%" PRId64, host, from, now_wall_ns);
	return nw_provider_meta(p, mid, NULL, NW_TYPE_CONFIG, subject,
	    sizeof(subject) / sizeof(subject[0]), kv, sizeof(kv) / sizeof(kv[0]));
}

bool
version_say(struct nw_provider *p, const char *host, int pid, int64_t now_wall_ns)
{
	char link[64], path[PATH_MAX], id[VERSION_ID_BYTES] = "unknown";
	ssize_t len;
	struct stat st;
	int fd;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	if ((len = readlink(link, path, sizeof(path) - 1)) <= 0)
		return false;
	path[len] = '\0';
	if (len >= 6 && strcmp(path + len - 6, "/nwrun") == 0)
		return false;
	if ((fd = open(link, O_RDONLY | O_CLOEXEC)) < 0 || fstat(fd, &st) < 0) {
		if (fd >= 0)
			close(fd);
		return true; /* the file is not readable: it stays unknown */
	}
	(void)version_id_read(fd, id);
	close(fd);
	(void)send_settings(p, host, path, &st, id, now_wall_ns);
	return true;
}
