/* SPDX-License-Identifier: BSD-3-Clause */
/* An owner with much on the way to the store is full, until the store has it; no other owner is. */
#include "daemon/commit.h"

#include "tests/daemon/boxed.h"

static void
full_are(bool a, bool b)
{
	CHECK_INT(commit_is_owner_full(box.commit, "host:a"), a);
	CHECK_INT(commit_is_owner_full(box.commit, "host:b"), b);
}

int
main(void)
{
	int i;

	boxed_begin();
	full_are(false, false);
	for (i = 0; i < 1024; i++) {
		full_are(false, false);
		commit_charge(box.commit, "host:a", 1024);
		commit_charge(box.commit, "host:b", i % 2);
	}
	full_are(true, false);
	commit_flush(box.commit);
	commit_charge(box.commit, "host:a", 0); /* in the next batch */
	commit_charge(box.commit, "host:b", 2 << 20);
	full_are(true, true); /* nothing is known to be stored yet */
	CHECK_INT(store_sync(box.store), NW_OK);
	store_run_completions(box.store);
	full_are(false, true);
	commit_drain(box.commit);
	full_are(false, false);
	boxed_end();
	return check_done("commit");
}
