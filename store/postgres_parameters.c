/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_parameters.c - parameters and results in PostgreSQL's binary format
 *
 * Numbers are in network byte order. An array is its number of dimensions (1, or 0 if it is empty), whether
 * it contains NULL, the type of its elements, their number, the lower bound (1), and then each element with
 * its
 * length, -1 for NULL. Offsets are kept instead of addresses, because the block moves when it grows. */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "postgres.h"

enum { TYPE_BYTEA = 17, TYPE_INT8 = 20, TYPE_TEXT = 25, ARRAY_HEADER = 12, ARRAY_DIMENSION = 8 };

void hora__pg_parameters_reset(hora__pg_parameters *parameters)
{
    parameters->size = 0;
    parameters->count = 0;
    parameters->failed = false;
}

void hora__pg_parameters_free(hora__pg_parameters *parameters)
{
    free(parameters->data);
    memset(parameters, 0, sizeof *parameters);
}

static char *reserve(hora__pg_parameters *parameters, size_t size)
{
    if (parameters->failed || size > (size_t)INT_MAX - parameters->size) {
        parameters->failed = true;
        return NULL;
    }
    if (parameters->size + size > parameters->capacity) {
        size_t capacity = parameters->capacity < 256 ? 256 : parameters->capacity;
        while (capacity < parameters->size + size)
            capacity *= 2;
        char *data = realloc(parameters->data, capacity);
        if (data == NULL) {
            parameters->failed = true;
            return NULL;
        }
        parameters->data = data;
        parameters->capacity = capacity;
    }
    char *place = parameters->data + parameters->size;
    parameters->size += size;
    return place;
}

static void write_32(char *to, int32_t value)
{
    uint32_t bits = (uint32_t)value;
    for (int i = 3; i >= 0; i--, bits >>= 8)
        to[i] = (char)(bits & 0xff);
}

static void write_64(char *to, int64_t value)
{
    write_32(to, (int32_t)(uint32_t)((uint64_t)value >> 32));
    write_32(to + 4, (int32_t)(uint32_t)value);
}

static uint32_t read_32(const char *from)
{
    const unsigned char *bytes = (const unsigned char *)from;
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int64_t read_64(const char *from)
{
    return (int64_t)((uint64_t)read_32(from) << 32 | read_32(from + 4));
}

static void begin_parameter(hora__pg_parameters *parameters)
{
    assert(parameters->count < HORA__PG_MAX_PARAMETERS);
    parameters->offset[parameters->count] = parameters->size;
    parameters->length[parameters->count] = -1;
}

static void end_parameter(hora__pg_parameters *parameters)
{
    size_t length = parameters->size - parameters->offset[parameters->count];
    parameters->length[parameters->count++] = (int)length;
}

void hora__pg_add_integer(hora__pg_parameters *parameters, int64_t value)
{
    begin_parameter(parameters);
    char *place = reserve(parameters, 8);
    if (place != NULL)
        write_64(place, value);
    end_parameter(parameters);
}

void hora__pg_add_bytes(hora__pg_parameters *parameters, hora__bytes bytes)
{
    begin_parameter(parameters);
    if (bytes.data == NULL) {
        parameters->count++;
        return;
    }
    char *place = reserve(parameters, bytes.size);
    if (place != NULL && bytes.size > 0)
        memcpy(place, bytes.data, bytes.size);
    end_parameter(parameters);
}

void hora__pg_add_text(hora__pg_parameters *parameters, const char *text)
{
    hora__pg_add_bytes(parameters, (hora__bytes){text, text == NULL ? 0 : strlen(text)});
}

static void write_header(hora__pg_parameters *parameters, size_t count, int type)
{
    char *place = reserve(parameters, ARRAY_HEADER + (count > 0 ? ARRAY_DIMENSION : 0));
    if (place == NULL)
        return;
    write_32(place, count > 0);
    write_32(place + 4, 1); /* may contain NULL */
    write_32(place + 8, type);
    if (count > 0) {
        write_32(place + 12, (int32_t)count);
        write_32(place + 16, 1);
    }
}

void hora__pg_add_integers(hora__pg_parameters *parameters, size_t count, hora__pg_integer_fn fn,
                           const void *items)
{
    assert(count <= INT_MAX / 12);
    begin_parameter(parameters);
    write_header(parameters, count, TYPE_INT8);
    char *place = reserve(parameters, count * 12);
    for (size_t i = 0; place != NULL && i < count; i++, place += 12) {
        write_32(place, 8);
        write_64(place + 4, fn(items, i));
    }
    end_parameter(parameters);
}

static int64_t get_int64(const void *items, size_t index)
{
    return ((const int64_t *)items)[index];
}

void hora__pg_add_int64s(hora__pg_parameters *parameters, const int64_t *values, size_t count)
{
    hora__pg_add_integers(parameters, count, get_int64, values);
}

static void add_array(hora__pg_parameters *parameters, size_t count, hora__pg_bytes_fn fn, const void *items,
                      int type)
{
    begin_parameter(parameters);
    write_header(parameters, count, type);
    for (size_t i = 0; i < count; i++) {
        hora__bytes bytes = fn(items, i);
        if (bytes.data == NULL)
            bytes.size = 0;
        char *place = reserve(parameters, 4 + bytes.size);
        if (place == NULL)
            break;
        write_32(place, bytes.data == NULL ? -1 : (int32_t)bytes.size);
        if (bytes.size > 0)
            memcpy(place + 4, bytes.data, bytes.size);
    }
    end_parameter(parameters);
}

void hora__pg_add_texts(hora__pg_parameters *parameters, size_t count, hora__pg_bytes_fn fn,
                        const void *items)
{
    add_array(parameters, count, fn, items, TYPE_TEXT);
}

void hora__pg_add_byteas(hora__pg_parameters *parameters, size_t count, hora__pg_bytes_fn fn,
                         const void *items)
{
    add_array(parameters, count, fn, items, TYPE_BYTEA);
}

/* ---- results ---- */

int64_t hora__pg_integer(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return 0;
    const char *value = PQgetvalue(result, row, column);
    if (PQgetlength(result, row, column) == 4)
        return (int32_t)read_32(value);
    assert(PQgetlength(result, row, column) == 8);
    return read_64(value);
}

bool hora__pg_boolean(const PGresult *result, int row, int column)
{
    return !PQgetisnull(result, row, column) && PQgetvalue(result, row, column)[0] != 0;
}

const char *hora__pg_text(const PGresult *result, int row, int column)
{
    return PQgetisnull(result, row, column) ? NULL : PQgetvalue(result, row, column);
}

hora__bytes hora__pg_bytes(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return (hora__bytes){NULL, 0};
    return (hora__bytes){PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column)};
}

int hora__pg_array_count(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return 0;
    const char *value = PQgetvalue(result, row, column);
    return read_32(value) == 0 ? 0 : (int)read_32(value + ARRAY_HEADER);
}

int64_t hora__pg_array_integer(const PGresult *result, int row, int column, int index)
{
    assert(index >= 0 && index < hora__pg_array_count(result, row, column));
    return read_64(PQgetvalue(result, row, column) + ARRAY_HEADER + ARRAY_DIMENSION + (size_t)index * 12 + 4);
}
