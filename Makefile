# Narrows. GNU make. "make help" prints the lines that begin with three blanks here:
#   make            builds the programs and libraries into build/MODE; build/bin is the release's
#   make host      builds what runs on measured hosts alone, without SQLite, libevent or LAPACK; make host-static
#                   builds blipp, nwrun, iomodel and nwlog without shared libraries into build/MODE/static
#   make demo       runs a box, two transfers and their verdicts; Ctrl-C ends it
#   make check      installs missing packages, runs all tests
#   make unit       runs the unit tests; MODE=asan or MODE=tsan under that sanitizer
#   make tests      builds the tests and fuzzers without a run
#   make gridftp    installs the Globus packages that are missing, builds what GridFTP's servers and clients load into build/MODE/lib
#   make slurm      builds Slurm's plug-in for the release of Slurm whose headers are here
#   make bench      runs the benchmarks; PEERS=1 prints every goal beside ClickHouse, Prometheus and InfluxDB instead, which it installs;
#                   BENCH_RECORDING="FILE made-up ..." for several recordings, BENCH_BASE=COMMIT for a build of a commit in turns with this one,
#                   BENCH_STORE=FILE for the sessions of a box to be judged
#   make bench-fleet  a million sessions of a hundred boxes in a fleet, and questions; five minutes
#   make calibrate  simulates data of known truth and prints how often the box is wrong; repeats long unit tests in full
#   make experiment-reduction  repeats a paper's figures in build/experiment; RECORDING=DIR adds a recording
#   make experiment-gridftp  Kissel and others (2011), section IV: CELLS="--short", "--only REGEX"; in build/experiment-gridftp; root
#   make experiment-dpss  block lists over a network with a small buffer, in build/experiment-dpss; root
#   make experiment-magnet  the cost of kernel events beside tcpdump, in build/experiment-magnet; root
#   make experiment-programs  counts the bytes of twenty real programs, those that are installed, beside the kernel's
#   make programs   runs a hundred programs with and without nwrun, those that are installed, and compares; root, three minutes
#   make experiment-changes  planted changes between thirty sessions of a route, by a real box; root, some minutes
#   make experiment-agree  blipp beside /proc, sar, ss and tc at the same moments under load; root, two minutes
#   make experiment-iomodel  models of cached and uncached reads against mincore, on a disk as it is and throttled; root, five minutes
#   make experiment-clocks  two emulated machines (QEMU) whose clocks are wrong, and what the box says of them; root, four minutes
#   make truth      plants limits in real transfers and prints how often the verdict names them; needs root, ten minutes
#                   TRUTH="--load 0,1,2,4": the same beside busy loops, other transfers, interrupts
#   make truth-partner ten planted limits between hosts of two boxes: both give the same verdict; root, three minutes
#   make truth-xrootd  the same for Debian's XRootD, with nwflow at one end; root, five minutes
#   make works      sixty kinds of real work over a link of 40 Mbit/s, and whether the verdict is right; root, fifteen minutes
#   make consecutive  runs COUNT (200) sessions after another, and checks every text that the box has for them; ten minutes
#   make fuzz       fuzzes every parser for a while
#   make soak       runs a box at full rate for MINUTES (60) and prints its memory over time
#   make deb        makes Debian packages in build/deb
#   make arm64      packages for arm64 in build/deb-arm64, made and tried by emulation in a root of Debian 12; root, half an hour
#   make kubernetes  the manifest of conf/kubernetes.yaml by podman, with an image that is made here; root, three minutes
#   make old-roots  static agents in roots of Debian 11 and of musl alone, and their bytes on Debian 13; root, five minutes
#   make format     lays out all C files by .clang-format
#   make install    installs below PREFIX (/usr/local), into DESTDIR; make install-gridftp and install-slurm what these load; make uninstall removes all
#   make clean      removes build/
#   MAY_room (below) lists the rooms whose functions and headers a room may use; ROOMS all rooms, from the ground up
#   MODE=release|asan|tsan|cov, CC=clang, CFLAGS=, V=1 (prints the commands), WERROR=1 (a warning is an error)

MODE    ?= release
PREFIX  ?= /usr/local
VERSION := 0.2.0
B       := build/$(MODE)
Q       := $(if $(V),,@)

OPT_release := -O2 -g -D_FORTIFY_SOURCE=2
# the unit tests themselves, which are compiled in half of the time then; what they test is optimised
OPT_units   := -O0 -g -Wno-maybe-uninitialized
OPT_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT_tsan    := -O1 -g -fsanitize=thread
OPT_cov     := -O0 -g --coverage -DNW_COVERAGE
PKG_CONFIG  ?= pkg-config
PKGS        := sqlite3 libevent_core libevent_extra libevent_pthreads libbson-1.0 libzstd liblzma zlib jansson expat openblas
# one by one: a measured host has some of them only
PKG_CFLAGS  := $(sort $(shell for p in $(PKGS); do $(PKG_CONFIG) --cflags $$p; done 2>/dev/null))
# programs for the kernel of x86-64 stand compiled in the tree, those of another machine are compiled by clang into $B/bpf
MACHINE     := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
BPF_DIR     := $(if $(filter x86_64,$(MACHINE)),,$B/bpf/)
# warnings that depend on what one release of gcc inlines: they are printed, and fail nothing
OPINIONS    := $(if $(findstring clang,$(CC)),,-Wno-error=maybe-uninitialized -Wno-error=format-truncation)
BASE        := -std=c11 -D_GNU_SOURCE -DNW_VERSION='"$(VERSION)"' -Wall -Wextra $(if $(filter-out 0,$(WERROR)),-Werror $(OPINIONS)) -Wshadow -Wstrict-prototypes \
               -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -fPIC -fvisibility=hidden -Iinclude -I. -DNW_BPF_DIR='"$(BPF_DIR)"' \
               $(PKG_CFLAGS) -MMD -MP
FLAGS       := $(BASE) $(OPT_$(MODE)) $(CFLAGS)
LD          := $(CC) $(OPT_$(MODE)) $(LDFLAGS)
# nwrun.so and narrows_sqlite.so go into foreign programs: never with a sanitizer's runtime
FLAGS_preload := $(BASE) -O2 -fno-tree-slp-vectorize $(if $(findstring clang,$(CC)),,-fno-tree-loop-distribute-patterns) -g $(CFLAGS)

# The rooms from the ground up. MAY_room names those before it whose functions and headers it may use; tests/sys_house.sh
# checks symbols and #include. A room above does not link, and so no circle of rooms can be.
ROOMS := base base/fatal xsp xsp/catalog field field/nmwg pki pki/account pki/ask analyze analyze/chain analyze/density analyze/change analyze/cause analyze/incident \
         analyze/lifeline store/codec store/ground store/read store/write store/sql store \
         analyze/verdict/claim analyze/verdict/evidence analyze/verdict/judge analyze/verdict/chain analyze/verdict/usual analyze/verdict/advice analyze/verdict/put \
         analyze/verdict/route analyze/verdict/keep analyze/verdict \
         web/query web/lifelines web/draw web/http web/export web/answer web/page web/lines web send fleet fleet/receive daemon/analysis daemon/gate daemon/rights daemon cli/stat cli/import cli/hook cli/partner cli \
         host/lib host/notice host/nwrun/preload host/nwrun/collect host/nwrun host/blipp/probe host/blipp/settings host/blipp host/magnet host/iomodel host/nwlog host/nwfts host/outside host/join \
         dpss dpss/client dpss/master dpss/server dpss/tool dpss/sim
# what asks switches is built where net-snmp's library is
SNMP   := $(wildcard /usr/include/net-snmp/net-snmp-config.h)
SWITCH := $(if $(SNMP),nwswitch)
ROOMS  += $(if $(SNMP),host/switch)
# what hooks and fleets need is built where libcurl is: its packages are too large for the demo
CURL   := $(shell $(PKG_CONFIG) --exists libcurl 2>/dev/null && echo yes)
ROOMS  += $(if $(CURL),send/curl)
# what goes into GridFTP's programs is built by "make gridftp", where Globus' headers are
GLOBUS := $(shell $(PKG_CONFIG) --exists globus-net-manager globus-xio globus-common 2>/dev/null && echo yes)
ROOMS  += $(if $(GLOBUS),gridftp/manager)
ROOMS  += $(if $(GLOBUS),gridftp/xio)
# what Slurm loads is built by "make slurm", where Slurm's headers are
SPANK  := $(wildcard /usr/include/slurm/spank.h)
ROOMS  += $(if $(SPANK),host/slurm)
MAY_base/fatal               := base
MAY_xsp                      := base
MAY_field                    := base/fatal base
MAY_field/nmwg               := base/fatal base
MAY_pki                      := base/fatal base
MAY_pki/account              := pki base/fatal base
MAY_pki/ask                  := pki base/fatal base
MAY_analyze                  := base
MAY_analyze/chain            := base
MAY_analyze/density          := analyze base
MAY_analyze/change           := analyze base
MAY_analyze/cause            := base
MAY_analyze/incident         := analyze base
MAY_analyze/lifeline         := analyze/density analyze base
MAY_store/ground             := store/codec base
MAY_store/read               := store/ground store/codec base
MAY_store/write              := store/ground store/codec base
MAY_store/sql                := store/read store/ground base
MAY_store                    := store/write store/read store/ground store/codec base
MAY_analyze/verdict/claim    := store/ground base/fatal base
MAY_analyze/verdict/evidence := store/read analyze/density analyze base/fatal base
MAY_analyze/verdict/judge    := analyze/verdict/claim analyze/verdict/evidence store/read analyze/change analyze/density analyze base/fatal base
MAY_analyze/verdict/chain    := analyze/verdict/claim analyze/verdict/evidence analyze/chain base/fatal base
MAY_analyze/verdict/usual    := analyze/verdict/claim analyze/verdict/judge analyze/verdict/evidence store/read store/ground analyze/incident analyze/cause analyze/change analyze base/fatal base
MAY_analyze/verdict/advice   := analyze/verdict/claim analyze/verdict/evidence analyze/cause store/read store/ground base/fatal base
MAY_analyze/verdict/put      := analyze/verdict/usual store/ground
MAY_analyze/verdict/route    := analyze/verdict/claim analyze/verdict/put analyze/verdict/advice analyze/verdict/usual store/read store/ground \
                                analyze/incident analyze/change analyze base/fatal base
MAY_analyze/verdict/keep     := analyze/verdict/put analyze/verdict/evidence store/read store/ground analyze base/fatal base
MAY_analyze/verdict          := analyze/verdict/claim analyze/verdict/keep analyze/verdict/put analyze/verdict/advice analyze/verdict/usual \
                                analyze/verdict/chain analyze/verdict/judge analyze/verdict/evidence store/read store/ground analyze/chain analyze base/fatal base
MAY_web/query                := store/read store/ground base
MAY_web/lifelines            := web/query store/read store/ground analyze/lifeline analyze/density analyze base
MAY_web/draw                 := web/lifelines store/ground analyze/lifeline analyze base
MAY_web/http                 := web/draw web/query store/ground base
MAY_web/export               := web/query store/read store/ground base
MAY_web/answer               := field web/http web/query store/read store/ground analyze/incident base
MAY_web/page                 := web/answer web/draw web/lifelines web/query store/read store/ground analyze/lifeline analyze/change analyze/chain analyze base
MAY_web/lines                := web/page web/answer web/draw web/lifelines web/query store/read store/ground analyze/lifeline analyze base
MAY_web                      := web/lines web/page web/answer web/export web/http web/draw web/lifelines web/query store/read base
MAY_send                     := base
MAY_send/curl                := send base
MAY_fleet                    := send store/sql store/read store/ground store/codec base/fatal base
MAY_fleet/receive            := fleet pki base/fatal base
MAY_daemon/analysis          := pki analyze/verdict analyze/verdict/evidence analyze/verdict/route store store/read store/ground base/fatal base
MAY_daemon/gate          := field store/ground base/fatal base
MAY_daemon/rights            := base/fatal base
MAY_daemon                   := daemon/gate daemon/rights daemon/analysis web web/answer analyze/verdict analyze/verdict/keep analyze/verdict/route store store/read \
                                store/ground pki/account pki field xsp/catalog xsp base/fatal base
MAY_cli/stat                 := web/draw analyze/change analyze/density analyze base
MAY_cli/import               := cli/stat field field/nmwg store store/read store/ground pki xsp/catalog xsp base/fatal base
MAY_cli/hook                 := send pki store/ground base/fatal base
MAY_cli/partner              := analyze/verdict store/read cli/import cli/stat web/export send field store/sql store/read store/ground pki/ask pki xsp base/fatal base
MAY_cli                      := analyze/verdict/claim analyze/verdict/evidence analyze/chain analyze cli/partner cli/hook cli/import cli/stat fleet/receive fleet send web web/answer web/export web/lifelines web/query store store/sql store/read store/ground \
                                pki/account pki/ask pki base/fatal base
MAY_host/lib                 := pki xsp base
MAY_host/notice              := host/lib
MAY_host/nwrun/preload       := host/lib
MAY_host/nwrun/collect       := host/nwrun/preload host/lib xsp base/fatal base
MAY_host/nwrun               := host/nwrun/collect host/nwrun/preload host/lib base
MAY_host/blipp/probe         := host/lib xsp base
MAY_host/blipp/settings      := host/blipp/probe host/lib
MAY_host/blipp               := host/blipp/settings host/blipp/probe host/lib base
MAY_host/magnet              := host/lib base
MAY_host/iomodel             := host/lib base/fatal base
MAY_host/nwlog               := host/lib xsp base/fatal base
MAY_host/nwfts               := field host/lib pki xsp base/fatal base
MAY_host/outside             := host/notice host/nwrun/collect host/nwrun/preload host/lib base/fatal base
MAY_host/join                := host/outside host/nwrun host/lib pki/ask pki base/fatal base
MAY_dpss                     := pki base
MAY_dpss/client              := dpss pki base
MAY_dpss/master              := dpss pki base/fatal base
MAY_dpss/server              := dpss pki base/fatal base
MAY_dpss/tool                := dpss/client dpss base/fatal base
MAY_dpss/sim                 := dpss/client dpss base
MAY_host/switch              := host/lib base
MAY_host/slurm               :=
MAY_gridftp/manager          := host/notice host/lib base
MAY_gridftp/xio              := host/nwrun/collect host/nwrun/preload host/lib pki xsp base
# BELOW_room is computed: the room, what its archive pulls in, and base, each before what it uses. Its programs link that.
# Its tests link BELOW_tests/room: where a room reads a store, a test fills one and asks it.
last = $(if $1,$(if $(filter $(firstword $1),$(wordlist 2,999,$1)),,$(firstword $1)) $(call last,$(wordlist 2,999,$1)))
$(foreach r,$(ROOMS),$(foreach m,$(MAY_$r),$(if $(BELOW_$m),,$(error $r may use $m, which is not before it in ROOMS))) \
    $(eval BELOW_$r := $(strip $(call last,$r $(foreach m,$(MAY_$r),$(BELOW_$m)) base))) \
    $(eval BELOW_tests/$r := $(strip $(call last,$(BELOW_$r) $(if $(filter store/read,$(BELOW_$r)),$(BELOW_store/sql) $(BELOW_store))))))
LIBS_xsp      := libbson-1.0
LIBS_field    := jansson
LIBS_xsp/catalog := jansson
LIBS_field/nmwg := expat
LIBS_analyze  := openblas
LIBS_store    := sqlite3
LIBS_store/ground := sqlite3 jansson
LIBS_store/codec := libzstd
LIBS_web      := libevent_core libevent_extra jansson
LIBS_web/draw := libevent_core jansson
LIBS_web/http := libevent_core libevent_extra jansson
LIBS_web/export := libevent_core libevent_extra jansson libbson-1.0
LIBS_web/answer := libevent_core libevent_extra jansson
LIBS_web/page := libevent_core libevent_extra jansson
LIBS_web/lines := libevent_core libevent_extra jansson
LIBS_web/lifelines := jansson
LIBS_web/query := libevent_core libevent_extra jansson zlib
LIBS_send     := jansson
LIBS_send/curl := libcurl
LIBS_fleet    := sqlite3 libzstd jansson
LIBS_fleet/receive := jansson sqlite3
LIBS_daemon/analysis := jansson
LIBS_daemon/gate := libevent_core jansson
LIBS_daemon   := libevent_core libevent_pthreads jansson libbson-1.0
LIBS_cli      := libevent_core
LIBS_cli/partner := jansson libbson-1.0
LIBS_cli/stat := liblzma zlib libzstd jansson
LIBS_host/magnet := libbpf
LIBS_host/outside := libbpf
LIBS_gridftp/manager := globus-net-manager globus-common
LIBS_gridftp/xio := globus-xio globus-common
LIBS_dpss     :=
LIBS_dpss/master := sqlite3
LIBS_analyze/verdict/evidence := jansson
LIBS_pki/account := libargon2
EXTRA_host/switch := -lnetsnmp
EXTRA_fleet   := -lmbedcrypto
EXTRA_daemon/gate := -lmbedcrypto
EXTRA_pki     := -lmbedtls -lmbedx509 -lmbedcrypto   # 2.28 has no pkg-config file

MAINS    := daemon/narrowsd.c cli/narrows.c host/blipp/blipp.c host/nwrun/nwrun.c host/magnet/magnet.c host/iomodel/iomodel.c host/nwlog/nwlog.c host/nwfts/nwfts.c host/outside/nwflow.c host/join/narrows-host.c \
            dpss/master/dpss-master.c dpss/server/dpss-server.c dpss/tool/dpss.c dpss/sim/tv_sim.c
MAINS    += $(if $(CURL),send/curl/narrows-send.c)
MAINS    += $(if $(SNMP),host/switch/nwswitch.c)
# nwrun.so alone: an archive that has read() would be the read() of every program that links it
PRELOAD  := $(sort $(wildcard host/nwrun/preload/*.c))
HOOKS    := $(filter-out %_op.c %_cells.c %_object.c %/image.c %/title.c,$(PRELOAD)) host/nwrun/collect/old_libc.c
objs      = $(patsubst %.c,$B/obj/%.o,$(filter-out $(MAINS) $(HOOKS),$(sort $(wildcard $1/*.c))))
archives  = $(foreach d,$(BELOW_$1),$B/lib/$d.a)
link      = -Wl,--as-needed $(shell $(PKG_CONFIG) --libs $(sort $(foreach d,$(BELOW_$1),$(LIBS_$d))) 2>/dev/null) $(foreach d,$(BELOW_$1),$(EXTRA_$d)) -lm -pthread
room_of   = $(patsubst %/,%,$(dir $1))

PROGS   := $(foreach p,$(basename $(notdir $(MAINS))),$B/bin/$p)
found    = $(patsubst %.c,$B/%,$(sort $(foreach d,$(ROOMS),$(wildcard tests/$d/$1_*.c))))
UNITS   := $(call found,test)
FUZZERS := $(call found,fuzz)
BENCHES := $(call found,bench)

.PHONY: slurm slurm-library install-slurm gridftp gridftp-libraries install-gridftp host host-static install-host deb arm64 old-roots kubernetes soak all tests check unit demo bench bench-fleet calibrate experiment-reduction experiment-dpss experiment-gridftp experiment-magnet experiment-programs programs experiment-agree experiment-changes experiment-clocks experiment-iomodel truth truth-partner truth-xrootd works consecutive fuzz format help install uninstall clean magnet-object outside-object
all: $(PROGS) $B/bin/nwrun.so $B/bin/nwrun-collect.so $B/bin/narrows_sqlite.so $B/lib/libnarrows.a $B/lib/libnarrows.so $B/lib/libmagnet.a $B/bin/stat-cases $B/lib/libdpss.a $B/lib/libdpss.so $B/bin/dpss-cases
	$(Q)$(if $(filter release,$(MODE)),ln -sfn release/bin build/bin)

host: $(foreach p,narrows-host nwrun blipp magnet iomodel nwlog nwfts nwflow $(SWITCH),$B/bin/$p) $B/bin/nwrun.so $B/bin/nwrun-collect.so $B/lib/libnarrows.a $B/lib/libnarrows.so $B/lib/libmagnet.a
	$(Q)$(if $(filter release,$(MODE)),ln -sfn release/bin build/bin)
# programs without shared libraries are compiled by themselves, for size
STATIC := nwrun blipp iomodel nwlog
host-static: $B/static/nwrun.so
	$(Q)$(MAKE) --no-print-directory B=$B/small CFLAGS='$(CFLAGS) -Os -fno-pic -fno-asynchronous-unwind-tables' $(STATIC:%=$B/small/static/%)
	$(Q)for p in $(STATIC); do ln -f $B/small/static/$$p $B/static/$$p; done

# --- objects, libraries, programs ---
# the assembler copies these files
$B/obj/web/draw/script.o: web/draw/narrows.js
$B/obj/host/magnet/object.o: $(BPF_DIR)host/magnet/bpf/points.o $(BPF_DIR)host/magnet/bpf/user.o
$B/obj/host/outside/outside_object.o: $(BPF_DIR)host/outside/bpf/outside.o
$B/bpf/%.o: %.bpf.c $(wildcard host/*/bpf/*.h) include/narrows/magnet.h
	@mkdir -p $(@D)
	$(Q)sh conf/bpf.sh $< $(MACHINE) >$@.new && mv $@.new $@
$B/obj/host/nwrun/preload/%.o: host/nwrun/preload/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(FLAGS_preload) -c -o $@ $<
# each function by itself, so that programs leave out what they do not call; rounding without calls of libm, which nwrun need not load then
$(foreach d,base xsp pki host,$B/obj/$d/%.o): SECTIONS := -ffunction-sections -fdata-sections -fno-math-errno -fno-trapping-math
$B/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(FLAGS) $(SECTIONS) -c -o $@ $<
ifeq ($(MODE),release)
$(patsubst $B/%,$B/obj/%.o,$(UNITS) $(FUZZERS)): FLAGS = $(BASE) $(OPT_units) $(CFLAGS)
endif
define room
$B/lib/$1.a: $(call objs,$1)
	@mkdir -p $$(@D)
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$^
endef
$(foreach d,$(ROOMS),$(eval $(call room,$d)))

# program NAME, of room ROOM
define program
$B/bin/$1: $B/obj/$2/$1.o $(call archives,$2)
	@mkdir -p $$(@D)
	$$(Q)$$(LD) -o $$@ $$^ $$(call link,$2)
endef
# narrows loads OpenBLAS with its first fit
$B/bin/narrows: $B/obj/analyze/blas/late.o
$(foreach m,$(filter-out host/nwrun/nwrun.c,$(MAINS)),$(eval $(call program,$(basename $(notdir $m)),$(patsubst %/,%,$(dir $m)))))
# the collector is inside where the library for documents is there without a shared library; conf/plain.c is in place of TLS. All functions
# are bound at once: one by one, and again in each of the three processes, costs more
INSIDE   := $(shell $(PKG_CONFIG) --exists libbson-static-1.0 2>/dev/null && echo -lbson-static-1.0)
LD_INSIDE := -Wl,--gc-sections,-u,collect_run,-z,now
$B/bin/nwrun: $B/obj/host/nwrun/nwrun.o $(if $(INSIDE),$B/obj/conf/plain.o) $(call archives,host/nwrun)
	@mkdir -p $(@D)
	$(Q)$(LD) $(if $(INSIDE),$(LD_INSIDE)) -o $@ $^ $(INSIDE) $(call link,host/nwrun)
# program NAME of room ROOM without shared libraries, stripped; conf/static.ld leaves out the tables of unwinding, which a C program
# needs only to end a thread from outside, and conf/static.c their reader
STATIC_nwrun := -Wl,-u,collect_run
STATIC_LIBS := -lbson-static-1.0 $(EXTRA_pki) -lm -pthread
define static
$B/static/$1: $B/obj/$2/$1.o $B/obj/conf/static.o $(call archives,$2)
	@mkdir -p $$(@D)
	$$(Q)$$(LD) -static -s -Wl,--gc-sections,-z,noseparate-code,-z,norelro,--build-id=none,-z,nosectionheader -Wl,-T,conf/static.ld $(STATIC_$1) -o $$@ $$^ $$(STATIC_LIBS) 2>$$@.log || { cat $$@.log >&2; exit 1; }; rm -f $$@.log
endef
$B/static/nwrun.so: $B/bin/nwrun.so
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(foreach p,$(STATIC),$(eval $(call static,$p,host/$p)))
$B/bin/stat-cases: $B/obj/tests/stat-cases.o $(call archives,cli/stat)
	@mkdir -p $(@D)
	$(Q)$(LD) -o $@ $^ $(call link,cli/stat)
# simulations of what the box concludes by itself; sys_calibrate.sh runs a short version
$B/bin/calibrate: $(patsubst %.c,$B/obj/%.o,$(sort $(wildcard tests/calibrate/*.c))) $B/lib/analyze/lifeline.a $B/lib/analyze/verdict/route.a $(call archives,analyze/verdict)
	@mkdir -p $(@D)
	$(Q)$(LD) -o $@ $^ $(call link,analyze/verdict)
$B/bin/experiment-reduction: $(patsubst %.c,$B/obj/%.o,$(sort $(wildcard tests/experiment/*.c))) $(call archives,analyze)
	@mkdir -p $(@D)
	$(Q)$(LD) -o $@ $^ $(call link,analyze) $(shell $(PKG_CONFIG) --libs libzstd)
PRELOAD_MAP := $(wildcard host/nwrun/preload/$(MACHINE).map)
$B/bin/nwrun.so: $(patsubst %.c,$B/obj/%.o,$(PRELOAD)) $(PRELOAD_MAP) host/nwrun/preload/nwrun.ld
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -nostartfiles -nodefaultlibs -Wl,-z,noseparate-code,-z,norelro,-T,host/nwrun/preload/nwrun.ld $(PRELOAD_MAP:%=-Wl,--version-script=%) -o $@ $(filter %.o,$^) -l:libc.so.6 -lgcc
# the collector of boxes that want TLS, with bson and mbedtls below, which nwrun loads once the program is on its way
$B/obj/host/nwrun/collect/old_libc.o: FLAGS = $(FLAGS_preload)
$B/bin/nwrun-collect.so: $B/obj/host/nwrun/collect/old_libc.o $(call archives,host/nwrun/collect)
	@mkdir -p $(@D)
	$(Q)$(LD) -shared -Wl,-Bsymbolic -Wl,-u,collect_run -o $@ $^ $(call link,host/nwrun/collect)
$B/obj/extension/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(FLAGS_preload) -ffunction-sections -include store/sql/extension.h -c -o $@ $<
$B/bin/narrows_sqlite.so: $(patsubst %.c,$B/obj/extension/%.o,$(sort $(foreach d,$(BELOW_store/sql),$(wildcard $d/*.c))))
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,--gc-sections -Wl,-z,defs -o $@ $^ $(shell $(PKG_CONFIG) --libs libzstd) -lm -pthread
LIBNARROWS := $(call objs,host/lib) $(call objs,xsp) $(filter %/tls.o %/cert.o,$(call objs,pki)) $(call objs,base)
$B/lib/libnarrows.a: $(LIBNARROWS)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$B/lib/libnarrows.so: $(LIBNARROWS)
	@mkdir -p $(@D)
	$(Q)$(LD) -shared -Wl,--gc-sections -Wl,-soname,libnarrows.so.0 -o $@ $^ $(call link,host/lib)
	$(Q)ln -sf libnarrows.so $B/lib/libnarrows.so.0

LIBDPSS := $(call objs,dpss/client) $(call objs,dpss) $(filter %/tls.o %/cert.o,$(call objs,pki)) $(call objs,base)
$B/lib/libdpss.a: $(LIBDPSS)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$B/lib/libdpss.so: $(LIBDPSS)
	@mkdir -p $(@D)
	$(Q)$(LD) -shared -Wl,--gc-sections -Wl,-z,defs -Wl,-soname,libdpss.so.0 -o $@ $^ $(call link,dpss/client)
	$(Q)ln -sf libdpss.so $B/lib/libdpss.so.0
$B/bin/dpss-cases: $B/obj/tests/dpss-cases.o $B/lib/libdpss.so
	@mkdir -p $(@D)
	$(Q)$(LD) -o $@ $^ -Wl,-rpath,'$$ORIGIN/../lib'

LIBMAGNET := $(patsubst %,$B/obj/host/magnet/%.o,owner ring view)
$B/lib/libmagnet.a: $(LIBMAGNET)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
# The libraries that GridFTP's programs load, from what the archives below give them: only their entries are seen outside.
# Never with a sanitizer's runtime: the programs have none.
GRIDFTP := $(if $(GLOBUS),$B/lib/libglobus_net_manager_narrows.so $(if $(wildcard gridftp/xio/*.c),$(foreach d,narrows netlogger,$B/lib/libglobus_xio_$d_driver.so)))
GLOBUS_CFLAGS := $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags globus-net-manager globus-xio globus-common 2>/dev/null))
$(foreach d,obj obj/netlogger obj/tests,$B/$d/gridftp/%.o): SECTIONS := -ffunction-sections -fdata-sections $(GLOBUS_CFLAGS)
$B/lib/libglobus_net_manager_narrows.so: $(call objs,gridftp/manager) $(foreach d,$(filter-out gridftp/manager,$(BELOW_gridftp/manager)),$B/lib/$d.a)
	@mkdir -p $(@D)
	$(Q)$(LD) -shared -Wl,--gc-sections -Wl,-soname,$(@F) -o $@ $^ $(call link,gridftp/manager)
$B/lib/libglobus_xio_narrows_driver.so: $(call objs,gridftp/xio) $(foreach d,$(filter-out gridftp/xio,$(BELOW_gridftp/xio)),$B/lib/$d.a)
	@mkdir -p $(@D)
	$(Q)$(LD) -shared $(XIO_DRIVER) -o $@ $^ $(call link,gridftp/xio)
# a process may load both drivers, and unloads neither while the driver's thread runs
XIO_DRIVER = -Wl,--gc-sections,--exclude-libs,ALL,-Bsymbolic,-z,nodelete,-z,defs,-soname,$(@F)
# the same driver by the name that "globus-url-copy -nlb" asks for
$B/obj/netlogger/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(FLAGS) $(SECTIONS) -DNARROWS_NETLOGGER -c -o $@ $<
$B/lib/libglobus_xio_netlogger_driver.so: $(patsubst %.c,$B/obj/netlogger/%.o,$(sort $(wildcard gridftp/xio/*.c))) $(foreach d,$(filter-out gridftp/xio,$(BELOW_gridftp/xio)),$B/lib/$d.a)
	@mkdir -p $(@D)
	$(Q)$(LD) -shared $(XIO_DRIVER) -o $@ $^ $(call link,gridftp/xio)
# Slurm loads plug-ins made for its own release; never with a sanitizer's runtime
SLURM := $(if $(SPANK),$B/lib/narrows_spank.so)
$B/lib/narrows_spank.so: $(call objs,host/slurm)
	@mkdir -p $(@D)
	$(Q)$(LD) -shared -Wl,-soname,$(@F) -o $@ $^
slurm:
	@sh conf/deps.sh slurm
	$(Q)$(MAKE) --no-print-directory slurm-library
slurm-library: $(SLURM)
	@[ -n "$(SPANK)" ] || { echo "narrows: Slurm's headers are missing: sh conf/deps.sh slurm" >&2; exit 1; }
gridftp:
	@sh conf/deps.sh gridftp
	$(Q)$(MAKE) --no-print-directory gridftp-libraries
gridftp-libraries: $(GRIDFTP)
	@[ -n "$(GLOBUS)" ] || { echo "narrows: Globus' packages are missing: sh conf/deps.sh gridftp" >&2; exit 1; }

magnet-object outside-object: %-object:
	$(Q)set -e; for p in host/$*/bpf/*.bpf.c; do sh conf/bpf.sh $$p >$${p%.bpf.c}.o.new; mv $${p%.bpf.c}.o.new $${p%.bpf.c}.o; done

# --- tests: tests/ROOM/test_FILE.c links BELOW_tests/ROOM, nothing else ---
.SECONDEXPANSION:
$(UNITS) $(BENCHES): $B/%: $B/obj/%.o $$(call archives,$$(call room_of,$$*))
	@mkdir -p $(@D)
	$(Q)$(LD) -o $@ $^ $(call link,$(call room_of,$*))
$(FUZZERS): $B/%: $B/obj/%.o $B/obj/tests/fuzzmain.o $$(call archives,$$(call room_of,$$*))
	@mkdir -p $(@D)
	$(Q)$(LD) -o $@ $^ $(call link,$(call room_of,$*))

# the rig's own programs stand alone
RIG := $(patsubst %.c,$B/%,$(sort $(wildcard tests/rig/*.c)))
$(RIG): $B/%: $B/obj/%.o
	@mkdir -p $(@D)
	$(Q)$(LD) -o $@ $^ -pthread

check:
	@sh conf/deps.sh tests
	@sh conf/build.sh tests
	@B=$B sh tests/run.sh all
# no test runs the benchmarks: the sanitizer's build, for which no user waits, shows that all of them compile
tests: all $B/bin/calibrate $B/bin/experiment-reduction $(UNITS) $(FUZZERS) $(RIG) $(if $(filter asan,$(MODE)),$(BENCHES)) $(if $(filter release,$(MODE)),$(GRIDFTP) $(SLURM))
unit: tests
	@B=$B sh tests/run.sh unit
ifdef PEERS
bench:
	@sh conf/deps.sh peers
	$(Q)$(MAKE) --no-print-directory all $(BENCHES)
	@B=$B python3 tests/bench_peers.py
else
bench:
	@sh conf/deps.sh box
	$(Q)$(MAKE) --no-print-directory all $(BENCHES) $(GRIDFTP)
	@for b in $(BENCHES); do echo "== $${b##*/}"; $$b || exit 1; done
	@echo "== bench_judge, the newest 60 of 2,100 sessions of a box"; d=$$(mktemp -d) && \
		$B/tests/analyze/verdict/bench_box -n 100 -s 2000 -d $$d > /dev/null && \
		$B/tests/analyze/verdict/bench_judge -n 60 $$d/narrows.db; rm -rf "$$d"
	@echo "== bench_blipp"; B=$B python3 tests/bench_blipp.py
	@echo "== bench_dpss"; B=$B python3 tests/bench_dpss.py
endif
# NARROWS_DUCKDB=libduckdb.so asks Parquet, too
bench-fleet:
	@sh conf/deps.sh box
	$(Q)$(MAKE) --no-print-directory $B/tests/fleet/bench_fleet
	@$B/tests/fleet/bench_fleet -n 1000000 -s 100 -r 200
# CALIBRATE="-r 200 reached", ...: fewer repetitions, or some of the tables
calibrate:
	@sh conf/deps.sh box
	$(Q)$(MAKE) --no-print-directory $B/bin/calibrate $(UNITS)
	@$B/bin/calibrate $(CALIBRATE)
	@B=$B sh tests/run.sh whole
experiment-reduction:
	@sh conf/deps.sh box
	$(Q)$(MAKE) --no-print-directory $B/bin/experiment-reduction
	@$B/bin/experiment-reduction build/experiment $(RECORDING) && cat build/experiment/report.txt
experiment-magnet:
	@sh conf/deps.sh rig
	$(Q)$(MAKE) --no-print-directory all $B/tests/host/magnet/bench_ring
	@B=$B python3 tests/experiment-magnet.py build/experiment-magnet
experiment-programs:
	@sh conf/deps.sh box
	$(Q)$(MAKE) --no-print-directory host
	@B=$B sh tests/experiment-programs.sh
# PROGRAMS=REGEX: those of tests/programs whose names match
programs:
	@sh conf/deps.sh tests
	$(Q)$(MAKE) --no-print-directory all
	@PROGRAMS=$(or $(PROGRAMS),all) B=$B sh tests/sys_loads.sh
experiment-changes:
	@sh conf/deps.sh box
	$(Q)$(MAKE) --no-print-directory all
	@python3 tests/experiment-changes.py $B/bin
experiment-agree:
	-@sh conf/deps.sh machines
	$(Q)$(MAKE) --no-print-directory all
	@B=$B python3 tests/experiment-agree.py build/experiment-agree
experiment-clocks:
	-@sh conf/deps.sh machines
	$(Q)$(MAKE) --no-print-directory all $(RIG)
	@B=$B python3 tests/experiment-clocks.py build/experiment-clocks
# SECONDS: length of a cell (2)
experiment-iomodel:
	-@sh conf/deps.sh rig
	$(Q)$(MAKE) --no-print-directory all
	@python3 tests/experiment-iomodel.py $B/bin $(or $(SECONDS),2)
experiment-dpss:
	@sh conf/deps.sh rig
	$(Q)$(MAKE) --no-print-directory all $(RIG)
	@B=$B python3 tests/experiment-dpss.py build/experiment-dpss
experiment-gridftp:
	@sh conf/deps.sh gridftp
	@sh conf/deps.sh rig
	$(Q)$(MAKE) --no-print-directory all $(RIG)
	$(Q)$(MAKE) --no-print-directory gridftp
	@B=$B python3 tests/experiment-gridftp.py $(CELLS) build/experiment-gridftp
demo:
	@sh conf/deps.sh demo
	@sh conf/build.sh all
	@B=$B sh tests/demo.sh
# TRUTH="--full", "--only REGEX", ...: the head of tests/rig/rig.py has them all
truth:
	-@sh conf/deps.sh rig
	$(Q)$(MAKE) --no-print-directory all $(RIG)
	@B=$B python3 tests/rig/rig.py $(TRUTH)
	@B=$B python3 tests/rig/chains.py
	@B=$B python3 tests/rig/loops.py
	@B=$B python3 tests/rig/ships.py
# PARTNER="--only REGEX", "--seconds S"
truth-partner:
	-@sh conf/deps.sh rig
	$(Q)$(MAKE) --no-print-directory all $(RIG)
	@B=$B /usr/bin/python3 tests/rig/partners.py $(PARTNER)
# XROOTD="--only REGEX", "--seconds S"
truth-xrootd:
	@sh conf/deps.sh field
	$(Q)$(MAKE) --no-print-directory all $B/tests/rig/link
	@B=$B python3 tests/rig/xrootd.py $(XROOTD)
# WORKS="--only REGEX", "--again", "--table"
works:
	-@sh conf/deps.sh works
	$(Q)$(MAKE) --no-print-directory all $(RIG)
	@B=$B python3 tests/rig/works.py $(WORKS)
consecutive:
	@sh conf/deps.sh tests
	$(Q)$(MAKE) --no-print-directory all
	@python3 tests/consecutive.py $(CURDIR)/$B/bin $(or $(COUNT),200)
fuzz:
	@sh conf/deps.sh fuzz
	@sh tests/fuzz.sh
# MINUTES=60; the box at full rate, memory flat
soak:
	@sh conf/deps.sh tests
	$(Q)$(MAKE) --no-print-directory all
	@B=$B MINUTES=$(or $(MINUTES),60) sh tests/soak.sh
format:
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i
deb:
	@sh conf/deps.sh packages
	@sh conf/deb.sh
arm64:
	@sh conf/deps.sh box
	@sh conf/build.sh all
	@B=$B sh tests/arm64.sh
kubernetes:
	@sh conf/deps.sh kubernetes
	$(Q)$(MAKE) --no-print-directory all
	@B=$B sh tests/kubernetes.sh
old-roots:
	@sh conf/deps.sh tests
	$(Q)$(MAKE) --no-print-directory all host-static
	@B=$B sh tests/old_roots.sh
help:
	@sed -n 's/^#   //p' $(firstword $(MAKEFILE_LIST))

# --- install: what goes where below PREFIX, one list for both directions ---
HEADERS := include/libxsp_client.h $(patsubst %,include/narrows/%.h,xsp provider caliper clock cycles doc hist err event eventlog public magnet dpss step \
           original/compat original/mongo original/option_types)
MANUALS := $(sort $(foreach d,conf $(filter-out gridftp/%,$(ROOMS)),$(wildcard $d/*.[1-8])))
GRIDFTP_PLACES = $(foreach l,$(GRIDFTP),$l:lib/$(notdir $l)) gridftp/narrows-gridftp:sbin/narrows-gridftp \
           $(foreach m,$(wildcard gridftp/*/*.[1-8]),$m:share/man/man$(subst .,,$(suffix $m))/$(notdir $m))
SLURM_PLACES = $(SLURM:%=%:lib/slurm/narrows_spank.so)
HOST_PLACES = $(foreach p,narrows-host blipp nwrun magnet iomodel nwlog nwfts nwflow $(SWITCH),$B/bin/$p:bin/$p) $(foreach x,nwrun nwrun-collect,$B/bin/$x.so:lib/narrows/$x.so) \
           $B/lib/libnarrows.a:lib/libnarrows.a $B/lib/libmagnet.a:lib/libmagnet.a $B/lib/libnarrows.so:lib/libnarrows.so.0 \
           $(foreach h,$(filter-out %/dpss.h,$(HEADERS)),$h:$h) $(foreach m,$(filter host/%,$(MANUALS)),$m:share/man/man$(subst .,,$(suffix $m))/$(notdir $m)) \
           conf/blipp.conf:share/doc/narrows/examples/blipp.conf conf/blipp.service:lib/systemd/system/blipp.service \
           conf/nwflow.conf:share/doc/narrows/examples/nwflow.conf conf/nwflow.service:lib/systemd/system/nwflow.service \
           conf/nwfts.conf:share/doc/narrows/examples/nwfts.conf conf/nwfts.service:lib/systemd/system/nwfts.service \
           conf/magnet.conf:share/doc/narrows/examples/magnet.conf conf/magnet.service:lib/systemd/system/magnet.service \
           host/lib/narrows.pc.in:lib/pkgconfig/narrows.pc
PLACES   = $B/bin/narrowsd:sbin/narrowsd $(foreach p,narrows narrows-host blipp nwrun magnet iomodel nwlog nwfts nwflow $(SWITCH) dpss dpss-master dpss-server tv_sim,$B/bin/$p:bin/$p) \
           $(foreach x,nwrun nwrun-collect narrows_sqlite,$B/bin/$x.so:lib/narrows/$x.so) $B/lib/libnarrows.a:lib/libnarrows.a $B/lib/libmagnet.a:lib/libmagnet.a $B/lib/libnarrows.so:lib/libnarrows.so.0 \
           $(if $(CURL),$B/bin/narrows-send:lib/narrows/narrows-send) $B/lib/libdpss.a:lib/libdpss.a $B/lib/libdpss.so:lib/libdpss.so.0 dpss/dpss.pc.in:lib/pkgconfig/dpss.pc \
           $(foreach h,$(HEADERS),$h:$h) $(foreach h,event kernel,host/magnet/bpf/$h.h:share/narrows/bpf/$h.h) $(foreach m,$(MANUALS),$m:share/man/man$(subst .,,$(suffix $m))/$(notdir $m)) \
           $(foreach c,$(wildcard conf/*.conf),$c:share/doc/narrows/examples/$(notdir $c)) \
           $(foreach k,kubernetes.yaml Containerfile,conf/$k:share/doc/narrows/examples/$k) \
           $(foreach u,$(wildcard conf/*.service),$u:lib/systemd/system/$(notdir $u)) \
           host/lib/narrows.pc.in:lib/pkgconfig/narrows.pc
TO       = $(DESTDIR)$(PREFIX)
install: all
install-host: host
install-host: PLACES = $(HOST_PLACES)
install-gridftp: gridftp-libraries
install-gridftp: PLACES = $(GRIDFTP_PLACES)
install-slurm: slurm-library
install-slurm: PLACES = $(SLURM_PLACES)
install install-host install-gridftp install-slurm:
	@set -e; for p in $(PLACES); do to="$(TO)/$${p#*:}"; mode=644; [ ! -x "$${p%:*}" ] || mode=755; \
	    echo "$$to"; install -D -m $$mode "$${p%:*}" "$$to"; \
	    case $$to in *.service | *.pc | *.[1-8]) sed -i 's|/usr/local|$(PREFIX)|g; s|@VERSION@|$(VERSION)|' "$$to" ;; esac; done
	@[ ! -e "$(TO)/lib/libnarrows.so.0" ] || ln -sf libnarrows.so.0 "$(TO)/lib/libnarrows.so"
	@[ ! -e "$(TO)/lib/libdpss.so.0" ] || ln -sf libdpss.so.0 "$(TO)/lib/libdpss.so"
uninstall:
	@for p in $(PLACES) $(GRIDFTP_PLACES) $(SLURM_PLACES) :lib/libnarrows.so :lib/libdpss.so; do rm -fv "$(TO)/$${p#*:}"; done
	@for d in include/narrows/original include/narrows lib/narrows share/doc/narrows/examples share/doc/narrows share/narrows/bpf share/narrows; do rmdir "$(TO)/$$d"; done 2>/dev/null || :

clean:
	rm -rf build
-include $(shell find $B/obj -name '*.d' 2>/dev/null)
