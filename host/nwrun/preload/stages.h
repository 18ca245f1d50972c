/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Names of stages and waits that programs, collector and kernel share. */
#ifndef HOST_STAGES_H
#define HOST_STAGES_H

/*
 * Direction is the lowest bit; the stages that calipers report come first. Of pipes and local
 * sockets, behind which there is a neighbour, only bytes and time are kept.
 */
enum nwshm_stage {
	NWSHM_DISK_READ,
	NWSHM_DISK_WRITE,
	NWSHM_NET_READ,
	NWSHM_NET_WRITE,
	NWSHM_LANES,
	NWSHM_PIPE_READ = NWSHM_LANES,
	NWSHM_PIPE_WRITE,
	NWSHM_TIMED,
	NWSHM_OTHER_READ = NWSHM_TIMED,
	NWSHM_OTHER_WRITE,
	NWSHM_NO_STAGE = 15
};
enum nwshm_dir { NWSHM_READ, NWSHM_WRITE };
/* The purpose of a wait; the direction is the lowest bit, too. A pause is a wait that the program's
 * own time ends. */
enum nwshm_wait {
	NWSHM_WAIT_READ,
	NWSHM_WAIT_WRITE,
	NWSHM_WAIT_PIPE_READ,
	NWSHM_WAIT_PIPE_WRITE,
	NWSHM_WAIT_OTHER,
	NWSHM_WAIT_PAUSE,
	NWSHM_WAITS
};
/* A reader that emptied its socket and then pauses for at most this time waits for the network: it
 * asks at times of its own instead of watching the socket, and what comes in that time fills no
 * window. */
#define NWSHM_PATROL_NS 20000000

#endif
