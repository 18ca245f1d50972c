/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/giveback.h"

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Segments that are executed and never written: their pages are those of the file. */
static int
on_object(struct dl_phdr_info *object, size_t size, void *arg)
{
	const uintptr_t page = *(const uintptr_t *)arg;
	uintptr_t begin, end;
	int i;

	(void)size;
	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || (p->p_flags & (PF_X | PF_W)) != PF_X)
			continue;
		begin = (object->dlpi_addr + p->p_vaddr) & ~(page - 1);
		end = (object->dlpi_addr + p->p_vaddr + p->p_memsz) & ~(page - 1);
		if (end > begin) /* the vdso is no file, and refuses */
			(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
	}
	return 0;
}

void
giveback_code(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	dl_iterate_phdr(on_object, &page);
}
