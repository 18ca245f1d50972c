/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NARROWS_WEB_FLAT_H
#define NARROWS_WEB_FLAT_H

/* {"sport":1,"dport":2} as sport=1;dport=2. Text that is no JSON object stays as it is. The caller
 * frees the result; NULL: no memory. */
char *flat_text(const char *json);

#endif
