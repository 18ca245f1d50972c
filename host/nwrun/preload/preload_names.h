/* SPDX-License-Identifier: BSD-3-Clause */
/* Every function that nwrun.so replaces, as X(name). No include guard: included with
 * different X. */
/* clang-format off */
X(lseek) X(lseek64) X(read) X(pread) X(pread64) X(readv) X(preadv) X(preadv64) X(preadv2)
X(preadv64v2) X(write) X(pwrite) X(pwrite64) X(writev) X(pwritev) X(pwritev64) X(pwritev2)
X(pwritev64v2) X(__read_chk) X(__pread_chk) X(__pread64_chk) X(__recv_chk) X(__recvfrom_chk)
X(send) X(sendto) X(sendmsg) X(sendmmsg) X(recv) X(recvfrom) X(recvmsg) X(recvmmsg) X(sendfile)
X(sendfile64) X(splice) X(tee) X(vmsplice) X(copy_file_range) X(fsync)
X(fdatasync) X(syscall) X(poll)
X(__poll_chk) X(ppoll) X(__ppoll_chk) X(select) X(pselect) X(epoll_ctl) X(epoll_wait)
X(epoll_pwait) X(epoll_pwait2) X(nanosleep) X(clock_nanosleep) X(usleep) X(sleep)
X(open) X(open64) X(openat) X(openat64) X(creat) X(creat64)
X(__open_2) X(__open64_2) X(__openat_2) X(__openat64_2) X(fstat) X(fstat64) X(__fxstat)
X(__fxstat64) X(close) X(close_range) X(closefrom)
X(dup) X(dup2) X(dup3) X(socket) X(socketpair) X(accept) X(accept4) X(connect) X(pipe) X(pipe2)
X(execve) X(execvpe) X(fexecve) X(execveat)
X(posix_spawn) X(posix_spawnp) X(rename) X(renameat) X(renameat2) X(vfork) X(aio_read) X(aio_read64)
X(aio_write) X(aio_write64) X(lio_listio) X(lio_listio64) X(mmap) X(mmap64) X(_exit) X(_Exit)
X(prctl) X(fread) X(fread_unlocked) X(__fread_chk) X(__fread_unlocked_chk) X(fwrite)
X(fwrite_unlocked) X(fgets) X(fgets_unlocked) X(__fgets_chk) X(__fgets_unlocked_chk) X(fgetc)
X(getc) X(getchar) X(fgetc_unlocked) X(getc_unlocked) X(getchar_unlocked) X(__uflow) X(getline)
X(getdelim) X(__getdelim) X(fputs) X(fputs_unlocked) X(puts) X(fputc) X(putc) X(putchar)
X(fputc_unlocked) X(putc_unlocked) X(putchar_unlocked) X(__overflow) X(vprintf) X(vfprintf)
X(vdprintf) X(__vprintf_chk) X(__vfprintf_chk) X(__vdprintf_chk) X(fflush) X(fflush_unlocked)
X(fclose) X(pclose) X(freopen) X(freopen64) X(fopen) X(fopen64) X(fdopen) X(tmpfile)
X(tmpfile64) X(fseek) X(fseeko) X(fseeko64) X(rewind) X(fsetpos) X(fsetpos64)
    /* clang-format on */
