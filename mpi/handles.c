/* SPDX-License-Identifier: BSD-3-Clause
 * Facts about handles: sizes of types, sums over arrays, Fortran handles. Lock-free, no
 * allocation. */
#include "mpi/library.h"
#include "mpi/wrapper.h"

#include <string.h>

/* --- the library's own functions -------------------------------------------------------------- */

static struct mpi_library library;

RT_COLD static void find_library(void)
{
    struct mpi_library found = {.ready = 0};
    void *symbol;
#define X(name, type)                                                                              \
    symbol = mpi_symbol("PMPI_" #name);                                                            \
    memcpy(&found.name, &symbol, sizeof symbol);
    MPI_LIBRARY(X)
#undef X
    library = found; /* two threads may do this at once, with the same values */
    __atomic_store_n(&library.ready, 1, __ATOMIC_RELEASE);
}

const struct mpi_library *mpi_library(void)
{
    if (RT_UNLIKELY(__atomic_load_n(&library.ready, __ATOMIC_ACQUIRE) == 0))
        find_library();
    return &library;
}

/* --- types ------------------------------------------------------------------------------------ */

/* Sizes of predefined types only: a derived type's handle may be freed and reused without our
 * notice. An entry is key << 32 | size + 1: one word, read and written at once. */
#define TYPE_SLOTS 256u
static uint64_t type_sizes[TYPE_SLOTS];

/* Returns a key below 2^32 for a predefined type; 0 for others. */
static uint32_t predefined_key(uint64_t type)
{
    switch (mpi_abi.kind) {
    case MPI_ABI_OPEN_MPI:
        if (mpi_abi_is_variable(type, 1))
            return (uint32_t)(type - mpi_abi.image_low[1]);
        if (mpi_abi_is_variable(type, 0))
            return (uint32_t)(type - mpi_abi.image_low[0]) | 0x80000000u;
        return 0;
    case MPI_ABI_MPICH: /* handle kind "builtin", object "datatype" (MPICH's mpir_handlemem.h) */
        return (type & 0xfc000000u) == 0x4c000000u ? (uint32_t)type : 0;
    case MPI_ABI_STANDARD: /* predefined handles are below 4096 */
        return type < 4096 ? (uint32_t)type : 0;
    default: return 0;
    }
}

/* Is this one of the library's predefined types? MPI may call the program's error handler for
 * another handle. */
static bool is_predefined(uint64_t type)
{
    /* MPI-5.0, "Application Binary Interface": first and last number of each range */
    static const uint16_t standard[][2] = {
        {0x201, 0x203}, {0x207, 0x210}, {0x212, 0x214}, {0x216, 0x21d}, {0x220, 0x220},
        {0x224, 0x225}, {0x228, 0x22d}, {0x230, 0x232}, {0x238, 0x239}, {0x23c, 0x23c},
        {0x240, 0x241}, {0x243, 0x245}, {0x247, 0x249}, {0x250, 0x251}, {0x258, 0x259},
        {0x2c0, 0x2c1}, {0x2c3, 0x2c3}, {0x2c8, 0x2ca}, {0x2d0, 0x2d3}, {0x2d8, 0x2db},
        {0x2e0, 0x2e3}, {0x2eb, 0x2eb}};
    /* MPI_FLOAT_INT to MPI_LONG_DOUBLE_INT; others need no call. */
    if (mpi_abi.kind == MPI_ABI_MPICH)
        return type >= 0x8c000000u && type <= 0x8c000004u;
    if (mpi_abi.kind != MPI_ABI_STANDARD)
        return predefined_key(type) != 0;
    for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++)
        if (type >= standard[i][0] && type <= standard[i][1])
            return true;
    return false;
}

/* Derived types that calls have made, and those freed since. Libraries accept freed handles in some
 * calls, so the success of a call does not prove that a freed type is valid. An entry is handle +
 * 1, with the bit ENDED for a freed type; 0 is a free entry. If the table has no room for a type,
 * each successful call with it proves it again. */
#define TYPES 4096u
#define TYPE_TRIES 16u
#define ENDED (UINT64_C(1) << 63)
static _Atomic uint64_t type_entries[TYPES];

static _Atomic uint64_t *type_entry(uint64_t type, uint64_t value)
{
    uint32_t at = (uint32_t)((type * UINT64_C(0x9e3779b97f4a7c15)) >> 52);
    for (uint32_t i = 0; i < TYPE_TRIES; i++) {
        _Atomic uint64_t *entry = &type_entries[(at + i) % TYPES];
        uint64_t found = atomic_load_explicit(entry, memory_order_relaxed);
        if (found == value || (value == ENDED && (found & ENDED) != 0))
            return entry;
    }
    return NULL;
}

static bool type_is(uint64_t type, uint64_t flag)
{
    return type_entry(type, (type + 1) | flag) != NULL;
}

void mpi_type_made(uint64_t type)
{
    if (type == mpi_abi.type_null || predefined_key(type) != 0 || is_predefined(type) ||
        type_is(type, 0))
        return;
    const uint64_t from[3] = {(type + 1) | ENDED, 0, ENDED /* any freed type */};
    for (int i = 0; i < 3; i++)
        for (_Atomic uint64_t *e; (e = type_entry(type, from[i])) != NULL;) {
            uint64_t old = atomic_load(e);
            if ((old == 0 || (old & ENDED) != 0) &&
                atomic_compare_exchange_strong(e, &old, type + 1))
                return;
        }
}

bool mpi_type_ends(uint64_t type)
{
    _Atomic uint64_t *entry = type_entry(type, type + 1);
    if (entry != NULL)
        atomic_store(entry, (type + 1) | ENDED);
    return entry != NULL;
}

#define UNKNOWN UINT64_MAX

RT_COLD static uint64_t ask_type_size(uint64_t type)
{
    const struct mpi_library *l = mpi_library();
    struct recorder_thread *t = &recorder_self;
    int size = 0;
    if (type == mpi_abi.type_null)
        return 0;
    if (mpi_abi.kind == MPI_ABI_MPICH && predefined_key(type) != 0)
        return type >> 8 & 0xff; /* MPICH's mpir_datatype.h, MPIR_Datatype_get_basic_size() */
    if (l->Type_size == NULL || !atomic_load_explicit(&mpi_is_up, memory_order_relaxed))
        return UNKNOWN;
    if (t->proved != 0 && !type_is(type, ENDED))
        mpi_type_made(type);
    else if (!is_predefined(type) && !type_is(type, 0))
        return UNKNOWN;
    t->in_toolkit++;
    int error = l->Type_size(type, &size);
    t->in_toolkit--;
    return error == 0 && size > 0 ? (uint64_t)size : 0;
}

RT_COLD static uint64_t find_size(uint64_t type, uint32_t key)
{
    uint64_t size = ask_type_size(type);
    if (key != 0 && size < UINT32_MAX)
        __atomic_store_n(&type_sizes[(key * 0x9e3779b1u) >> 24], (uint64_t)key << 32 | (size + 1),
                         __ATOMIC_RELAXED);
    return size;
}

RT_COLD static uint64_t find_size_or_0(uint64_t type, uint32_t key)
{
    uint64_t size = find_size(type, key);
    return size != UNKNOWN ? size : 0;
}

__attribute__((always_inline)) static inline uint64_t size_by(uint64_t type,
                                                              uint64_t (*find)(uint64_t, uint32_t))
{
    uint32_t key = predefined_key(type);
    if (key == 0)
        return find(type, 0);
    uint64_t known = __atomic_load_n(&type_sizes[(key * 0x9e3779b1u) >> 24], __ATOMIC_RELAXED);
    return RT_LIKELY(known >> 32 == key) ? (uint32_t)known - 1 : find(type, key);
}

uint64_t mpi_size_of_type(uint64_t type)
{
    return size_by(type, find_size_or_0);
}

/* --- arrays ----------------------------------------------------------------------------------- */

static uint64_t count_at(mpi_word counts, bool wide, uint32_t i)
{
    int64_t n =
        wide ? ((const int64_t *)(uintptr_t)counts)[i] : ((const int *)(uintptr_t)counts)[i];
    return n > 0 ? (uint64_t)n : 0;
}

uint64_t mpi_sum(mpi_word counts, bool wide, uint64_t comm)
{
    uint32_t n = counts != 0 ? mpi_known_size(comm) : 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += count_at(counts, wide, i);
    return sum;
}

uint64_t mpi_own(mpi_word counts, bool wide, uint64_t comm)
{
    return counts != 0 && mpi_known_size(comm) != 0 ? count_at(counts, wide, mpi_known_rank(comm))
                                                    : 0;
}

uint64_t mpi_sum_types(mpi_word counts, bool wide, mpi_word types, uint64_t comm, bool fortran)
{
    uint32_t n = counts != 0 && types != 0 ? mpi_known_size(comm) : 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t count = count_at(counts, wide, i);
        uint64_t size =
            count != 0 ? size_by(mpi_handle_element(MPI_HANDLE_TYPE, types, i, fortran), find_size)
                       : 0;
        if (size == UNKNOWN)
            return 0;
        sum += count * size;
    }
    return sum;
}

uint64_t mpi_handle_from_fortran(enum mpi_handle_kind kind, int handle)
{
    if (mpi_abi.handle_bytes == 4) /* MPICH has the same integers in both languages */
        return (uint32_t)handle;
    const struct mpi_library *l = mpi_library();
    uint64_t (*const convert[MPI_HANDLE_KINDS])(int) = {l->Comm_f2c, l->Type_f2c, l->Request_f2c,
                                                        l->Win_f2c, l->File_f2c};
    return convert[kind] != NULL ? convert[kind](handle) : 0;
}

uint64_t mpi_handle_element(enum mpi_handle_kind kind, mpi_word array, uint64_t i, bool fortran)
{
    if (array == 0)
        return 0;
    if (fortran)
        return mpi_handle_from_fortran(kind, ((const int *)(uintptr_t)array)[i]);
    if (mpi_abi.handle_bytes == 4)
        return ((const uint32_t *)(uintptr_t)array)[i];
    return ((const uint64_t *)(uintptr_t)array)[i];
}

/* Fortran's MPI_IN_PLACE is a variable; libraries give it different names. MPICH stores the address
 * of mpif.h's variable in MPIR_F_MPI_IN_PLACE; mpi_f08's variable is MPIR_F08_MPI_IN_PLACE
 * itself. */
bool mpi_is_in_place(mpi_word buffer, bool fortran, bool descriptor)
{
    if (!fortran)
        return buffer == mpi_abi.in_place;
    static void *variable, *pointer, *variable_f08;
    static int looked;
    if (__atomic_load_n(&looked, __ATOMIC_ACQUIRE) == 0) {
        variable = mpi_variable("mpi_fortran_in_place_");
        pointer = mpi_variable("MPIR_F_MPI_IN_PLACE");
        variable_f08 = mpi_variable("MPIR_F08_MPI_IN_PLACE");
        __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
    }
    if (descriptor)
        buffer = buffer != 0 ? *(const mpi_word *)(uintptr_t)buffer : 0;
    return buffer != 0 && (buffer == (mpi_word)(uintptr_t)variable ||
                           buffer == (mpi_word)(uintptr_t)variable_f08 ||
                           (pointer != NULL && buffer == *(const mpi_word *)pointer));
}
