/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Templates of points that users add: the owner fills in where a field is (user_fields.h) before
 * the program is loaded, so the verifier sees constants: each load is one through a typed pointer,
 * or the program is refused.
 */
#include "event.h"

#include <bpf/usdt.bpf.h>

#include "../user_fields.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile uint32_t magnet_point = 0;
const volatile struct user_template user = { 0 };

/* The n-th argument; the kernel takes a load from a fixed place only. */
#define ARG(n) asm volatile("%0 = *(u64 *)(%1 + " #n "*8)" : "=r"(v) : "r"(ctx))
static __always_inline uint64_t
arg_load(void *ctx, uint8_t arg)
{
	uint64_t v = 0;

	if (arg == 0)
		ARG(0);
	else if (arg == 1)
		ARG(1);
	else if (arg == 2)
		ARG(2);
	else if (arg == 3)
		ARG(3);
	else if (arg == 4)
		ARG(4);
	else if (arg == 5)
		ARG(5);
	return v;
}

#define LOAD(type) (*(volatile type *)(void *)at)
static __always_inline uint64_t
last_load(uint64_t at, uint8_t size_bytes, uint8_t is_signed)
{
	if (size_bytes == 1)
		return is_signed ? (uint64_t)(int64_t)LOAD(signed char) : LOAD(uint8_t);
	if (size_bytes == 2)
		return is_signed ? (uint64_t)(int64_t)LOAD(short) : LOAD(uint16_t);
	if (size_bytes == 4)
		return is_signed ? (uint64_t)(int64_t)LOAD(int) : LOAD(uint32_t);
	return LOAD(uint64_t);
}

static __always_inline uint64_t
field_load(void *ctx, int n)
{
	const volatile struct user_field *f = &user.field[n];
	uint64_t v;
	int i;

	if (f->arg == USER_NO_ARG)
		return 0;
	v = arg_load(ctx, f->arg);
#pragma unroll
	for (i = 0; i < USER_STEPS_MAX; i++) {
		if (i >= f->steps)
			continue;
		if (v == 0)
			return 0;
		if (i + 1 == f->steps)
			v = last_load(v + f->offset[i], f->size_bytes, f->is_signed);
		else
			v = *(volatile uint64_t *)(void *)(v + f->offset[i]);
	}
	return v;
}

static __always_inline int
fields_take(void *ctx)
{
	struct event e = { .form = MAGNET_FIELDS };

	e.id = field_load(ctx, 0);
	e.value = (int32_t)field_load(ctx, 1);
	e.fields.v[0] = field_load(ctx, 2);
	e.fields.v[1] = field_load(ctx, 3);
	e.fields.v[2] = field_load(ctx, 4);
	return magnet_user_event(&e);
}

SEC("?tp_btf")
int
user_tp(void *ctx)
{
	return OFF(magnet_point & (MAGNET_POINTS_MAX - 1)) ? 0 : fields_take(ctx);
}

SEC("?fentry")
int
user_fn(void *ctx)
{
	return OFF(magnet_point & (MAGNET_POINTS_MAX - 1)) ? 0 : fields_take(ctx);
}

/* The first argument of a probe in a user's program is the identity, the second the value. */
SEC("?usdt")
int
user_usdt(struct pt_regs *ctx)
{
	struct event e = { .form = MAGNET_FIELDS };
	long v = 0;
	int i;

	if (OFF(magnet_point & (MAGNET_POINTS_MAX - 1)))
		return 0;
	if (bpf_usdt_arg(ctx, 0, &v) == 0)
		e.id = (uint64_t)v;
	if (bpf_usdt_arg(ctx, 1, &v) == 0)
		e.value = (int32_t)v;
#pragma unroll
	for (i = 0; i < MAGNET_FIELDS_MAX; i++)
		if (bpf_usdt_arg(ctx, 2 + i, &v) == 0)
			e.fields.v[i] = (uint64_t)v;
	return magnet_user_event(&e);
}
