/* SPDX-License-Identifier: BSD-3-Clause
 * Finds names and source lines of addresses by elfutils' libdwfl. */
#include "tools/addresses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_LIBDW
#include "base/toolkit/debug_file.h"

#include <dwarf.h>

struct image_symbols {
    Dwfl *dwfl;
    Dwfl_Module *module;
    GElf_Addr bias;
    Dwarf_CFI *unwind;
    Dwarf_Addr unwind_bias;
    bool arm;
};

/* Returns true if the file's build id differs from `build_id`; "" matches any. */
static bool is_other(Dwfl_Module *module, const char *build_id)
{
    const unsigned char *bits;
    GElf_Addr where;
    char text[41] = "";
    int n = dwfl_module_build_id(module, &bits, &where);
    for (int i = 0; i < n && i < 20; i++)
        (void)snprintf(text + (size_t)2 * (size_t)i, 3, "%02x", bits[i]);
    return build_id[0] != '\0' && strcmp(text, build_id) != 0;
}

/* Checks the file before libdwfl opens it: libdwfl would wait for the other end of a FIFO. */
static int look_at(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || access(path, R_OK) != 0)
        return -errno;
    return S_ISREG(st.st_mode) ? 0 : -ENOEXEC;
}

struct image_symbols *image_symbols_open(const char *path, const char *build_id, int *problem)
{
    static char *debuginfo_path;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = debug_file_find,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debuginfo_path,
    };
    *problem = path[0] == '/' ? look_at(path) : 0;
    struct image_symbols *s = path[0] == '/' && *problem == 0 ? calloc(1, sizeof *s) : NULL;
    if (s == NULL)
        return NULL;
    s->dwfl = dwfl_begin(&callbacks);
    if (s->dwfl != NULL) {
        dwfl_report_begin(s->dwfl);
        s->module = dwfl_report_offline(s->dwfl, path, path, -1);
        (void)dwfl_report_end(s->dwfl, NULL, NULL);
    }
    Elf *elf = s->module != NULL ? dwfl_module_getelf(s->module, &s->bias) : NULL;
    GElf_Ehdr head;
    if (elf == NULL || gelf_getehdr(elf, &head) == NULL) {
        *problem = *problem != 0 ? *problem : -ENOEXEC;
        image_symbols_close(s);
        return NULL;
    }
    if (is_other(s->module, build_id)) {
        *problem = ADDRESS_CHANGED;
        image_symbols_close(s);
        return NULL;
    }
    s->arm = head.e_machine == EM_AARCH64;
    s->unwind = dwfl_module_eh_cfi(s->module, &s->unwind_bias);
    return s;
}

#ifdef HAVE_CXA_DEMANGLE
/* Itanium C++ ABI 3.4, "Demangler API"; of the C++ run-time library. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *n, int *status);
#endif

static char *readable(const char *name)
{
    char *plain = NULL;
#ifdef HAVE_CXA_DEMANGLE
    int status = 0;
    if (name[0] == '_' && name[1] == 'Z')
        plain = __cxa_demangle(name, NULL, NULL, &status);
#endif
    return plain != NULL ? plain : strdup(name);
}

void image_symbols_find(struct image_symbols *s, uint64_t address, char **function, char **line)
{
    GElf_Sym symbol;
    GElf_Off into = 0;
    int number = 0;
    const char *name =
        dwfl_module_addrinfo(s->module, address + s->bias, &into, &symbol, NULL, NULL, NULL);
    /* The nearest symbol below does not name what lies after its end. */
    if (name != NULL && (symbol.st_size == 0 || into < symbol.st_size))
        *function = readable(name);
    if (line == NULL)
        return;
    Dwfl_Line *where = dwfl_module_getsrc(s->module, address + s->bias);
    const char *file = where != NULL ? dwfl_lineinfo(where, NULL, &number, NULL, NULL, NULL) : NULL;
    if (file != NULL && asprintf(line, "%s:%d", file, number) < 0)
        *line = NULL;
}

bool image_symbols_has_debug(struct image_symbols *s)
{
    Dwarf_Addr bias;
    return dwfl_module_getdwarf(s->module, &bias) != NULL;
}

char *image_symbols_inlined(struct image_symbols *s, uint64_t address)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = dwfl_module_addrdie(s->module, address + s->bias, &bias), *scopes = NULL;
    int n = unit != NULL ? dwarf_getscopes(unit, address + s->bias - bias, &scopes) : 0;
    char *found = NULL;
    for (int i = 0; i < n && found == NULL; i++) { /* the innermost first */
        if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
            break;
        const char *name =
            dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine ? dwarf_diename(&scopes[i]) : NULL;
        found = name != NULL ? strdup(name) : NULL;
    }
    free(scopes);
    return found;
}

/* x86-64: the canonical frame address is the stack pointer (register 7) plus 8. AArch64: register
 * 30 still has its value. */
bool image_symbols_frameless(struct image_symbols *s, uint64_t address)
{
    Dwarf_Frame *frame = NULL;
    Dwarf_Op *ops = NULL, memory[3];
    size_t count = 0;
    bool frameless = false;
    if (s->unwind == NULL ||
        dwarf_cfi_addrframe(s->unwind, address + s->bias - s->unwind_bias, &frame) != 0)
        return false;
    if (s->arm)
        frameless =
            dwarf_frame_register(frame, 30, memory, &ops, &count) == 0 && count == 0 && ops == NULL;
    else if (dwarf_frame_cfa(frame, &ops, &count) == 0 && count == 1)
        frameless = (ops[0].atom == DW_OP_breg7 && ops[0].number == 8) ||
                    (ops[0].atom == DW_OP_bregx && ops[0].number == 7 && ops[0].number2 == 8);
    free(frame);
    return frameless;
}

void image_symbols_close(struct image_symbols *s)
{
    if (s != NULL && s->dwfl != NULL)
        dwfl_end(s->dwfl);
    free(s);
}

const char *image_symbols_lack(void)
{
    return NULL;
}

#else

struct image_symbols *image_symbols_open(const char *path, const char *build_id, int *problem)
{
    (void)path;
    (void)build_id;
    *problem = 0;
    return NULL;
}

void image_symbols_find(struct image_symbols *s, uint64_t address, char **function, char **line)
{
    (void)s;
    (void)address;
    (void)function;
    (void)line;
}

bool image_symbols_has_debug(struct image_symbols *s)
{
    (void)s;
    return false;
}

char *image_symbols_inlined(struct image_symbols *s, uint64_t address)
{
    (void)s;
    (void)address;
    return NULL;
}

bool image_symbols_frameless(struct image_symbols *s, uint64_t address)
{
    (void)s;
    (void)address;
    return false;
}

void image_symbols_close(struct image_symbols *s)
{
    (void)s;
}

const char *image_symbols_lack(void)
{
    return "this regtrace was built without libdw (elfutils), which finds the names of functions";
}
#endif
