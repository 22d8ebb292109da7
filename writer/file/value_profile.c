/* SPDX-License-Identifier: BSD-3-Clause
 * Writes merged value profiles as HDF5 (share/doc/schema.md); the same profile gives the same
 * bytes. */
#include "writer/file/channels.h"

#include <errno.h>
#include <unistd.h>

#define FIELD(row, member, kind)                                                                   \
    {                                                                                              \
#member, offsetof(struct row, member), kind, 0                                             \
    }
static const struct schema_field image_fields[] = {FIELD(rt_profile_image, path, KIND_TEXT),
                                                   FIELD(rt_profile_image, build_id, KIND_TEXT)};
static const struct schema_field instruction_fields[] = {
    FIELD(rt_profile_instruction, image, KIND_U32),
    FIELD(rt_profile_instruction, offset, KIND_U64),
    FIELD(rt_profile_instruction, samples, KIND_U64),
    FIELD(rt_profile_instruction, periods, KIND_U64),
    FIELD(rt_profile_instruction, values, KIND_U64),
    FIELD(rt_profile_instruction, threshold, KIND_F64),
    FIELD(rt_profile_instruction, code, KIND_TEXT),
    FIELD(rt_profile_instruction, function, KIND_TEXT),
    FIELD(rt_profile_instruction, line, KIND_TEXT)};
static const struct schema_field hot_fields[] = {
    FIELD(rt_profile_hot, instruction, KIND_U32), FIELD(rt_profile_hot, value, KIND_U64),
    FIELD(rt_profile_hot, times, KIND_F64),       FIELD(rt_profile_hot, image0, KIND_U32),
    FIELD(rt_profile_hot, context0, KIND_U64),    FIELD(rt_profile_hot, image1, KIND_U32),
    FIELD(rt_profile_hot, context1, KIND_U64)};

static int put_attributes(hid_t file, const char *path, const struct rt_profile *p,
                          struct rt_error *e)
{
    const uint64_t version = RT_SCHEMA_VERSION;
    const struct {
        const char *name;
        const uint64_t *value;
    } numbers[] = {{"schema_version", &version},     {"processes", &p->processes},
                   {"samples", &p->samples},         {"captured", &p->captured},
                   {"unknown", &p->unknown},         {"unlearned", &p->unlearned},
                   {"not_run", &p->not_run},         {"busy", &p->busy},
                   {"skipped", &p->skipped},         {"damaged", &p->damaged},
                   {"unprocessed", &p->unprocessed}, {"strange", &p->strange}};
    errno = 0;
    bool good = schema_put_text(file, "plugin", p->plugin, 0) >= 0;
    for (size_t i = 0; good && i < sizeof numbers / sizeof *numbers; i++)
        good = schema_put_number(file, numbers[i].name, H5T_NATIVE_UINT64, numbers[i].value) >= 0;
    return good ? 0 : channels_failed(path, e);
}

int rt_profile_write(const char *path, const struct rt_profile *p, struct rt_error *e)
{
    const struct text_table images = {"images", sizeof *p->images, image_fields, 2},
                            instructions = {"instructions", sizeof *p->instructions,
                                            instruction_fields, 9},
                            hot = {"hot", sizeof *p->hot, hot_fields, 7};
    int rc = schema_start_hdf5(e);
    if (rc != 0)
        return rc;
    errno = 0;
    hid_t creation = channels_timeless(H5P_FILE_CREATE), access = schema_file_access(), file = -1;
    if (creation >= 0 && access >= 0)
        file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
    if (creation >= 0)
        (void)H5Pclose(creation);
    if (access >= 0)
        (void)H5Pclose(access);
    if (file < 0)
        return channels_failed(path, e);
    rc = put_attributes(file, path, p, e);
    if (rc == 0)
        rc = channels_put_table(path, file, &images, p->images, p->image_count, e);
    if (rc == 0)
        rc =
            channels_put_table(path, file, &instructions, p->instructions, p->instruction_count, e);
    if (rc == 0)
        rc = channels_put_table(path, file, &hot, p->hot, p->hot_count, e);
    errno = 0;
    if (H5Fclose(file) < 0 && rc == 0)
        rc = channels_failed(path, e);
    if (rc != 0)
        (void)unlink(path);
    return rc;
}
