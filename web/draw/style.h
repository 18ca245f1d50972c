/* SPDX-License-Identifier: BSD-3-Clause */
/* Style sheet and icon of the pages: constants, served once and kept by the browser. */
#ifndef NARROWS_WEB_STYLE_H
#define NARROWS_WEB_STYLE_H

extern const char style_css[];
extern const char style_icon_svg[];

#endif
