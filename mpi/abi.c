/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the loaded MPI library, its symbols and its constants. */
#include "mpi/abi.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

struct mpi_abi mpi_abi;

/* --- symbols ---------------------------------------------------------------------------------- */

struct range_search {
    uintptr_t address, low, high;
    bool found;
};

static int visit_range(struct dl_phdr_info *info, size_t size, void *context)
{
    struct range_search *s = context;
    uintptr_t low = UINTPTR_MAX, high = 0;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;
        low = begin < low ? begin : low;
        high = end > high ? end : high;
    }
    if (s->address < low || s->address >= high)
        return 0;
    s->low = low;
    s->high = high;
    s->found = true;
    return 1;
}

bool mpi_object_range(const void *address, uintptr_t *low, uintptr_t *high)
{
    struct range_search s = {.address = (uintptr_t)address};
    (void)dl_iterate_phdr(visit_range, &s);
    *low = s.low;
    *high = s.high;
    return s.found;
}

#define MAX_OBJECTS 1024
struct object_list {
    const char *names[MAX_OBJECTS];
    unsigned n;
};

static int visit_name(struct dl_phdr_info *info, size_t size, void *context)
{
    struct object_list *list = context;
    (void)size;
    if (list->n < MAX_OBJECTS && info->dlpi_name != NULL && info->dlpi_name[0] != '\0')
        list->names[list->n++] = info->dlpi_name;
    return 0;
}

static bool is_ours(const void *address)
{
    static uintptr_t low, high;
    if (high == 0)
        (void)mpi_object_range(&mpi_abi, &low, &high);
    return (uintptr_t)address >= low && (uintptr_t)address < high;
}

/* Collects the names first: dlopen inside dl_iterate_phdr could take the loader's locks in the
 * wrong order. The names stay valid as long as nothing is unloaded, which holds for a library that
 * is about to be called. */
RT_COLD static void *search_objects(const char *name)
{
    struct recorder_scratch *memory =
        recorder_scratch_take(&recorder_self, sizeof(struct object_list));
    struct object_list *list = memory != NULL ? (struct object_list *)(void *)memory->room : NULL;
    void *result = NULL;
    if (list == NULL)
        return NULL;
    list->n = 0;
    (void)dl_iterate_phdr(visit_name, list);
    for (unsigned i = 0; i < list->n && result == NULL; i++) {
        void *object = dlopen(list->names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (object == NULL)
            continue;
        void *found = dlsym(object, name);
        (void)dlclose(object);
        if (found != NULL && !is_ours(found))
            result = found;
    }
    recorder_scratch_give(&recorder_self, memory);
    return result;
}

RT_COLD void *mpi_symbol(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found != NULL && !is_ours(found))
        return found;
    return search_objects(name);
}

/* --- constants -------------------------------------------------------------------------------- */

/* The loader may have copied the variable into the program (a copy relocation); the library itself
 * then uses the copy. So this searches the global order first, which begins at the program. */
RT_COLD void *mpi_variable(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return found != NULL ? found : search_objects(name);
}

static uint64_t address_of(const char *name)
{
    return (uint64_t)(uintptr_t)mpi_variable(name);
}

RT_COLD static void fill_open_mpi(struct mpi_abi *abi, void *world)
{
    *abi = (struct mpi_abi){
        .kind = MPI_ABI_OPEN_MPI,
        .any_source = -1,
        .any_tag = -1,
        .proc_null = -2,
        .root = -4,
        .handle_mask = UINT64_MAX,
        .handle_bytes = 8,
        .status_bytes = 24,
        .status_source = 0,
        .status_tag = 4,
        .status_error = 8,
        .err_in_status = 18,
        .err_pending = 19,
        .err_truncate = 15,
        .comm_world = (uint64_t)(uintptr_t)world,
        .comm_self = address_of("ompi_mpi_comm_self"),
        .comm_null = address_of("ompi_mpi_comm_null"),
        .request_null = address_of("ompi_request_null"),
        .type_null = address_of("ompi_mpi_datatype_null"),
        .type_byte = address_of("ompi_mpi_byte"),
        .in_place = 1,
        .status_ignore = 0,
        .statuses_ignore = 0,
    };
    const void *inside[2] = {world, mpi_symbol("PMPI_Init")};
    for (int i = 0; i < 2; i++) {
        uintptr_t low = 0, high = 0;
        (void)mpi_object_range(inside[i], &low, &high);
        abi->image_low[i] = low;
        abi->image_high[i] = high;
    }
}

RT_COLD static void fill_mpich(struct mpi_abi *abi)
{
    *abi = (struct mpi_abi){
        .kind = MPI_ABI_MPICH,
        .any_source = -2,
        .any_tag = -1,
        .proc_null = -1,
        .root = -3,
        .handle_mask = UINT32_MAX,
        .handle_bytes = 4,
        .status_bytes = 20,
        .status_source = 8,
        .status_tag = 12,
        .status_error = 16,
        .err_in_status = 17,
        .err_pending = 18,
        .err_truncate = 14,
        .comm_world = 0x44000000,
        .comm_self = 0x44000001,
        .comm_null = 0x04000000,
        .request_null = 0x2c000000,
        .type_null = 0x0c000000,
        .type_byte = 0x4c00010d,
        .in_place = UINT64_MAX,
        .status_ignore = 1,
        .statuses_ignore = 1,
    };
}

RT_COLD static void fill_standard(struct mpi_abi *abi)
{
    *abi = (struct mpi_abi){
        .kind = MPI_ABI_STANDARD,
        .any_source = -1,
        .any_tag = -31,
        .proc_null = -2,
        .root = -3,
        .handle_mask = UINT64_MAX,
        .handle_bytes = 8,
        .status_bytes = 32,
        .status_source = 0,
        .status_tag = 4,
        .status_error = 8,
        .err_in_status = 17,
        .err_pending = 18,
        .err_truncate = 14,
        .comm_world = 0x101,
        .comm_self = 0x102,
        .comm_null = 0x100,
        .request_null = 0x180,
        .type_null = 0x200,
        .type_byte = 0x247,
        .in_place = 1,
        .status_ignore = 0,
        .statuses_ignore = 0,
    };
}

RT_COLD static const struct mpi_abi *look(void)
{
    struct mpi_abi found = {.kind = MPI_ABI_UNKNOWN};
    /* A library of the standard interface returns its version here. Others return -1 or lack the
     * function. */
    int (*version)(int *, int *) = NULL;
    void *symbol = mpi_symbol("PMPI_Abi_get_version");
    memcpy(&version, &symbol, sizeof version);
    int major = -1, minor = -1;
    if (version != NULL && version(&major, &minor) == 0 && major >= 1) {
        fill_standard(&found);
    } else {
        void *world = mpi_variable("ompi_mpi_comm_world");
        if (world != NULL)
            fill_open_mpi(&found, world);
        else if (mpi_symbol("PMPI_Init") != NULL)
            fill_mpich(&found);
    }
    if (found.kind != MPI_ABI_UNKNOWN) {
        enum mpi_abi_kind kind = found.kind;
        found.kind = MPI_ABI_UNKNOWN;
        /* Two threads may do this at once, with the same values. `kind` is stored last. */
        mpi_abi = found;
        __atomic_store_n(&mpi_abi.kind, kind, __ATOMIC_RELEASE);
    }
    return &mpi_abi;
}

const struct mpi_abi *mpi_abi_find(void)
{
    if (RT_LIKELY(__atomic_load_n(&mpi_abi.kind, __ATOMIC_ACQUIRE) != MPI_ABI_UNKNOWN))
        return &mpi_abi;
    return look();
}

enum mpi_abi_kind mpi_abi_loaded(void)
{
    return mpi_abi_find()->kind;
}
