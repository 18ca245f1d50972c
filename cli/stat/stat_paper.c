/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/stat/stat_paper.h"

#include <math.h>

const struct paper_column paper_columns_1[PAPER_COLUMNS_1] = { { "1", 1, false },
	{ "1K", 1024, false }, { "4K", 4096, false }, { "64K", 65536, false },
	{ "256K", 262144, false }, { "1M", 1 << 20, false }, { "16M", 16 << 20, false },
	{ "4K with outliers", 4096, true }, { "256K with outliers", 262144, true } };

const struct paper_throughput paper_table_1[] = {
	{ "1a", "R-off0", "cached", "read", "off0",
	    { 146e3, 139e6, 478e6, 4.2e9, 5.9e9, 7.2e9, 4.8e9, 408e6, 5.5e9 } },
	{ "1a", "R-seq", "cached", "read", "seq",
	    { 146e3, 108e6, 403e6, 1.1e9, 1.1e9, 1.2e9, 1.1e9, 204e6, 1090e6 } },
	{ "1a", "R-rnd", "cached", "read", "rnd",
	    { 1.2e3, 608e3, 557e3, 14e6, 33e6, 117e6, 586e6, 5.1e6, 80.9e6 } },
	{ "1a", "R-rnd8MiB", "cached", "read", "rnd8388608",
	    { 17e3, 653e3, 970e3, 425e6, 2.4e9, 6.4e9, 4.4e9, 7.5e6, 1.2e9 } },
	{ "1a", "R-stride8,8M", "cached", "read", "stride8388608,8388608",
	    { 3.5e3, 164e3, 491e3, 14e6, 40e6, 133e6, 797e6, 4.4e6, 79e6 } },
	{ "1a", "R-reverse", "cached", "read", "reverse0",
	    { 144e3, 962e3, 2.0e6, 28e6, 56e6, 337e6, 851e6, 15.1e6, 95.5e6 } },
	{ "1a", "W-off0", "cached", "write", "off0",
	    { 120e3, 115e6, 419e6, 2.2e9, 2.6e9, 2.9e9, 263e6, 236e6, 2.3e9 } },
	{ "1a", "W-seq", "cached", "write", "seq",
	    { 121e3, 103e6, 287e6, 1e9, 1e9, 1e9, 948e6, 171e6, 925e6 } },
	{ "1a", "W-rnd", "cached", "write", "rnd",
	    { 4.1e3, 3.5e6, 9.3e6, 135e6, 341e6, 582e6, 809e6, 4e6, 128e6 } },
	{ "1a", "W-rnd8MiB", "cached", "write", "rnd8388608",
	    { 4.7e3, 4.2e6, 12e6, 243e6, 837e6, 63e6, 332e6, 5.8e6, 61e6 } },
	{ "1a", "W-stride8,8M", "cached", "write", "stride8388608,8388608",
	    { 4.2e3, 3.7e6, 11e6, 150e6, 381e6, 589e6, 835e6, 4.4e6, 185e6 } },
	{ "1a", "W-reverse", "cached", "write", "reverse0",
	    { 115e3, 19e6, 291e6, 990e6, 963e6, 1005e6, 976e6, 133e6, 883e6 } },
	{ "1b", "R-off0", "uncached", "read", "off0",
	    { 178e3, 172e6, 654e6, 4.6e9, 6.2e9, 7.1e9, 5.2e9, 612e6, 6.1e9 } },
	{ "1b", "R-seq", "uncached", "read", "seq",
	    { 169e3, 164e6, 550e6, 1.1e9, 1.2e9, 1.2e9, 1.1e9, 353e6, 1.1e9 } },
	{ "1b", "R-rnd", "uncached", "read", "rnd",
	    { 275, 240e3, 502e3, 5.6e6, 19e6, 134e6, 635e6, 515e3, 20e6 } },
	{ "1b", "R-rnd8MiB", "uncached", "read", "rnd8388608",
	    { 5.6e3, 366e3, 1.7e6, 34e6, 2.6e9, 6.7e9, 4.5e9, 2.3e6, 1020e6 } },
	{ "1b", "R-stride8,8M", "uncached", "read", "stride8388608,8388608",
	    { 274, 103e3, 393e3, 6.2e6, 20e6, 119e6, 736e6, 395e3, 20.6e6 } },
	{ "1b", "R-reverse", "uncached", "read", "reverse0",
	    { 172e3, 620e3, 746e3, 10e6, 27e6, 115e6, 780e6, 723e3, 26.2e6 } },
	{ 0 },
};

const struct paper_counters paper_table_2[] = {
	{ "W D off0", "discard", "write", "off0", 201, 40e3, 1.1e12 },
	{ "W C off0", "cached", "write", "off0", 201, 262e3, 2.6e9 },
	{ "W C seq", "cached", "write", "seq", 201, 262e3, 1e9 },
	{ "W C rnd", "cached", "write", "rnd", 201, 262e3, 341e6 },
	{ "W C rev", "cached", "write", "reverse0", 201, 262e3, 963e6 },
	{ "R D off0", "discard", "read", "off0", 201, 40e3, 14e9 },
	{ "R C off0", "cached", "read", "off0", 256e3, 40e3, 5.9e9 },
	{ "R C seq", "cached", "read", "seq", 256e3, 57e3, 1.1e9 },
	{ "R C rnd", "cached", "read", "rnd", 256e3, 58e3, 33e6 },
	{ "R C rev", "cached", "read", "reverse0", 256e3, 58e3, 56e6 },
	{ "R C rnd8,8", "cached", "read", "stride8388608,8388608", 256e3, 5, NAN },
	{ "R U off0", "uncached", "read", "off0", 256e3, 40e3, 6.2e9 },
	{ "R U seq", "uncached", "read", "seq", 256e3, 57e3, 1.2e9 },
	{ 0 },
};

const struct paper_model paper_table_3[] = {
	{ "discard R <= 4K off0", "discard", "read", "off0", false, 2.94e-07, 4.41e-11, 2.99e-08,
	    10.4, 0.7, 0.1 },
	{ "discard R > 4K off0", "discard", "read", "off0", true, 4.75e-07, 7.67e-11, 2.21e-05,
	    27.4, 2.1, 0.2 },
	{ "discard W <= 4K rnd", "discard", "write", "rnd", false, 3.28e-07, 2.25e-12, 3e-08, 10.1,
	    0.8, 0.1 },
	{ "discard W > 4K rnd", "discard", "write", "rnd", true, 3.37e-07, 2.94e-14, 1.47e-07, 53.5,
	    2.8, 0.0 },
	{ "cached R <= 4K off0", "cached", "read", "off0", false, 8e-06, 4.18e-10, 7.57e-07, 10.0,
	    3.1, 1.0 },
	{ "cached R > 4K off0", "cached", "read", "off0", true, 9.71e-06, 1.44e-10, 2.46e-05, 14.0,
	    1.8, 10.2 },
	{ "cached R <= 4K rnd", "cached", "read", "rnd", false, 8.39e-06, 4.91e-10, 7.97e-07, 10.1,
	    2.8, 0.9 },
	{ "cached R > 4K rnd", "cached", "read", "rnd", true, 1.04e-05, 2.99e-10, 9.7e-05, 15.5,
	    2.2, 0.1 },
	{ "cached W <= 4K off0", "cached", "write", "off0", false, 1e-05, 3.26e-10, 9.36e-07, 10.1,
	    1.6, 0.7 },
	{ "cached W > 4K off0", "cached", "write", "off0", true, 1.14e-05, 3.93e-10, 2.28e-05, 18.3,
	    1.2, 30.0 },
	{ "cached W <= 4K rnd", "cached", "write", "rnd", false, 1.11e-05, 7.16e-10, 1.97e-06, 18.4,
	    1.5, 5.0 },
	{ "cached W > 4K rnd", "cached", "write", "rnd", true, 1.4e-05, 5.87e-10, 3.28e-05, 23.6,
	    0.6, 26.0 },
	{ 0 },
};

const struct paper_classes paper_table_4[] = {
	{ "D-reverse-off0 R", "discard", "read", "reverse0", "off0", { 46, 54, 0.3, 0.03, 0.004 } },
	{ "C-off0-off0 R", "cached", "read", "off0", "off0", { 0, 34, 60, 6.1, 0.29 } },
	{ "C-seq-off0 R", "cached", "read", "seq", "off0", { 0, 0, 52, 47, 0.31 } },
	{ "C-seq-reverse R", "cached", "read", "seq", "reverse0", { 0, 0, 42, 4.3, 54 } },
	{ "C-seq-rnd8 R", "cached", "read", "seq", "rnd8388608", { 0, 0, 30, 44, 26 } },
	{ "C-seq-rnd R", "cached", "read", "seq", "rnd", { 0, 0, 26, 5.6, 68 } },
	{ "C-seq-seq R", "cached", "read", "seq", "seq", { 0, 0, 48, 9.5, 42 } },
	{ "C-seq-stride8,8 R", "cached", "read", "seq", "stride8388608,8388608",
	    { 0, 0, 28, 8.8, 63 } },
	{ "C-off0-rnd R", "cached", "read", "off0", "rnd", { 0, 2e-04, 18, 1.9, 80 } },
	{ "U-off0-rnd R", "uncached", "read", "off0", "rnd", { 0, 0, 0.01, 0.15, 100 } },
	{ "U-seq-seq R", "uncached", "read", "seq", "seq", { 0, 0, 57, 6.1, 37 } },
	{ "C-off0-rnd W", "cached", "write", "off0", "rnd", { 0, 0, 0, 0.003, 100 } },
	{ "C-off0-seq W", "cached", "write", "off0", "seq", { 0, 0, 40, 17, 42 } },
	{ "C-seq-seq W", "cached", "write", "seq", "seq", { 0, 0, 40, 12, 48 } },
	{ "C-off0-reverse W", "cached", "write", "off0", "reverse0", { 0, 0, 71, 14, 15 } },
	{ 0 },
};

/* --- Kissel et al. (2012) --- */

const struct paper_rate paper_rates[] = {
	{ "H_A", 0, 1, 11.2, 4.8, NAN },
	{ "H_A", 0, 4, 0.8, 8.8, NAN },
	{ "H_B", 0, 1, 0.9, 0.8, NAN },
	{ "H_B", 0, 4, 0.5, 0.8, NAN },
	{ "TCP", 0, 1, NAN, NAN, 9.5 },
	{ "TCP", 0, 4, NAN, NAN, 9.5 },
	{ "TCP", 100, 1, NAN, NAN, 8.0 },
	{ "TCP", 100, 4, NAN, NAN, 9.4 },
	{ "UDT", 0, 1, NAN, NAN, 4.1 },
	{ "UDT", 0, 4, NAN, NAN, 4.0 },
	{ "UDT", 100, 1, NAN, NAN, 0.8 },
	{ "UDT", 100, 4, NAN, NAN, 3.2 },
	{ 0 },
};

#define DISKS "disk to disk"
#define DISK  "memory to disk"
#define WAITS "a receive contains its wait for the sender's disk"
#define CACHE "writes end in the page cache, faster than the disk"
#define MIXED "one mean of two states; Figure 3 (d) shows the network"
#define EMPTY "UDT's reads hide the wait; the text says \"incorrect\""

const struct paper_transfer paper_transfers[] = {
	{ DISKS, "TCP", 1, 0, 0, "disk.read", NULL },
	{ DISKS, "TCP", 1, 100, 0, "network", WAITS },
	{ DISKS, "TCP", 1, 100, 1e-4, NULL, NULL },
	{ DISKS, "TCP", 4, 0, 0, "disk.read", NULL },
	{ DISKS, "TCP", 4, 100, 0, "network", WAITS },
	{ DISKS, "TCP", 4, 100, 1e-4, NULL, NULL },
	{ DISKS, "UDT", 1, 0, 0, "disk.read", NULL },
	{ DISKS, "UDT", 1, 100, 0, "disk.read", NULL },
	{ DISKS, "UDT", 1, 100, 1e-4, NULL, NULL },
	{ DISKS, "UDT", 4, 0, 0, "disk.read", NULL },
	{ DISKS, "UDT", 4, 100, 0, "disk.read", NULL },
	{ DISKS, "UDT", 4, 100, 1e-4, NULL, NULL },
	{ DISK, "TCP", 1, 0, 0, "network", CACHE },
	{ DISK, "TCP", 1, 100, 0, "network", CACHE },
	{ DISK, "TCP", 1, 100, 1e-4, "network", NULL },
	{ DISK, "TCP", 4, 0, 0, "disk.write", NULL },
	{ DISK, "TCP", 4, 100, 0, "disk.write", NULL },
	{ DISK, "TCP", 4, 100, 1e-4, "disk.write", MIXED },
	{ DISK, "UDT", 1, 0, 0, "network", NULL },
	{ DISK, "UDT", 1, 100, 0, "network", NULL },
	{ DISK, "UDT", 1, 100, 1e-4, "network", NULL },
	{ DISK, "UDT", 4, 0, 0, "network", NULL },
	{ DISK, "UDT", 4, 100, 0, "network", NULL },
	{ DISK, "UDT", 4, 100, 1e-4, "disk.write", EMPTY },
	{ 0 },
};
