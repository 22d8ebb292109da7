/* SPDX-License-Identifier: BSD-3-Clause
 * Sorts messages by the time of their send, with a heap. */
#include "tools/messages/by_send.h"

#include "base/toolkit/array.h"

#include <stdlib.h>

#define FIELDS(X)                                                                                  \
    X(send_ns) X(send_stream) X(receive_ns) X(receive_stream) X(received_ns) X(tag) X(comm) X(bytes)

/* Compares two messages. Returns 0 only if all that is written of them is equal. */
static int compare(const void *a, const void *b)
{
    const struct message *x = a, *y = b;
#define X(field)                                                                                   \
    if (x->field != y->field)                                                                      \
        return x->field < y->field ? -1 : 1;
    FIELDS(X)
#undef X
    return 0;
}

static bool put(struct message **array, size_t *count, size_t *room, const struct message *m)
{
    void *p = array_grown(*array, *count, room, sizeof **array);
    if (p == NULL)
        return false;
    *array = p;
    (*array)[(*count)++] = *m;
    return true;
}

void by_send_add(struct by_send *l, const struct message *m)
{
    if (m->send_ns < l->written) {
        l->no_memory |= !put(&l->late, &l->late_count, &l->late_room, m);
        return;
    }
    if (!put(&l->heap, &l->count, &l->room, m)) {
        l->no_memory = true;
        return;
    }
    size_t i = l->count - 1;
    for (; i > 0 && compare(m, &l->heap[(i - 1) / 2]) < 0; i = (i - 1) / 2)
        l->heap[i] = l->heap[(i - 1) / 2];
    l->heap[i] = *m;
}

bool by_send_next(struct by_send *l, int64_t before, struct message *m)
{
    l->written = before;
    if (l->count == 0 || l->heap[0].send_ns >= before)
        return false;
    *m = l->heap[0];
    struct message last = l->heap[--l->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < l->count; i = child) {
        if (child + 1 < l->count && compare(&l->heap[child + 1], &l->heap[child]) < 0)
            child++;
        if (compare(&last, &l->heap[child]) <= 0)
            break;
        l->heap[i] = l->heap[child];
    }
    l->heap[i] = last;
    return true;
}

const struct message *by_send_late(struct by_send *l, size_t *count)
{
    if (l->late_count != 0)
        qsort(l->late, l->late_count, sizeof *l->late, compare);
    *count = l->late_count;
    return l->late;
}

void by_send_free(struct by_send *l)
{
    free(l->heap);
    free(l->late);
    *l = (struct by_send){.heap = NULL};
}
