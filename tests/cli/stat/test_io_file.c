/* SPDX-License-Identifier: BSD-3-Clause */
/* io-model output: the layouts, what is no operation, and what is rejected. */
#include "cli/stat/io_file.h"

#include "tests/check.h"
#include "narrows/err.h"

static int
parse(const char *text, bool keep_last, struct io_file *f)
{
	return io_file_parse(text, strlen(text), keep_last, f);
}

static void
test_operations(void)
{
	static const char old[] =
	    "start_time, duration, "
	    "\r\n0.1,1e-6\r\n0.2,0.000002000000\r\nrubbish\r\n0.3,-1\r\n0.4,0\r\n0.5,0.01";
	static const char own[] = "start_time,duration,size,offset,op,error\n0,1e-6,512,0,read,"
				  "0\n1,2e-6,512,512,read,0\n2,3,,,sync,0\n";
	struct io_file f;

	CHECK_INT(parse(old, false, &f), NW_OK);
	CHECK(f.layout == IO_FILE_OPERATIONS && f.n == 3 && f.n_rows == 5 && f.n_rejected == 1 &&
	    f.n_negative == 1);
	CHECK(f.sync_s == 0.01 && f.duration_s[2] == 0 && f.start_s[2] == 0.4 &&
	    f.size_bytes == NULL);
	io_file_clear(&f);
	CHECK_INT(parse(old, true, &f), NW_OK);
	CHECK(f.n == 4 && isnan(f.sync_s) && f.n_columns == 2);
	io_file_clear(&f);
	CHECK_INT(parse(own, false, &f), NW_OK);
	CHECK(f.n == 2 && f.sync_s == 3 && f.size_bytes[1] == 512 && f.offset_bytes[1] == 512 &&
	    f.n_offsets == 2);
	io_file_clear(&f);
	CHECK_INT(parse("start_time,duration\n", false, &f), NW_OK);
	CHECK(f.n == 0 && f.n_rows == 0 && isnan(f.sync_s));
	io_file_clear(&f);
}

static void
test_text(void)
{
	static const char text[] =
	    "Mon 1 Jan\nsome statistics\n./io-model file:x-0 memBuffer:64 accessSize:1024 "
	    "localityMem:0-0-0 "
	    "localityFile:4-8388608-0 isRead:1 programversion:4361c22\nTimes per operation: "
	    "0.000001, 0.000002, oops, -1, 3e-6,\n"
	    "Offset per operation: 0, 1024, 2048\n";
	static const char statistics[] =
	    "start_time,self_rchar:,blockdev_read I/Os\n0.1,5,6\n0.2,7\nbad\n";
	struct io_file f;

	CHECK_INT(parse(text, false, &f), NW_OK);
	CHECK(f.layout == IO_FILE_TEXT && f.n == 3 && f.n_rejected == 1 && f.n_negative == 1 &&
	    f.n_offsets == 3);
	CHECK(f.duration_s[2] == 3e-6 && f.offset_bytes[2] == 2048);
	CHECK(io_file_param(&f, "accessSize") == 1024 && io_file_param(&f, "isRead") == 1);
	CHECK(isnan(io_file_param(&f, "programversion")) && isnan(io_file_param(&f, "file")));
	CHECK(f.n_locality == 6 && f.locality[3] == 4 && f.locality[4] == 8388608);
	io_file_clear(&f);
	CHECK_INT(parse(statistics, false, &f), NW_OK);
	CHECK(f.layout == IO_FILE_STATISTICS && f.n_columns == 3 && f.n_rows == 2 &&
	    f.n_rejected == 1);
	io_file_clear(&f);
	CHECK_INT(parse("duration\n1\n", false, &f), NW_EPROTO);
	CHECK_INT(parse("", false, &f), NW_EPROTO);
	io_file_clear(&f);
}

static void
test_names(void)
{
	struct io_file f = { 0 };

	CHECK(io_file_params_from_name(
	    &f, "out/cached-test_1024_10240_10000_0_4096_off0_seq_0_1_0_R_3_1-1.txt"));
	CHECK(
	    io_file_param(&f, "accessSize") == 4096 && io_file_param(&f, "fileSizeInMiB") == 10240);
	f.n_params = 0;
	CHECK(!io_file_params_from_name(&f, "out-0.csv") &&
	    !io_file_params_from_name(&f, "a_b_c/x_1_2.txt") && f.n_params == 0);
}

int
main(void)
{
	test_operations();
	test_text();
	test_names();
	return check_done("io_file");
}
