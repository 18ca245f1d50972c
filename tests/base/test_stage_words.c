/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that documents carry stay the same, whatever the order of the list. */
#include <stddef.h>

#include "narrows/stage_words.h"
#include "tests/check.h"

static const struct {
	enum nw_stage_kind kind;
	const char *name, *words;
} stages[] = {
	{ NW_STAGE_DISK_READ, "disk.read", "disk read" },
	{ NW_STAGE_STORAGE_READ, "storage.read", "storage read" },
	{ NW_STAGE_SENDER_HOST, "sender.host", "sending program" },
	{ NW_STAGE_NET_WRITE, "net.write", "network send" },
	{ NW_STAGE_NETWORK, "network", "network path" },
	{ NW_STAGE_NET_READ, "net.read", "network receive" },
	{ NW_STAGE_RECEIVER_HOST, "receiver.host", "receiving program" },
	{ NW_STAGE_HOST, "host", "program" },
	{ NW_STAGE_DISK_WRITE, "disk.write", "disk write" },
	{ NW_STAGE_STORAGE_WRITE, "storage.write", "storage write" },
};

static void
test_stages(void)
{
	enum nw_stage_kind found = NW_STAGE_COUNT;
	size_t i;

	CHECK_INT(sizeof(stages) / sizeof(stages[0]), NW_STAGE_COUNT);
	for (i = 0; i < NW_STAGE_COUNT; i++) {
		CHECK_STR(nw_stage_kind_name(stages[i].kind), stages[i].name);
		CHECK_STR(nw_stage_kind_words(stages[i].kind), stages[i].words);
		CHECK_STR(nw_says_name(nw_says_stage(stages[i].kind)), stages[i].name);
		CHECK(nw_stage_kind_find(stages[i].name, &found));
		CHECK_INT(found, stages[i].kind);
	}
	CHECK(!nw_stage_kind_find("disk", &found));
	CHECK(!nw_stage_kind_find(NULL, &found));
}

static void
test_operations(void)
{
	CHECK_STR(nw_op_name(NW_OP_DISK_READ), "disk.read");
	CHECK_STR(nw_op_name(NW_OP_NET_WRITE), "net.write");
	CHECK_STR(nw_op_name(NW_OP_NET_READ), "net.read");
	CHECK_STR(nw_op_name(NW_OP_DISK_WRITE), "disk.write");
}

static void
test_witnesses(void)
{
	CHECK(nw_says_name(NW_SAYS_NOTHING) == NULL);
	CHECK_STR(nw_says_name(NW_SAYS_SENDING_END), "the sending end");
	CHECK_STR(nw_says_name(NW_SAYS_BEYOND_SENDER), "the network or the receiving end");
	CHECK_STR(nw_says_name(NW_SAYS_RECEIVING_END), "the receiving end");
	CHECK_STR(nw_says_name(NW_SAYS_DISK), "disk");
	CHECK_STR(nw_says_name(NW_SAYS_PROCESSOR), "processor");
	CHECK_STR(nw_witness_name(NW_WITNESS_CALIPERS), "calipers");
	CHECK_STR(nw_witness_name(NW_WITNESS_TCP), "tcp");
	CHECK_STR(nw_witness_name(NW_WITNESS_KERNEL), "kernel");
	CHECK_STR(nw_witness_name(NW_WITNESS_DISK), "disk");
	CHECK_STR(nw_witness_name(NW_WITNESS_CPU), "host cpu");
	CHECK_STR(nw_witness_name(NW_WITNESS_SWITCH), "switch");
	CHECK_STR(nw_witness_name(NW_WITNESS_ACTIVE_TEST), "active test");
	CHECK_STR(nw_witness_name(NW_WITNESS_PER_CALL), "per call");
}

int
main(void)
{
	test_stages();
	test_operations();
	test_witnesses();
	return check_done("stage_words");
}
