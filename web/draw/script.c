/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/draw/script.h"

/* The assembler copies the file; the Makefile knows that this object is made of the file. */
__asm__(".pushsection .rodata\n"
	".global script_js\n"
	".hidden script_js\n"
	".type script_js, %object\n"
	"script_js:\n"
	".incbin \"web/draw/narrows.js\"\n"
	".byte 0\n"
	".size script_js, . - script_js\n"
	".popsection\n");
