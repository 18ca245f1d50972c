/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds a function to the first version that the C library had: hosts with an older C library load
 * the object, too. */
#ifndef HOST_OLD_VERSION_H
#define HOST_OLD_VERSION_H

#if defined(__x86_64__)
#define OLD_VERSION(alias, name) __asm__(".symver " #alias "," #name "@GLIBC_2.2.5")
#else
#define OLD_VERSION(alias, name) __asm__(".symver " #alias "," #name "@GLIBC_2.17")
#endif

#endif
