/* SPDX-License-Identifier: BSD-3-Clause
 * Checks that the controller's table of ISA extensions and categories has the names of the
 * installed decoder, Zydis. */
#include <dlfcn.h>

#include "controller/language/language.h"
#include "t/tap.h"

#if defined(__has_include)
#if __has_include(<Zydis/Zydis.h>)
#include <Zydis/Zydis.h>
#define HAVE_ZYDIS 1
#endif
#endif

#ifdef HAVE_ZYDIS
typedef const char *name_function(int);

static void compare(void *library, const char *symbol, int most, const char *const *table,
                    const char *what)
{
    void *address = dlsym(library, symbol);
    name_function *name_of = NULL;
    memcpy(&name_of, &address, sizeof address);
    int missing = 0, count = 0;
    /* 0 is INVALID. */
    for (int i = 1; name_of != NULL && i <= most; i++, count++) {
        const char *name = name_of(i);
        if (name_find((struct span){name, strlen(name)}, table) < 0) {
            diag("%s is not in our table", name);
            missing++;
        }
    }
    int ours = 0;
    while (table[ours] != NULL)
        ours++;
    ok(name_of != NULL && missing == 0 && count == ours, "%s: %d names, all of them and no more",
       what, ours);
}
#endif

int main(void)
{
#ifdef HAVE_ZYDIS
    void *library = dlopen("libZydis.so.4.0", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        compare(library, "ZydisISAExtGetString", ZYDIS_ISA_EXT_MAX_VALUE, isa_extension_names,
                "ISA extensions");
        compare(library, "ZydisCategoryGetString", ZYDIS_CATEGORY_MAX_VALUE, isa_category_names,
                "ISA categories");
        dlclose(library);
        return done_testing();
    }
#endif
    skip("names of the decoder", "Zydis 4.0 is not installed");
    return done_testing();
}
