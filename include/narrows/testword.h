/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an active test of a path says of a transfer over the same path near in time. Pure.
 * tests/calibrate/activetests.c simulates the thresholds: the threshold of room bounds how often
 * room is claimed for a path with a rate that wanders between transfer and test.
 */
#ifndef NARROWS_TESTWORD_H
#define NARROWS_TESTWORD_H

#include <math.h>

/* A test speaks for the time of the session if the two are no further apart. */
#define NW_TEST_NEAR_S 900.0
/* The test had room beside the transfer's rate; its rate was that of the transfer. */
#define NW_TEST_ROOM       1.5
#define NW_TEST_ALIKE_LOW  0.8
#define NW_TEST_ALIKE_HIGH 1.25

enum nw_test_word { NW_TEST_SAYS_NOTHING, NW_TEST_SAYS_ALIKE, NW_TEST_SAYS_ROOM };

/* ratio: the test's rate over the transfer's rate; NaN says nothing. */
static inline enum nw_test_word
nw_test_word(double ratio, double apart_s)
{
	if (!(apart_s <= NW_TEST_NEAR_S) || !isfinite(ratio))
		return NW_TEST_SAYS_NOTHING;
	return ratio >= NW_TEST_ROOM                                    ? NW_TEST_SAYS_ROOM
	    : ratio >= NW_TEST_ALIKE_LOW && ratio <= NW_TEST_ALIKE_HIGH ? NW_TEST_SAYS_ALIKE
									: NW_TEST_SAYS_NOTHING;
}

#endif
