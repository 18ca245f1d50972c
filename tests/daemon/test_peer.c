/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections over socket pairs: the opening exchange, answers, and messages cut in pieces with the
 * end of the exchange right behind them. */
#include "narrows/doc.h"
#include "tests/daemon/boxed.h"

enum { BIG = 10000, ANSWER_BYTES = 1 << 16, ADDRESS_MAX = 3 };

static const uint8_t sess_id[NW_SESS_ID_BYTES] = "a session's id";

struct bytes {
	uint8_t *data;
	size_t len;
};

static uint8_t *
bytes_grow(struct bytes *b, size_t len)
{
	b->data = realloc(b->data, b->len + len);
	b->len += len;
	return b->data + b->len - len;
}

static void
frame_add(struct bytes *b, uint16_t type, uint16_t block_type, const void *data, size_t len)
{
	struct nw_block block = { .type = block_type, .data = data, .len = len };
	uint16_t n = data != NULL;
	long size = nw_frame_write(NULL, 0, 1, type, sess_id, &block, n);

	nw_frame_write(bytes_grow(b, (size_t)size), (size_t)size, 1, type, sess_id, &block, n);
}

static void
opening_add(struct bytes *b)
{
	uint8_t hop[20];

	frame_add(b, NW_MSG_AUTH_TYPE, NW_BLOCK_AUTH_TYP, "ANON\0\0\0\0\0", 10);
	nw_open_write(hop, sess_id);
	frame_add(b, NW_MSG_SESS_OPEN, NW_BLOCK_HOP, hop, sizeof(hop));
}

static void
hello_add(struct bytes *b, const char *provider, int64_t first_seq)
{
	struct nw_kv kv[] = { { "provider", NW_KV_TEXT, { .text = provider } },
		{ "first_seq", NW_KV_INT, { .i = first_seq } } };
	struct nw_doc_buf doc = { 0 };

	CHECK_INT(nw_kv_encode(&doc, kv, 2), NW_OK);
	frame_add(b, NW_MSG_APP_DATA, NW_OPT_HELLO, doc.data, doc.len);
	nw_doc_buf_clear(&doc);
}

/* Types of the messages that the box has answered with since the last call; false in *open once the
 * box has ended its side. */
static size_t
answers(int fd, uint16_t types[8], bool *open)
{
	static uint8_t buf[ANSWER_BYTES];
	size_t at = 0, n = 0, need;
	struct nw_frame f;
	const char *why;
	ssize_t len = recv(fd, buf, sizeof(buf), 0);

	*open = len != 0;
	while (len > 0 && at < (size_t)len && n < 8 &&
	    nw_frame_parse(buf + at, (size_t)len - at, &nw_frame_limits_default, &f, &need, &why) ==
		NW_OK) {
		types[n++] = f.type;
		at += f.len;
	}
	if (len > 0 && recv(fd, buf, sizeof(buf), MSG_PEEK) == 0)
		*open = false;
	return n;
}

static void
put(int fd, const uint8_t *data, size_t len)
{
	CHECK_INT(send(fd, data, len, MSG_NOSIGNAL), len);
	boxed_run();
}

/* The box lives, and takes another session. */
static void
check_alive(void)
{
	struct bytes b = { 0 };
	uint16_t types[8];
	bool open;
	int fd = boxed_connect(0x7f000002, 99);

	opening_add(&b);
	put(fd, b.data, b.len);
	CHECK(answers(fd, types, &open) == 1 && types[0] == NW_MSG_SESS_ACK && open);
	close(fd);
	boxed_run();
	free(b.data);
}

static void
test_exchange(void)
{
	struct bytes b = { 0 };
	uint16_t types[8];
	size_t i, n;
	bool open;
	int fd = boxed_connect(0x7f000001, 1);

	opening_add(&b);
	frame_add(&b, NW_MSG_PING, 0, NULL, 0);
	frame_add(&b, NW_MSG_NET_PATH, 0, NULL, 0);
	for (i = 0; i < b.len; i++)
		put(fd, b.data + i, 1);
	n = answers(fd, types, &open);
	CHECK(n == 3 && open && types[0] == NW_MSG_SESS_ACK && types[1] == NW_MSG_PONG &&
	    types[2] == NW_MSG_SESS_NACK);
	CHECK_INT(counter_get(&box.counters.xsp_sessions_open), 1);
	b.len = 0;
	frame_add(&b, NW_MSG_SESS_CLOSE, 0, NULL, 0);
	put(fd, b.data, b.len);
	CHECK(answers(fd, types, &open) == 0 && !open);
	CHECK_INT(counter_get(&box.counters.xsp_sessions_open), 0);
	close(fd);
	boxed_run();
	CHECK_INT(counter_get(&box.counters.connections), 0);
	free(b.data);
}

enum ending { END_CLOSE, END_UNKNOWN_MESSAGE, END_BAD_HELLO, END_GARBAGE, N_ENDINGS };

static void
ending_add(struct bytes *b, enum ending ending)
{
	static const uint8_t garbage[200] = { 9, 9, 9 };

	switch (ending) {
	case END_CLOSE: frame_add(b, NW_MSG_SESS_CLOSE, 0, NULL, 0); break;
	case END_UNKNOWN_MESSAGE: frame_add(b, 77, 0, NULL, 0); break;
	case END_BAD_HELLO: hello_add(b, "p", 0); break;
	default: memcpy(bytes_grow(b, sizeof(garbage)), garbage, sizeof(garbage));
	}
}

/*
 * A long message, cut so that most of it is pending when the rest arrives in one read with what
 * ends the exchange. The pending length once wrapped, and the box asked for 2^64 bytes.
 */
static void
test_end_behind_long_message(void)
{
	static const uint8_t zeros[BIG];
	static const size_t missing[] = { 1, 8, 100, 1000, 3000, 5000 };
	uint16_t types[8];
	size_t i, e, cut;
	bool open;
	int fd;

	for (e = 0; e < N_ENDINGS; e++)
		for (i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
			struct bytes b = { 0 };

			opening_add(&b);
			frame_add(&b, NW_MSG_APP_DATA, 0x99, zeros, BIG);
			cut = b.len - missing[i];
			ending_add(&b, (enum ending)e);
			frame_add(&b, NW_MSG_PING, 0, NULL, 0); /* ignored behind the end */
			fd = boxed_connect(0x7f000001, 2);
			put(fd, b.data, cut);
			put(fd, b.data + cut, b.len - cut);
			CHECK(
			    answers(fd, types, &open) >= 1 && types[0] == NW_MSG_SESS_ACK && !open);
			close(fd);
			boxed_run();
			CHECK_INT(counter_get(&box.counters.connections), 0);
			check_alive();
			free(b.data);
		}
}

/* Whether the box says that it takes joined documents; it must take what it says. */
static bool
is_joining(void)
{
	static uint8_t buf[ANSWER_BYTES];
	const uint8_t document[] = { 5, 0, 0, 0, 0 };
	struct nw_block block = { .type = 0x99, .data = document, .len = sizeof(document) };
	struct bytes b = { 0 };
	uint16_t types[8];
	size_t at, i;
	ssize_t len;
	bool said, open;
	int fd = boxed_connect(0x7f000003, 1);

	opening_add(&b);
	hello_add(&b, "joiner", 1);
	put(fd, b.data, b.len);
	len = recv(fd, buf, sizeof(buf), 0);
	said = len > 0 && memmem(buf, (size_t)len, " blocks", sizeof(" blocks")) != NULL;
	CHECK(len > 0 && memmem(buf, (size_t)len, "stored", sizeof("stored")) != NULL);
	if (said) {
		b.len = 0;
		frame_add(&b, NW_MSG_APP_DATA, 0x99, document, sizeof(document));
		for (i = 1; i < NW_FRAME_JOINED_BLOCKS; i++) {
			at = (size_t)nw_frame_append(NULL, b.len, 0, &block) - b.len;
			bytes_grow(&b, at);
			nw_frame_append(b.data, b.len - at, b.len, &block);
		}
		put(fd, b.data, b.len);
		b.len = 0;
		frame_add(&b, NW_MSG_PING, 0, NULL, 0);
		put(fd, b.data, b.len);
		CHECK(answers(fd, types, &open) == 1 && types[0] == NW_MSG_PONG && open);
	}
	close(fd);
	boxed_run();
	free(b.data);
	return said;
}

static void
test_joining(void)
{
	const struct nw_frame_limits usual = box.limits;

	CHECK(is_joining());
	box.limits.blocks_max = NW_FRAME_JOINED_BLOCKS;
	box.limits.message_max_bytes = NW_FRAME_JOINED_BYTES;
	CHECK(is_joining());
	box.limits.blocks_max--;
	CHECK(!is_joining());
	box.limits = usual;
	box.limits.message_max_bytes = NW_FRAME_JOINED_BYTES - 1;
	CHECK(!is_joining());
	box.limits = usual;
}

static void
test_limits(void)
{
	uint64_t refused = counter_get(&box.counters.connections_refused),
		 evicted = counter_get(&box.counters.connections_evicted);
	struct bytes b = { 0 };
	uint16_t types[8];
	bool open;
	int fd[40], i;

	/* silent connections make room for others, the oldest first */
	opening_add(&b);
	for (i = 0; i < 40; i++)
		fd[i] = boxed_connect(0x7f000001 + (uint32_t)i / 20, (uint16_t)(10 + i));
	CHECK_INT(counter_get(&box.counters.connections), 2 * ADDRESS_MAX);
	CHECK_INT(counter_get(&box.counters.connections_evicted) - evicted, 40 - 2 * ADDRESS_MAX);
	check_alive();
	for (i = 17; i < 20; i++) { /* the newest of the address are still there, and open */
		put(fd[i], b.data, b.len);
		CHECK(answers(fd[i], types, &open) == 1 && types[0] == NW_MSG_SESS_ACK && open);
	}
	/* open sessions of the address leave no room */
	close(boxed_connect(0x7f000001, 99));
	CHECK_INT(counter_get(&box.counters.connections_refused) - refused, 1);
	for (i = 0; i < 40; i++)
		close(fd[i]);
	boxed_run();
	CHECK_INT(counter_get(&box.counters.connections), 0);
	free(b.data);
}

/* Unfinished messages of many connections: above the budget, the largest is closed first. */
static void
test_memory(void)
{
	enum { CONNECTIONS = 30, PIECE = 1 << 20 };
	static uint8_t zeros[4 << 20];
	uint64_t evicted = counter_get(&box.counters.connections_evicted);
	int fd[CONNECTIONS], i;
	size_t at;

	for (i = 0; i < CONNECTIONS; i++) {
		struct bytes b = { 0 };

		opening_add(&b);
		frame_add(&b, NW_MSG_APP_DATA, 0x99, zeros, PIECE - 1000);
		fd[i] = boxed_connect(0x7f000001 + (uint32_t)i, 1);
		for (at = 0; at < b.len - 1;) {
			ssize_t n = send(fd[i], b.data + at, b.len - 1 - at, MSG_NOSIGNAL);

			if (n < 0)
				break;
			at += (size_t)n;
			boxed_run();
		}
		CHECK(box.memory_bytes <= boxed_conf.max_memory_bytes);
		free(b.data);
	}
	CHECK(counter_get(&box.counters.connections_evicted) - evicted >= 15);
	CHECK(counter_get(&box.counters.connections) >= 5);
	check_alive();
	for (i = 0; i < CONNECTIONS; i++)
		close(fd[i]);
	boxed_run();
	CHECK(box.peers == NULL);
	while (origin_forget_oldest(&box))
		continue;
	CHECK_INT(box.memory_bytes, 0);
}

int
main(void)
{
	log_open("test_peer", false, false);
	conf_init(&boxed_conf);
	boxed_conf.max_connections_per_address = ADDRESS_MAX;
	boxed_conf.max_memory_bytes = 16 << 20;
	boxed_begin();
	test_exchange();
	test_end_behind_long_message();
	test_joining();
	test_limits();
	test_memory();
	boxed_end();
	return check_done("test_peer");
}
