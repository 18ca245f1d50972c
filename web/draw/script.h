/* SPDX-License-Identifier: BSD-3-Clause */
/* The one script of the pages, web/draw/narrows.js, as a constant. Pages are complete without. */
#ifndef NARROWS_WEB_SCRIPT_H
#define NARROWS_WEB_SCRIPT_H

extern const char script_js[]; /* ends with a zero byte */

#endif
