/* SPDX-License-Identifier: BSD-3-Clause */
#include "gridftp/xio/finish.h"

#include <globus_xio_driver.h>
#include <link.h>
#include <string.h>

#include "narrows/caliper.h"

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT };
#else
enum { JUMP_SLOT = -1 }; /* no such entry is known: passes tell no ends */
#endif

typedef void finish_fn(globus_xio_operation_t, globus_result_t, globus_size_t);

/* A function that the transports call, and the function in the place of the former. */
struct detour {
	const char *name;
	finish_fn *own, *next;
	ElfW(Addr) * slot; /* where the library keeps the address */
};

static _Thread_local _Atomic int64_t *expected;

static void finished_read(globus_xio_operation_t op, globus_result_t result, globus_size_t bytes);
static void finished_write(globus_xio_operation_t op, globus_result_t result, globus_size_t bytes);

static struct detour detours[] = {
	{ "globus_xio_driver_finished_read", finished_read, globus_xio_driver_finished_read, NULL },
	{ "globus_xio_driver_finished_write", finished_write, globus_xio_driver_finished_write,
	    NULL },
};
enum { DETOURS = sizeof(detours) / sizeof(detours[0]) };

static void
note_end(void)
{
	if (expected != NULL && atomic_load_explicit(expected, memory_order_relaxed) == 0)
		atomic_store_explicit(expected, nw_caliper_now(), memory_order_relaxed);
}

static void
finished_read(globus_xio_operation_t op, globus_result_t result, globus_size_t bytes)
{
	note_end();
	detours[0].next(op, result, bytes);
}

static void
finished_write(globus_xio_operation_t op, globus_result_t result, globus_size_t bytes)
{
	note_end();
	detours[1].next(op, result, bytes);
}

_Atomic int64_t *
finish_expect(_Atomic int64_t *end_mono_ns)
{
	_Atomic int64_t *before = expected;

	expected = end_mono_ns;
	return before;
}

/* Whether the address lies in a segment of the object with this type and these rights. */
static bool
is_within(const struct dl_phdr_info *object, ElfW(Word) type, ElfW(Word) rights, ElfW(Addr) address)
{
	const ElfW(Phdr) * p;
	unsigned i;

	for (i = 0; i < object->dlpi_phnum; i++) {
		p = &object->dlpi_phdr[i];
		if (p->p_type == type && (p->p_flags & rights) == rights &&
		    address - (object->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return true;
	}
	return false;
}

/* The value of an entry of the dynamic section; 0: there is none. */
static ElfW(Addr) dynamic_value(const struct dl_phdr_info *object, ElfW(Sxword) tag)
{
	const ElfW(Dyn) *d = NULL;
	unsigned i;

	for (i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	for (; d != NULL && d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_ptr;
	return 0;
}

/* Finds the slots in the table of the object's calls. The dynamic section must hold whole
 * addresses, as glibc keeps them. */
static void
slots_find(const struct dl_phdr_info *object)
{
	const ElfW(Rela) *r = (const ElfW(Rela) *)dynamic_value(object, DT_JMPREL);
	const ElfW(Sym) *symbols = (const ElfW(Sym) *)dynamic_value(object, DT_SYMTAB);
	const char *names = (const char *)dynamic_value(object, DT_STRTAB);
	size_t n = dynamic_value(object, DT_PLTRELSZ) / sizeof(*r), i, k;
	ElfW(Addr) at;

	if (!is_within(object, PT_LOAD, PF_R, (ElfW(Addr))r) ||
	    !is_within(object, PT_LOAD, PF_R, (ElfW(Addr))symbols) ||
	    !is_within(object, PT_LOAD, PF_R, (ElfW(Addr))names) ||
	    dynamic_value(object, DT_PLTREL) != DT_RELA)
		return;
	for (i = 0; i < n; i++) {
		at = object->dlpi_addr + r[i].r_offset;
		if ((int)ELF64_R_TYPE(r[i].r_info) != JUMP_SLOT ||
		    !is_within(object, PT_LOAD, PF_W, at) || is_within(object, PT_GNU_RELRO, 0, at))
			continue;
		for (k = 0; k < DETOURS; k++)
			if (strcmp(names + symbols[ELF64_R_SYM(r[i].r_info)].st_name,
				detours[k].name) == 0)
				detours[k].slot = (ElfW(Addr) *)at;
	}
}

/* What stands in the slot goes on being called if another object put it there, such as the driver
 * by its other name. Before the first call the slot leads to the loader, which would fill the slot
 * anew; the function itself is called then. */
static void
detour_take(const struct dl_phdr_info *object, struct detour *d)
{
	ElfW(Addr) before = __atomic_load_n(d->slot, __ATOMIC_ACQUIRE);

	if (!is_within(object, PT_LOAD, PF_X, before))
		d->next = (finish_fn *)before;
	__atomic_store_n(d->slot, (ElfW(Addr))d->own, __ATOMIC_RELEASE);
}

static int
on_object(struct dl_phdr_info *object, size_t size, void *arg)
{
	bool *taken = arg;
	size_t k;

	(void)size;
	if (object->dlpi_name == NULL || strstr(object->dlpi_name, "/libglobus_xio.so") == NULL)
		return 0;
	slots_find(object);
	*taken = true;
	for (k = 0; k < DETOURS; k++)
		*taken &= detours[k].slot != NULL;
	for (k = 0; *taken && k < DETOURS; k++)
		detour_take(object, &detours[k]);
	return 1;
}

bool
finish_watch(void)
{
	static bool asked, taken;

	if (!asked)
		dl_iterate_phdr(on_object, &taken);
	asked = true;
	return taken;
}
