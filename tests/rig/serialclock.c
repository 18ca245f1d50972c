/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serialclock DEVICE: answers each byte of a serial line with the time of this machine's clock, as
 * 20 digits of nanoseconds and a newline. A machine at the other end that notes when the byte went
 * out and when the answer came knows this clock between two bounds, whatever the network does.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct termios raw;
	struct timespec now;
	char byte, text[32];
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_NOCTTY) : -1, n;

	if (fd < 0 || tcgetattr(fd, &raw) < 0)
		return 1;
	cfmakeraw(&raw);
	(void)cfsetspeed(&raw, B115200); /* slower lines hold a byte back for longer */
	if (tcsetattr(fd, TCSANOW, &raw) < 0)
		return 1;
	while (read(fd, &byte, 1) == 1) {
		clock_gettime(CLOCK_REALTIME, &now);
		n = snprintf(text, sizeof(text), "%020" PRId64 "\n",
		    (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
		if (write(fd, text, (size_t)n) != n)
			return 1;
	}
	return 0;
}
