/* SPDX-License-Identifier: BSD-3-Clause */
/* First byte 0: the rest is a chunk, sealed here so that it gets past its checksum; whatever
 * decodes must encode and decode again to the same. Otherwise: the rest is doubles, that many
 * columns of them, which must come back. */
#include <stdlib.h>
#include <string.h>

#include "store/codec/chunk.h"
#include "store/codec/codec_hash.h"

enum { DECODED_BYTES_MAX = 1 << 18, CHECKSUM_BYTES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct chunk_codec *codec;
static struct chunk_rows first, second;
static struct chunk_buf buf;

static void
must(bool true_one)
{
	if (!true_one)
		abort();
}

/* With a kind, so that plans made for earlier inputs are tried on this input. */
static void
must_come_back(const struct chunk_columns *in)
{
	struct chunk_columns of_kind = *in;
	uint32_t c;
	int effort;

	of_kind.kind = 1 + in->n_columns;
	for (effort = CHUNK_HOT; effort <= CHUNK_COMPACT; effort++) {
		must(chunk_encode(codec, &of_kind, (enum chunk_effort)effort, &buf) == NW_OK);
		must(chunk_decode(codec, buf.bytes, buf.len, NULL, &second) == NW_OK);
		must(second.is.n_rows == in->n_rows && second.is.n_columns == in->n_columns);
		if (in->n_rows == 0)
			continue;
		must(memcmp(in->t_wall_ns, second.is.t_wall_ns, in->n_rows * sizeof(int64_t)) == 0);
		for (c = 0; c < in->n_columns; c++)
			must(memcmp(in->value[c], second.is.value[c],
				 in->n_rows * sizeof(double)) == 0);
		if (in->attachment_end != NULL)
			must(memcmp(in->attachment_end, second.is.attachment_end,
				 in->n_rows * sizeof(uint32_t)) == 0 &&
			    memcmp(in->attachment, second.is.attachment,
				in->attachment_end[in->n_rows - 1]) == 0);
	}
}

static void
fuzz_chunk(const uint8_t *data, size_t len)
{
	struct chunk_head head;
	uint8_t *sealed;
	uint64_t sum;
	int i;

	if (len < CHECKSUM_BYTES || chunk_read_head(data, len, &head) != NW_OK ||
	    head.decoded_bytes > DECODED_BYTES_MAX)
		return;
	if ((sealed = malloc(len)) == NULL)
		return;
	memcpy(sealed, data, len);
	sum = hash_bytes(sealed, len - CHECKSUM_BYTES);
	for (i = 0; i < CHECKSUM_BYTES; i++)
		sealed[len - CHECKSUM_BYTES + i] = (uint8_t)(sum >> (8 * i));
	if (chunk_decode(codec, sealed, len, NULL, &first) == NW_OK)
		must_come_back(&first.is);
	free(sealed);
}

static void
fuzz_columns(const uint8_t *data, size_t len, uint32_t n_columns)
{
	struct chunk_columns in = { .n_columns = n_columns,
		.n_rows = (uint32_t)(len / 8 / ((size_t)n_columns + 1)) };
	const double *value[UINT8_MAX];
	double *numbers;
	uint32_t c;

	if ((numbers = malloc(len + 1)) == NULL)
		return;
	memcpy(numbers, data, len);
	in.t_wall_ns = (const int64_t *)(const void *)numbers;
	for (c = 0; c < n_columns; c++)
		value[c] = numbers + (size_t)in.n_rows * (c + 1);
	in.value = value;
	must_come_back(&in);
	free(numbers);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (codec == NULL && (codec = chunk_codec_new()) == NULL)
		return 0;
	if (len == 0 || len > 1 << 16)
		return 0;
	if (data[0] == 0)
		fuzz_chunk(data + 1, len - 1);
	else
		fuzz_columns(data + 1, len - 1, data[0]);
	return 0;
}
