/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions behind the replaced functions: the next definitions after ours, in the order in
 * which the loader searches the objects of the program's start. Names are looked up when a program
 * first calls them: most programs use few, and short programs would pay for all. dlsym(3) takes the
 * loader's lock, for which a signal handler or the child of a fork could wait forever, so the
 * search here reads the loader's tables without lock.
 */
#include "host/nwrun/preload/preload.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include "host/nwrun/preload/old_version.h"

/* NULL under the loader of another C library, which the preloaded object must not stop: the object
 * counts nothing there, and finds the functions through dlsym(3). */
#pragma weak _r_debug
/* NULL where the functions are in a library of their own that the program does not use. */
#pragma weak dlsym
#pragma weak dlerror
OLD_VERSION(dlsym, dlsym);
OLD_VERSION(dlerror, dlerror);

void *real_table[REAL_COUNT];
bool direct;
static const char never;
const char *single_threaded = &never;

/* One text for all names: an array of pointers would be relocated in every process. */
static const char real_names[] =
#define X(name) #name "\0"
#include "host/nwrun/preload/preload_names.h"
#undef X
    ;

static const char *
real_name(enum real_name name)
{
	const char *at = real_names;
	unsigned i;

	for (i = 0; i < (unsigned)name; i++)
		while (*at++ != '\0')
			;
	return at;
}

/* --- the loader's tables --- */

enum { VERSION_HIDDEN = 0x8000, HASH_HEAD = 4 };

struct library {
	ElfW(Addr) base;
	const uint32_t *hash;     /* NULL: the object has no table of this kind */
	const uint32_t *old_hash; /* the table of older linkers; NULL: none */
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Half) * versions; /* NULL: none */
};

/* The loader has added the base to addresses, except in read-only objects. */
static const void *
library_at(const struct link_map *map, const ElfW(Dyn) * d)
{
	return (const void *)(d->d_un.d_ptr < map->l_addr ? map->l_addr + d->d_un.d_ptr
							  : d->d_un.d_ptr);
}

static void
library_read(const struct link_map *map, struct library *l)
{
	const ElfW(Dyn) * d;

	*l = (struct library){ .base = map->l_addr };
	for (d = map->l_ld; d != NULL && d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_HASH: l->old_hash = library_at(map, d); break;
		case DT_GNU_HASH: l->hash = library_at(map, d); break;
		case DT_SYMTAB: l->symbols = library_at(map, d); break;
		case DT_STRTAB: l->names = library_at(map, d); break;
		case DT_VERSYM: l->versions = library_at(map, d); break;
		}
}

static uint32_t
name_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name != '\0'; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static bool
same_name(const char *a, const char *b)
{
	for (; *a == *b; a++, b++)
		if (*a == '\0')
			return true;
	return false;
}

/* Old versions of a function, for old programs, are hidden. */
static bool
is_definition(const struct library *l, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &l->symbols[i];

	return s->st_shndx != SHN_UNDEF && same_name(l->names + s->st_name, name) &&
	    (l->versions == NULL || (l->versions[i] & VERSION_HIDDEN) == 0);
}

/* The table: counts, a filter of machine words, buckets, then the hashes of the symbols, the last
 * of a bucket with its lowest bit set. */
static const ElfW(Sym) * library_find(const struct library *l, uint32_t hash, const char *name)
{
	enum { BITS = 8 * sizeof(ElfW(Addr)) };
	uint32_t n_buckets = l->hash[0], from = l->hash[1], n_words = l->hash[2], i;
	const ElfW(Addr) *filter = (const ElfW(Addr) *)(l->hash + HASH_HEAD),
			 word = filter[hash / BITS & (n_words - 1)];
	const uint32_t *buckets = (const uint32_t *)(filter + n_words), *hashes;

	if ((word >> hash % BITS & word >> (hash >> l->hash[3]) % BITS & 1) == 0 ||
	    (i = buckets[hash % n_buckets]) < from)
		return NULL;
	for (hashes = buckets + n_buckets - from;; i++) {
		if (((hashes[i] ^ hash) >> 1) == 0 && is_definition(l, i, name))
			return &l->symbols[i];
		if ((hashes[i] & 1) != 0)
			return NULL;
	}
}

/* The older table begins with the numbers of buckets and of symbols. The search goes through all
 * symbols: no object of weight has this table alone. */
static const ElfW(Sym) * library_find_slowly(const struct library *l, const char *name)
{
	uint32_t i;

	for (i = 0; i < l->old_hash[1]; i++)
		if (is_definition(l, i, name))
			return &l->symbols[i];
	return NULL;
}

/* --- the search --- */

/* the last object of the program's start: what comes after may go away again; NULL: the loader is
 * still at work */
static const struct link_map *last;

bool
is_at_home(void)
{
	return &_r_debug != NULL;
}

static const struct link_map *
own_map(void)
{
	const struct link_map *map = is_at_home() ? _r_debug.r_map : NULL;

	while (map != NULL && map->l_ld != _DYNAMIC)
		map = map->l_next;
	return map;
}

/* A program may have a copy of the variable, which then is the variable for all. */
static void
find_single_threaded(void)
{
	static const char name[] = "__libc_single_threaded";
	const struct link_map *map;
	uint32_t hash = name_hash(name);
	const ElfW(Sym) * s;
	struct library l;

	for (map = _r_debug.r_map; map != NULL; map = map->l_next) {
		library_read(map, &l);
		if (l.hash == NULL || l.symbols == NULL || l.names == NULL ||
		    (s = library_find(&l, hash, name)) == NULL || (s->st_info & 0xf) != STT_OBJECT)
			continue;
		single_threaded = (const char *)(l.base + s->st_value);
		return;
	}
}

const char *
find_own_path(void)
{
	const struct link_map *map = own_map();

	return map != NULL && map->l_name[0] == '/' ? map->l_name : NULL;
}

void
find_start(void)
{
	const struct link_map *map = own_map();

	while (map != NULL && map->l_next != NULL)
		map = map->l_next;
	last = map;
}

/* For objects and functions of an unusual kind. The program must not find the question's answer. */
static void *
ask_loader(const char *name)
{
	void *found;

	if (dlsym == NULL || dlerror == NULL)
		return NULL;
	found = dlsym(RTLD_NEXT, name);
	(void)dlerror();
	return found;
}

/* The next definition of a function, and its object if that is an ordinary object. NULL when there
 * is no definition. */
static void *
find_next(const char *name, const struct link_map **in)
{
	const struct link_map *map = own_map();
	uint32_t hash = name_hash(name);
	const ElfW(Sym) * s;
	struct library l;

	*in = NULL;
	while (map != NULL && map != last && (map = map->l_next) != NULL) {
		library_read(map, &l);
		if (l.symbols == NULL || l.names == NULL || (l.hash == NULL && l.old_hash == NULL))
			break;
		s = l.hash != NULL ? library_find(&l, hash, name) : library_find_slowly(&l, name);
		if (s == NULL)
			continue;
		if ((s->st_info & 0xf) != STT_FUNC)
			break;
		*in = map;
		return (void *)(l.base + s->st_value);
	}
	return ask_loader(name);
}

static bool
is_in_libc(enum real_name name, const struct link_map *libc)
{
	const struct link_map *in;

	real_table[name] = find_next(real_name(name), &in);
	return in == libc;
}

void
find_direct(void)
{
	static const uint8_t names[] = { REAL_read, REAL_pread, REAL_pread64, REAL_readv,
		REAL_write, REAL_pwrite, REAL_pwrite64, REAL_writev, REAL_send, REAL_sendto,
		REAL_sendmsg, REAL_recv, REAL_recvfrom, REAL_recvmsg, REAL_close };
	static _Atomic bool asked;
	const struct link_map *libc;
	size_t i = 0;

	if (atomic_exchange(&asked, true))
		return;
	find_single_threaded();
	(void)find_next("gnu_get_libc_version", &libc);
	while (libc != NULL && i < sizeof(names) && is_in_libc(names[i], libc))
		i++;
	direct = i == sizeof(names);
}

/* --- where libc has none of a name --- */

static long
missing(void)
{
	errno = ENOSYS;
	return -1;
}

void *
real_find(enum real_name name)
{
	const struct link_map *in;
	void *found = find_next(real_name(name), &in);

	if (found == NULL)
		return (void *)missing;
	return real_table[name] = found;
}
