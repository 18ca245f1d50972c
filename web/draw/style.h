/* SPDX-License-Identifier: BSD-3-Clause */
/* Style sheets and icon: constants; those of the pages are served once and kept by the browser. */
#ifndef NARROWS_WEB_STYLE_H
#define NARROWS_WEB_STYLE_H

/* The lines of plots, as X(number, colour on a light page, dash pattern). */
/* clang-format off */
#define STYLE_LINES(X) \
	X(0, "#0072b2", "none") \
	X(1, "#00805e", "7 4") \
	X(2, "#c44e00", "none") \
	X(3, "#a64d88", "2 4") \
	X(4, "#8a6a00", "10 4 2 4") \
	X(5, "#3d4a57", "none") \
	X(6, "#2a93c9", "5 4") \
	X(7, "#7a4b2a", "none")
/* clang-format on */

extern const char style_css[];
extern const char style_drawing_css[]; /* of a drawing that is a file by itself, always light */
extern const char style_icon_svg[];

#endif
