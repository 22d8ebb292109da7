/* SPDX-License-Identifier: BSD-3-Clause
 * Names of ISA extensions and categories: those of the decoder (Zydis 4.0, which follows Intel XED), and XED's own
 * spelling where the two differ.
 *
 * A copy, since controller/ needs libc alone; t/controller/isa_names.c compares it with the decoder's. */
#include <string.h>

#include "controller/language.h"

const char *const isa_extension_names[] = {
    "ADOX_ADCX", "AES", "AMD3DNOW", "AMD3DNOW_PREFETCH", "AMD_INVLPGB", "AMX_BF16", "AMX_INT8",
    "AMX_TILE", "AVX", "AVX2", "AVX2GATHER", "AVX512EVEX", "AVX512VEX", "AVXAES", "AVX_VNNI",
    "BASE", "BMI1", "BMI2", "CET", "CLDEMOTE", "CLFLUSHOPT", "CLFSH", "CLWB", "CLZERO", "ENQCMD",
    "F16C", "FMA", "FMA4", "GFNI", "HRESET", "INVPCID", "KEYLOCKER", "KEYLOCKER_WIDE", "KNC",
    "KNCE", "KNCV", "LONGMODE", "LZCNT", "MCOMMIT", "MMX", "MONITOR", "MONITORX", "MOVBE",
    "MOVDIR", "MPX", "PADLOCK", "PAUSE", "PCLMULQDQ", "PCONFIG", "PKU", "PREFETCHWT1", "PT",
    "RDPID", "RDPRU", "RDRAND", "RDSEED", "RDTSCP", "RDWRFSGS", "RTM", "SERIALIZE", "SGX",
    "SGX_ENCLV", "SHA", "SMAP", "SMX", "SNP", "SSE", "SSE2", "SSE3", "SSE4", "SSE4A", "SSSE3",
    "SVM", "TBM", "TDX", "TSX_LDTRK", "UINTR", "VAES", "VMFUNC", "VPCLMULQDQ", "VTX", "WAITPKG",
    "X87", "XOP", "XSAVE", "XSAVEC", "XSAVEOPT", "XSAVES", NULL,
};

const char *const isa_category_names[] = {
    "ADOX_ADCX", "AES", "AMD3DNOW", "AMX_TILE", "AVX", "AVX2", "AVX2GATHER", "AVX512",
    "AVX512_4FMAPS", "AVX512_4VNNIW", "AVX512_BITALG", "AVX512_VBMI", "AVX512_VP2INTERSECT",
    "BINARY", "BITBYTE", "BLEND", "BMI1", "BMI2", "BROADCAST", "CALL", "CET", "CLDEMOTE",
    "CLFLUSHOPT", "CLWB", "CLZERO", "CMOV", "COMPRESS", "COND_BR", "CONFLICT", "CONVERT",
    "DATAXFER", "DECIMAL", "ENQCMD", "EXPAND", "FCMOV", "FLAGOP", "FMA4", "FP16", "GATHER", "GFNI",
    "HRESET", "IFMA", "INTERRUPT", "IO", "IOSTRINGOP", "KEYLOCKER", "KEYLOCKER_WIDE", "KMASK",
    "KNC", "KNCMASK", "KNCSCALAR", "LEGACY", "LOGICAL", "LOGICAL_FP", "LZCNT", "MISC", "MMX",
    "MOVDIR", "MPX", "NOP", "PADLOCK", "PCLMULQDQ", "PCONFIG", "PKU", "POP", "PREFETCH",
    "PREFETCHWT1", "PT", "PUSH", "RDPID", "RDPRU", "RDRAND", "RDSEED", "RDWRFSGS", "RET", "ROTATE",
    "SCATTER", "SEGOP", "SEMAPHORE", "SERIALIZE", "SETCC", "SGX", "SHA", "SHIFT", "SMAP", "SSE",
    "STRINGOP", "STTNI", "SYSCALL", "SYSRET", "SYSTEM", "TBM", "TSX_LDTRK", "UFMA", "UINTR",
    "UNCOND_BR", "VAES", "VBMI2", "VEX", "VFMA", "VPCLMULQDQ", "VTX", "WAITPKG", "WIDENOP",
    "X87_ALU", "XOP", "XSAVE", "XSAVEOPT", NULL,
};

/* XED's enumerations (xed-extension-enum.h, xed-category-enum.h) on the left. */
static const struct {
    const char *xed, *decoder;
} aliases[] = {
    {"3DNOW", "AMD3DNOW"},
    {"3DNOW_PREFETCH", "AMD3DNOW_PREFETCH"},
    {"VIA_PADLOCK", "PADLOCK"},
    {"VIA_PADLOCK_AES", "PADLOCK"},
    {"VIA_PADLOCK_MONTMUL", "PADLOCK"},
    {"VIA_PADLOCK_RNG", "PADLOCK"},
    {"VIA_PADLOCK_SHA", "PADLOCK"},
};

struct span isa_alias(struct span name, enum ctl_type type)
{
    const char *const *table = type == CTL_ISA_EXTENSION ? isa_extension_names : isa_category_names;
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        struct span decoder = {aliases[i].decoder, strlen(aliases[i].decoder)};
        if (name_equals(name, aliases[i].xed) && name_find(decoder, table) >= 0)
            return decoder;
    }
    return name;
}
