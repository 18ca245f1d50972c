/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows-host doctor: what this host reaches, and what may be measured here. */
#ifndef HOST_JOIN_DOCTOR_H
#define HOST_JOIN_DOCTOR_H

extern const char doctor_usage[], doctor_help[];
/* argv[0] is "doctor". Returns the exit status. */
int doctor_run(int argc, char **argv);

#endif
