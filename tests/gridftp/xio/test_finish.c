/* SPDX-License-Identifier: BSD-3-Clause */
/* The file transport of the toolkit tells when a read and a write end, on the thread that asked,
 * and moves the same bytes. */
#include "gridftp/xio/finish.h"

#include <globus_xio.h>
#include <globus_xio_file_driver.h>
#include <string.h>
#include <unistd.h>

#include "narrows/caliper.h"
#include "tests/check.h"

/* The toolkit frees neither its search paths nor its file driver. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
	return "leak:libglobus_common\nleak:globus_xio_driver_init\n";
}

static globus_xio_handle_t
open_file(globus_xio_driver_t file, const char *path)
{
	globus_xio_stack_t stack;
	globus_xio_handle_t handle;

	CHECK(globus_xio_stack_init(&stack, NULL) == GLOBUS_SUCCESS);
	CHECK(globus_xio_stack_push_driver(stack, file) == GLOBUS_SUCCESS);
	CHECK(globus_xio_handle_create(&handle, stack) == GLOBUS_SUCCESS);
	CHECK(globus_xio_open(handle, path, NULL) == GLOBUS_SUCCESS);
	globus_xio_stack_destroy(stack);
	return handle;
}

static void
seek(globus_xio_handle_t handle, globus_xio_driver_t file, globus_off_t offset)
{
	CHECK(globus_xio_handle_cntl(handle, file, GLOBUS_XIO_FILE_SEEK, &offset,
		  GLOBUS_XIO_FILE_SEEK_SET) == GLOBUS_SUCCESS);
}

/* Reads, then writes the bytes back, each without a wait. Returns the bytes of both. */
static size_t
read_and_write(globus_xio_handle_t handle, const char *want)
{
	globus_byte_t text[6] = "";
	globus_size_t got = 0, put = 0;

	CHECK(globus_xio_read(handle, text, 5, 0, &got, NULL) == GLOBUS_SUCCESS);
	CHECK(strcmp((char *)text, want) == 0);
	CHECK(globus_xio_write(handle, text, got, 0, &put, NULL) == GLOBUS_SUCCESS);
	return got + put;
}

int
main(void)
{
	char path[] = "/tmp/test_finish.XXXXXX", text[21] = "";
	int fd = mkstemp(path);
	globus_xio_driver_t file;
	globus_xio_handle_t handle;
	_Atomic int64_t end = 0, inner = 0;
	int64_t before;

	CHECK(fd >= 0 && write(fd, "abcdefghij", 10) == 10);
	CHECK(globus_module_activate(GLOBUS_XIO_MODULE) == GLOBUS_SUCCESS);
	CHECK(globus_xio_driver_load("file", &file) == GLOBUS_SUCCESS);
	handle = open_file(file, path);

	CHECK(finish_expect(&end) == NULL); /* nothing is told before the watch begins */
	CHECK_INT(read_and_write(handle, "abcde"), 10);
	CHECK_INT(end, 0);
	CHECK(finish_watch());
	CHECK(finish_watch());

	seek(handle, file, 0);
	before = nw_caliper_now();
	CHECK_INT(read_and_write(handle, "abcde"), 10);
	CHECK(end >= before && end <= nw_caliper_now());
	before = end;
	CHECK(finish_expect(&inner) == &end);
	seek(handle, file, 5);
	CHECK_INT(read_and_write(handle, "abcde"), 10);
	CHECK(inner > before && end == before);
	before = inner;
	seek(handle, file, 10);
	CHECK_INT(read_and_write(handle, "abcde"), 10);
	CHECK_INT(inner, before); /* the first end stays */
	CHECK(finish_expect(NULL) == &inner);

	globus_xio_close(handle, NULL);
	CHECK(pread(fd, text, 20, 0) == 20);
	CHECK_STR(text, "abcdeabcdeabcdeabcde");
	unlink(path);
	close(fd);
	globus_module_deactivate_all();
	return check_done("test_finish");
}
