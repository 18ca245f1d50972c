/* SPDX-License-Identifier: BSD-3-Clause */
/* In place of the compiler's unwinder, which the C library calls when a thread is cancelled. Agents
 * cancel no thread: `make host-static` leaves out the tables of unwinding, too. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define NEVER(name)      \
	void name(void); \
	void name(void)  \
	{                \
		abort(); \
	}

/* names of the compiler's interface */
NEVER(_Unwind_Resume)
NEVER(__gcc_personality_v0)
NEVER(_Unwind_ForcedUnwind)
NEVER(_Unwind_GetCFA)
NEVER(_Unwind_Backtrace)
NEVER(_Unwind_GetIP)

/* The library's texts take 19 kB. The reason why a file of keys is refused has the error's number
 * instead. */
void mbedtls_strerror(int code, char *text, size_t len);
void
mbedtls_strerror(int code, char *text, size_t len)
{
	snprintf(text, len, "mbed TLS error -0x%04X", (unsigned)-code);
}
