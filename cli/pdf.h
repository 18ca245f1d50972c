/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages as PDF, by a Chromium that is installed. */
#ifndef PDF_H
#define PDF_H

/* Prints a page, which asks for nothing, into a file. Ends after a minute at most. Returns the exit
 * status; what is wrong is said on stderr. */
int pdf_write(const char *path, const char *html);

#endif
