/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows-host join: a host becomes a measured host of a box, wholly or not at all. */
#ifndef HOST_JOIN_ENLIST_H
#define HOST_JOIN_ENLIST_H

extern const char enlist_usage[], enlist_help[];
/* argv[0] is "join". Returns the exit status. */
int enlist_run(int argc, char **argv);

#endif
