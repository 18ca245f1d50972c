/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of the storage system. Integers are unsigned and big endian; times are nanoseconds
 * since 1970; "text" has its length before it; "[...]" repeats a count of 32 bits that stands
 * before.
 *
 * Three kinds of connections, each begun by the connecting end with HELLO {u16 version, u8 role}:
 *
 *   client to master, which carries names and requests, never data;
 *   master to server, where the master proves with CHALLENGE and PROOF that the owner of the disks
 *       has granted space to it;
 *   client to server, where the client shows the ticket that the master gave.
 *
 * Data go straight between client and server. A block is served or taken only after the master has
 * said so on its own connection, and only to the session that the ticket names.
 */
#ifndef NARROWS_DPSS_PROTO_H
#define NARROWS_DPSS_PROTO_H

#include <stdint.h>

enum {
	DPSS_VERSION = 1,
	DPSS_NAME_BYTES = 256,    /* of names, with their NUL */
	DPSS_BLOCK_MAX = 4 << 20, /* bytes of a block */
	DPSS_LIST_MAX = 65536,    /* blocks of a list */
	DPSS_SERVERS_MAX = 256,
	DPSS_MESSAGE_MAX = 16 << 20,           /* bytes of a message without data */
	DPSS_REQUEST_MAX = 32 * DPSS_LIST_MAX, /* of a message of a client to a master */
	DPSS_NONCE_BYTES = 16,
	DPSS_PING_MS = 300,   /* interval of a silent server's signs of life */
	DPSS_SILENCE_MS = 900 /* a server that is silent for so long is dead */
};

enum dpss_role { DPSS_CLIENT = 1, DPSS_MASTER = 2 };

enum dpss_message {
	/* any connection */
	DPSS_HELLO = 1, /* u16 version, u8 role */
	DPSS_FAILED =
	    2,         /* u16 code of NW_E* made positive, text: the request was not carried out */
	DPSS_DONE = 3, /* the request was carried out */
	DPSS_PING = 4,

	/* client to master */
	DPSS_CREATE = 16,  /* text name, u32 block_bytes, u64 bytes, the bytes of DPSS_LAYOUT */
	DPSS_OPEN = 17,    /* text name, u8 flags (enum dpss_open_flag) */
	DPSS_REQUEST = 18, /* u32 list, u64 t_app_send, u64 servers_left_out[4],
			    u8 flags (enum dpss_request_flag), [u64 logical] */
	DPSS_PLACE = 19,   /* [u64 logical, u32 server, u32 disk]: where blocks are to be written;
			      server and disk are wishes, or DPSS_ANY */
	DPSS_LIST = 20,
	DPSS_DROP = 21,  /* text name */
	DPSS_ALLOW = 22, /* text name, text user, u8 rights: 0 none, 1 read, 2 write too */
	DPSS_SERVERS = 23,
	DPSS_SERVER_ADD = 24,  /* text host, u16 port, text secret */
	DPSS_DRAIN = 25,       /* u32 server: no new blocks; the blocks there can be moved */
	DPSS_SEAL = 26,        /* u64 bytes: the open set is written, and so long */
	DPSS_RESUME = 27,      /* text name, u8 flags, u64 session, u64 key, u64 expiry, u32 server,
			     u8 mac[32]: an open set, under a master that was away; the ticket
			     for a server is the proof */
	DPSS_SERVER_DROP = 28, /* u32 server */
	DPSS_MOVE = 29,        /* u64 from: PLACED answers with new places of
			      copies that cannot stay */
	DPSS_DELIVER = 30,     /* u64 session, u64 key, [u64 logical]: blocks for another client */
	/* master to client */
	DPSS_OPENED =
	    32, /* u64 session, u64 key, u32 set, u32 block_bytes, u64 bytes, DPSS_LAYOUT bytes,
			     u64 expiry, text master,
			     [u32 server, text host, u16 port, u8 mac[32]] */
	DPSS_ABSENT = 33, /* u32 list, [u64 logical]: no living server has these blocks */
	DPSS_PLACED = 34, /* [u64 logical, u32 server, u32 disk, u64 slot] */
	DPSS_SETS =
	    35, /* [text name, u32 block_bytes, u64 bytes, u64 written, the bytes of DPSS_LAYOUT,
			     u64 blocks, text owner, u8 sealed] */
	DPSS_SERVER_LIST = 36, /* [u32 server, text host, u16 port, u8 state, u32 disks,
				  u64 slots, u64 used] */
	DPSS_JOINED = 37,      /* u32 server, text host, u16 port, u8 mac[32]: one that came since
				  the set was opened */

	/* master to server, after HELLO */
	DPSS_CHALLENGE = 48, /* server: u8 nonce[16] */
	DPSS_PROOF = 49,     /* master: text name, u8 mac[32] over nonce */
	DPSS_SPACE = 50,     /* server: u32 block_bytes, [u64 slots] of each disk */
	DPSS_READ =
	    51, /* u64 session, u32 set, u32 list, u8 flags (enum dpss_read_flag), u64 t_app_send,
			    t_master_in, t_master_out, [u64 logical, u32 disk, u64 slot] */
	DPSS_TAKE = 52, /* u64 session, u32 set, [u64 logical, u32 disk, u64 slot] */
	DPSS_END = 53,  /* u64 session: forget the session's rights */
	/* server to master */
	DPSS_STORED = 54,  /* [u32 set, u64 logical, u32 disk, u64 slot, u32 crc, u32 len] */
	DPSS_DAMAGED = 55, /* u32 set, u64 logical, u32 disk, u64 slot, u64 session, u32 list */

	/* client to server, after HELLO */
	DPSS_TICKET = 64, /* text master, u64 session, u32 set, u64 expiry, u8 mac[32],
			     u16 udp_port, u64 key: for blocks as packets (dpss/rtp.h), or 0 */
	DPSS_WRITE = 65,  /* u64 logical, u32 disk, u64 slot, u32 crc, u64 stamp; the data follow */
	/* server to client */
	DPSS_BLOCK =
	    80, /* u64 logical, u32 list, u32 crc, u64 stamp, u64 times[DPSS_TIMES]; the data
		   follow */
	DPSS_WRITTEN = 81, /* u64 logical, u32 disk, u64 slot, u16 code (0: on the disk) */
	DPSS_LACKING = 82  /* u64 logical, u32 list, u16 code: the block cannot be read here */
};

/* Careful: the server reads the block from the disk and checks the bytes. */
enum dpss_request_flag { DPSS_REQUEST_CAREFUL = 1 };
enum dpss_read_flag { DPSS_READ_FLUSH = 1, DPSS_READ_CAREFUL = 2 };
/* Move: by the operator, of any set; reading, and writing of what MOVE has placed. */
enum dpss_open_flag { DPSS_OPEN_WRITE = 1, DPSS_OPEN_FLUSH = 2, DPSS_OPEN_MOVE = 4 };
#define DPSS_ANY UINT32_MAX
enum dpss_server_state { DPSS_SERVER_AWAY, DPSS_SERVER_UP, DPSS_SERVER_DRAINING };

/* The points of Figure 5 of the paper, in the order of a block's path; the last two are stamped by
 * the client. */
enum dpss_point {
	DPSS_APP_SEND,
	DPSS_MASTER_IN,
	DPSS_MASTER_OUT,
	DPSS_SERV_IN,
	DPSS_START_READ,
	DPSS_END_READ,
	DPSS_START_WRITE,
	DPSS_TIMES, /* points; their times travel with a block */
	DPSS_APP_RECEIVE = DPSS_TIMES,
	DPSS_POINTS
};
enum { DPSS_BLOCK_HEAD_BYTES = 24 + 8 * DPSS_TIMES };
extern const char *const dpss_point_words[DPSS_POINTS];

#endif
