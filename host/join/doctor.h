/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows-host doctor: the box and clock that the host reaches, and the measurements it permits. */
#ifndef HOST_JOIN_DOCTOR_H
#define HOST_JOIN_DOCTOR_H

extern const char doctor_usage[], doctor_help[];
/* argv[0] is "doctor". Returns the exit status. */
int doctor_run(int argc, char **argv);

#endif
