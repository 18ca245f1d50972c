/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nwrun --wait: nwrun stays as the program's parent, passes signals and the status on, and prints
 * the verdict. The child goes on as nwrun does without --wait.
 */
#ifndef HOST_NWRUN_WAIT_H
#define HOST_NWRUN_WAIT_H

#include <stdbool.h>

/*
 * Forks. In the child, and in the parent when no child could be made, returns false; the child's
 * *verdict_fd is then where the verdict goes. In the parent returns true when the program has ended
 * and the verdict is printed; *status is nwrun's own. Of a program that a signal ended, nwrun ends
 * by the same signal.
 */
bool wait_begin(int *verdict_fd, int *status);

#endif
