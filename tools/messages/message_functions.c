/* SPDX-License-Identifier: BSD-3-Clause
 * The table of MPI functions that send or receive. */
#include "tools/messages/message_functions.h"

#include <stddef.h>
#include <string.h>

/* Names without MPI_; the rows hold also for large-count functions (MPI_..._c). */
static const struct {
    const char *name;
    unsigned does;
} functions[] = {
    {"Send", SENDS},
    {"Bsend", SENDS},
    {"Ssend", SENDS},
    {"Rsend", SENDS},
    {"Isend", SENDS | REQUEST},
    {"Ibsend", SENDS | REQUEST},
    {"Issend", SENDS | REQUEST},
    {"Irsend", SENDS | REQUEST},
    {"Send_init", SENDS | PERSISTENT},
    {"Bsend_init", SENDS | PERSISTENT},
    {"Ssend_init", SENDS | PERSISTENT},
    {"Rsend_init", SENDS | PERSISTENT},
    {"Recv", RECEIVES},
    {"Irecv", RECEIVES | REQUEST},
    {"Recv_init", RECEIVES | PERSISTENT},
    {"Sendrecv", SENDS | RECEIVES | UNTOLD},
    {"Sendrecv_replace", SENDS | RECEIVES | UNTOLD},
    {"Isendrecv", SENDS | RECEIVES | UNTOLD | REQUEST},
    {"Isendrecv_replace", SENDS | RECEIVES | UNTOLD | REQUEST},
    {"Mprobe", PROBES},
    {"Improbe", PROBES},
    {"Mrecv", TAKES},
    {"Imrecv", TAKES | REQUEST},
    {"Cancel", CANCELS},
    {"Request_free", FREES},
    {"Psend_init", SENDS | PERSISTENT | PARTITIONED},
    {"Precv_init", RECEIVES | PERSISTENT | PARTITIONED},
    {"Init", INITS},
    {"Init_thread", INITS},
};

unsigned message_function(const char *name)
{
    size_t n = strlen(name += strlen("MPI_"));
    if (n > 2 && strcmp(name + n - 2, "_c") == 0)
        n -= 2;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strncmp(functions[i].name, name, n) == 0 && functions[i].name[n] == '\0')
            return functions[i].does;
    return 0;
}
