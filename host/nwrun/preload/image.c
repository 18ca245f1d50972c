/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/preload/image.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "host/nwrun/preload/kernel_call.h"

enum { HEAD_BYTES = 2048, DYNAMIC_ENTRIES = 64, NAME_BYTES = 32, SCRIPTS_MAX = 5 };

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#else
enum { OWN_MACHINE = EM_AARCH64 };
#endif

struct reading {
	int fd;
	size_t len;
	/* a NUL is behind the last byte */
	_Alignas(Elf64_Ehdr) char head[HEAD_BYTES + 1];
};

static size_t
read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	long n = kernel_call(SYS_pread64, fd, (long)to, (long)bytes, (long)offset, 0, 0);

	return n > 0 ? (size_t)n : 0;
}

static void
text_copy(char to[IMAGE_PATH_BYTES], const char *from, size_t n)
{
	n = n < IMAGE_PATH_BYTES ? n : IMAGE_PATH_BYTES - 1;
	memcpy(to, from, n);
	to[n] = '\0';
}

/* --- ELF --- */

/* The place in the file of an address of the program; 0: none. */
static uint64_t
offset_of(const Elf64_Phdr *p, size_t n, uint64_t address)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr &&
		    address - p[i].p_vaddr < p[i].p_filesz)
			return address - p[i].p_vaddr + p[i].p_offset;
	return 0;
}

/* A sanitizer of addresses stands first among the libraries, or its program ends. */
static bool
has_sanitizer(const struct reading *r, const Elf64_Phdr *p, size_t n, const Elf64_Phdr *dynamic)
{
	static const char *const names[] = { "libasan.so", "libclang_rt.asan" };
	Elf64_Dyn d[DYNAMIC_ENTRIES];
	char name[NAME_BYTES] = "";
	uint64_t needed = 0, names_at = 0;
	size_t count, i;
	bool found = false;

	count = read_at(r->fd, d, dynamic->p_filesz < sizeof(d) ? dynamic->p_filesz : sizeof(d),
		    dynamic->p_offset) /
	    sizeof(d[0]);
	for (i = 0; i < count && d[i].d_tag != DT_NULL; i++) {
		if (d[i].d_tag == DT_NEEDED && !found) {
			found = true;
			needed = d[i].d_un.d_val;
		}
		if (d[i].d_tag == DT_STRTAB)
			names_at = offset_of(p, n, d[i].d_un.d_ptr);
	}
	if (!found || names_at == 0 ||
	    read_at(r->fd, name, sizeof(name) - 1, names_at + needed) == 0)
		return false;
	return strncmp(name, names[0], strlen(names[0])) == 0 ||
	    strncmp(name, names[1], strlen(names[1])) == 0;
}

/* Go's linker writes a note of type 4 with the owner "Go" into dynamic programs, too. */
static bool
has_go_note(const struct reading *r, const Elf64_Phdr *note)
{
	uint64_t at = note->p_offset, end = at + note->p_filesz;
	Elf64_Nhdr h;

	if (end > r->len || end < at)
		return false;
	while (end - at >= sizeof(h)) {
		memcpy(&h, r->head + at, sizeof(h));
		at += sizeof(h);
		if (h.n_type == 4 && h.n_namesz == 4 && end - at >= 4 &&
		    memcmp(r->head + at, "Go\0", 4) == 0)
			return true;
		at += (((uint64_t)h.n_namesz + 3) & ~UINT64_C(3)) +
		    (((uint64_t)h.n_descsz + 3) & ~UINT64_C(3));
		if (at > end)
			return false;
	}
	return false;
}

static bool
is_glibc_loader(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;

	return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld64.so", 7) == 0 ||
	    (strncmp(name, "ld-2.", 5) == 0);
}

static void
elf_look(const struct reading *r, struct image *out)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)r->head;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(r->head + h->e_phoff), *dynamic = NULL;
	char loader[IMAGE_PATH_BYTES];
	size_t i, n;

	out->kind = IMAGE_OTHER_WORDS;
	if (r->len < sizeof(*h) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != OWN_MACHINE)
		return;
	out->kind = IMAGE_STATIC;
	if (h->e_phentsize != sizeof(*p) || h->e_phoff % _Alignof(Elf64_Phdr) != 0 ||
	    h->e_phoff >= r->len)
		return;
	n = (r->len - h->e_phoff) / sizeof(*p);
	n = n < h->e_phnum ? n : h->e_phnum;
	for (i = 0; i < n; i++) {
		if (p[i].p_type == PT_DYNAMIC)
			dynamic = &p[i];
		if (p[i].p_type == PT_NOTE)
			out->is_go |= has_go_note(r, &p[i]);
		if (p[i].p_type == PT_INTERP && p[i].p_filesz <= sizeof(loader))
			text_copy(out->loader, loader,
			    read_at(r->fd, loader, p[i].p_filesz, p[i].p_offset));
	}
	if (out->loader[0] == '\0')
		return;
	out->kind = is_glibc_loader(out->loader) ? IMAGE_LOADS : IMAGE_OTHER_LOADER;
	if (dynamic != NULL && out->kind == IMAGE_LOADS && has_sanitizer(r, p, n, dynamic))
		out->kind = IMAGE_SANITIZED;
}

/* --- files --- */

/* The interpreter of a script, into out->file. False for any other file. */
static bool
script_follow(const struct reading *r, struct image *out)
{
	const char *at = r->head + 2, *end;

	if (r->len < 3 || r->head[0] != '#' || r->head[1] != '!')
		return false;
	at += strspn(at, " \t");
	end = at + strcspn(at, " \t\r\n");
	text_copy(out->file, at, (size_t)(end - at));
	return end > at;
}

/* Returns true if out->file leads to another file. */
static bool
file_look(struct image *out)
{
	struct reading r;
	bool goes_on = false;
	long fd;

	fd = kernel_call(
	    SYS_openat, AT_FDCWD, (long)out->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
	if (fd < 0) {
		out->kind = fd == -EACCES || fd == -EPERM ? IMAGE_HIDDEN : IMAGE_LOADS;
		return false;
	}
	r.fd = (int)fd;
	r.len = read_at(r.fd, r.head, HEAD_BYTES, 0);
	r.head[r.len] = '\0';
	if (r.len >= SELFMAG && memcmp(r.head, ELFMAG, SELFMAG) == 0)
		elf_look(&r, out);
	else
		goes_on = script_follow(&r, out);
	kernel_call(SYS_close, fd, 0, 0, 0, 0, 0);
	return goes_on;
}

void
image_look(const char *path, struct image *out)
{
	int i;

	out->kind = IMAGE_LOADS;
	out->is_go = false;
	out->loader[0] = '\0';
	text_copy(out->file, path, strlen(path));
	for (i = 0; i < SCRIPTS_MAX && file_look(out); i++)
		continue;
}

bool
image_refuses(enum image_kind kind, const char *asan_options)
{
	static const char unordered[] = "verify_asan_link_order=0";

	return kind == IMAGE_OTHER_WORDS || kind == IMAGE_OTHER_LOADER ||
	    (kind == IMAGE_SANITIZED &&
		(asan_options == NULL || strstr(asan_options, unordered) == NULL));
}
