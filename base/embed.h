/* SPDX-License-Identifier: BSD-3-Clause */
/* Constants of a program that hold the bytes of a file. */
#ifndef BASE_EMBED_H
#define BASE_EMBED_H

/* Defines, at file scope, `NAME[]`, bytes that a header declares as const, and `const size_t
 * NAME_bytes`: the bytes of FILE (a string, a path from the project's top folder) on a boundary of
 * 8. A zero byte that is not counted ends them. The assembler copies the file, so the Makefile must
 * name FILE as a prerequisite of the object. */
#define EMBED(name, file)                                                  \
	__asm__(".pushsection .rodata." #name ",\"a\"\n"                   \
		".global " #name "\n"                                      \
		".hidden " #name "\n"                                      \
		".type " #name ", %object\n"                               \
		".balign 8\n" #name ":\n"                                  \
		".incbin \"" file "\"\n"                                   \
		".size " #name ", . - " #name "\n" #name "_end: .byte 0\n" \
		".global " #name "_bytes\n"                                \
		".hidden " #name "_bytes\n"                                \
		".type " #name "_bytes, %object\n"                         \
		".balign 8\n" #name "_bytes:\n"                            \
		".dc.a " #name "_end - " #name "\n"                        \
		".popsection\n")

#endif
