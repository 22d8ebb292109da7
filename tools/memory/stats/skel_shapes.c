/* SPDX-License-Identifier: BSD-3-Clause
 * Reads the shapes of skeletons from their texts (skel_shape_lines.h). */
#include "tools/memory/stats/skel_shapes.h"

#include "tools/addresses.h"
#include "tools/json.h"
#include "tools/memory/stats/skel_shape_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Appends a zeroed element to a list and returns it, or NULL if there is no memory. */
static void *grow(void *list, size_t *count, size_t bytes)
{
    char *rows; /* `list` points to a pointer of any type */
    memcpy((void *)&rows, list, sizeof rows);
    if ((*count & (*count - 1)) == 0) {
        char *more = realloc(rows, (*count == 0 ? 1 : 2 * *count) * bytes);
        if (more == NULL)
            return NULL;
        rows = more;
        memcpy(list, (void *)&rows, sizeof rows);
    }
    memset(rows + *count * bytes, 0, bytes);
    return rows + (*count)++ * bytes;
}

/* --- images ----------------------------------------------------------------------------------- */

/* Reads path and build id from the first line of the skeleton's C: "/ * Skeleton of PATH, build id
 * HEX. * /". */
static bool read_image(const struct skel_folder *f, const char *skeleton,
                       struct rt_accesses_image *out)
{
    static const char begin[] = "/* Skeleton of ", id[] = ", build id ";
    char path[PATH_MAX + 64], *line = NULL, *middle = NULL;
    size_t room = 0;
    (void)snprintf(path, sizeof path, "%s/%s", f->folder, skeleton);
    FILE *in = fopen(path, "re");
    if (in != NULL && getline(&line, &room, in) > 0 && strncmp(line, begin, sizeof begin - 1) == 0)
        for (char *p = line; (p = strstr(p, id)) != NULL; p++)
            middle = p;
    if (in != NULL)
        (void)fclose(in);
    if (middle != NULL)
        *middle = '\0';
    const char *digits = middle != NULL ? middle + sizeof id - 1 : "";
    out->path = strdup(middle != NULL ? line + sizeof begin - 1 : "");
    out->build_id = strndup(digits, strspn(digits, "0123456789abcdef"));
    free(line);
    return out->path != NULL && out->build_id != NULL;
}

uint32_t skel_shapes_image(const struct skel_shapes *s, const char *skeleton)
{
    for (size_t i = 0; i < s->image_count; i++)
        if (strcmp(s->skeletons[i], skeleton) == 0)
            return (uint32_t)i;
    return SKEL_NO_IMAGE;
}

static uint32_t image_of(struct skel_shapes *s, const struct skel_folder *f, const char *skeleton)
{
    uint32_t known = skel_shapes_image(s, skeleton);
    size_t count = s->image_count;
    if (known != SKEL_NO_IMAGE)
        return known;
    char *name = grow(&s->skeletons, &count, sizeof *s->skeletons);
    struct rt_accesses_image *image =
        name != NULL ? grow(&s->images, &s->image_count, sizeof *image) : NULL;
    if (image == NULL || !read_image(f, skeleton, image))
        return SKEL_NO_IMAGE;
    (void)snprintf(name, sizeof *s->skeletons, "%s", skeleton);
    return (uint32_t)count - 1;
}

/* --- places ----------------------------------------------------------------------------------- */

const struct rt_accesses_place *skel_shapes_find(const struct skel_shapes *s, uint32_t image,
                                                 uint64_t address)
{
    uint32_t row = key_table_find(&s->place_keys, image, address);
    return row != KEY_NONE ? &s->places[row] : NULL;
}

/* Copies the text after a blank; sets NULL if there is none. Returns false if there is no
 * memory. */
static bool take_text(const char *text, const char **out)
{
    *out = text[0] == ' ' && text[1] != '\0' ? strdup(text + 1) : NULL;
    return *out != NULL || text[0] != ' ' || text[1] == '\0';
}

/* Adds an instruction; one that is known already stays unchanged. */
static bool add_place(struct skel_shapes *s, uint64_t address, const struct rt_accesses_place *what,
                      const char *text)
{
    if (key_table_find(&s->place_keys, what->image, address) != KEY_NONE)
        return true;
    struct rt_accesses_place *p = grow(&s->places, &s->place_count, sizeof *p);
    if (p == NULL || key_table_add(&s->place_keys, what->image, address) == KEY_NONE)
        return false;
    *p = *what;
    p->address = address;
    return take_text(text, &p->expression);
}

/* --- functions and loops ---------------------------------------------------------------------- */

/* A mid-function entry has the name NAME+0xOFFSET. Removes the offset from `name` and returns the
 * address of its function; returns any other address unchanged. */
static uint64_t start_of(uint64_t address, char *name)
{
    char *plus = strrchr(name, '+'), *end = NULL;
    uint64_t offset = plus != NULL && strncmp(plus, "+0x", 3) == 0 ? strtoull(plus, &end, 16) : 0;
    if (end == NULL || end == plus || *end != '\0')
        return address;
    *plus = '\0';
    return address - offset;
}

static uint32_t function_of(struct skel_shapes *s, uint32_t image, uint64_t address, char *name)
{
    address = start_of(address, name);
    for (size_t i = 0; i < s->function_count; i++)
        if (s->functions[i].image == image && s->functions[i].address == address)
            return (uint32_t)i;
    struct rt_accesses_function *f = grow(&s->functions, &s->function_count, sizeof *f);
    char *copy = strdup(name);
    if (f == NULL || copy == NULL) {
        free(copy);
        return UINT32_MAX;
    }
    *f = (struct rt_accesses_function){.image = image, .address = address, .name = copy};
    return (uint32_t)s->function_count - 1;
}

static int32_t loop_of(struct skel_shapes *s, uint32_t function, uint64_t head, int32_t parent,
                       char *rest)
{
    char *end;
    uint32_t depth = (uint32_t)strtoul(rest, &end, 16);
    for (size_t i = 0; i < s->loop_count; i++)
        if (s->loops[i].function == function && s->loops[i].head == head)
            return (int32_t)i;
    struct rt_accesses_loop *l = grow(&s->loops, &s->loop_count, sizeof *l);
    if (l == NULL)
        return -2;
    *l = (struct rt_accesses_loop){
        .function = function, .parent = parent, .depth = depth, .head = head};
    return take_text(end, &l->counter) ? (int32_t)s->loop_count - 1 : -2;
}

/* --- lines of one skeleton -------------------------------------------------------------------- */

struct shape_reading {
    struct skel_shapes *shapes;
    const struct skel_folder *folder;
    const char *skeleton; /* name of the skeleton */
    /* For skeletons of mid-function entries: a recording that names their images; else NULL. */
    const struct skel_recording *whose;
    uint32_t image, function;
    int32_t *loops; /* rows of the function's loops */
    size_t loop_count;
};

static bool take_function(struct shape_reading *r, char *text)
{
    char *end, *name;
    unsigned long number = strtoul(text, &end, 16);
    uint64_t address = strtoull(end, &name, 16);
    if (*name != ' ' || (r->whose != NULL && number >= r->whose->head.image_count))
        return false;
    r->image = image_of(r->shapes, r->folder,
                        r->whose != NULL ? r->whose->head.images[number].skeleton : r->skeleton);
    r->function = r->image == SKEL_NO_IMAGE ? UINT32_MAX
                                            : function_of(r->shapes, r->image, address, name + 1);
    r->loop_count = 0;
    return r->function != UINT32_MAX;
}

/* Parses "-" (sets -1) or the number of a loop of the function (sets its row). */
static bool take_loop_number(const struct shape_reading *r, char **text, int32_t *out)
{
    char *from = *text + strspn(*text, " ");
    *out = -1;
    if (*from == '-') {
        *text = from + 1;
        return true;
    }
    unsigned long n = strtoul(from, text, 16);
    if (*text == from || n >= r->loop_count)
        return false;
    *out = r->loops[n];
    return true;
}

static bool take_loop(struct shape_reading *r, char *text)
{
    char *end;
    int32_t parent;
    uint64_t head = strtoull(text, &end, 16);
    if (!take_loop_number(r, &end, &parent))
        return false;
    int32_t loop = loop_of(r->shapes, r->function, head, parent, end);
    int32_t *place = loop >= -1 ? grow(&r->loops, &r->loop_count, sizeof *place) : NULL;
    if (place != NULL)
        *place = loop;
    return place != NULL;
}

static bool take_place(struct shape_reading *r, char *text)
{
    char *end;
    struct rt_accesses_place p = {.image = r->image, .function = r->function};
    uint64_t address = strtoull(text, &end, 16);
    return take_loop_number(r, &end, &p.loop) && add_place(r->shapes, address, &p, end);
}

static bool understand(struct shape_reading *r, char *line)
{
    if (strncmp(line, "function ", 9) == 0)
        return take_function(r, line + 9);
    if (strncmp(line, "loop ", 5) == 0)
        return take_loop(r, line + 5);
    return strncmp(line, "place ", 6) == 0 && take_place(r, line + 6);
}

static void say_not_understood(const struct shape_reading *r, const char *line)
{
    char *plain = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&plain, &n);
    if (out != NULL) {
        text_write_plain(out, line);
        (void)fclose(out);
    }
    tool_error("skel", "the loops of %s are not known: \"%s\" was not understood", r->skeleton,
               plain != NULL ? plain : "");
    free(plain);
}

static bool take_line(void *context, char *line)
{
    if (understand(context, line))
        return true;
    say_not_understood(context, line);
    return false;
}

/* Reads the functions of a skeleton that were compiled, which are those that were entered. The last
 * comes first: rows have that order in what earlier versions wrote. */
static bool read_one(struct shape_reading *r, const struct skel_built *b)
{
    char path[PATH_MAX + 64];
    struct skel_text t;
    (void)snprintf(path, sizeof path, "%s/%s", r->folder->builds.folder, b->name);
    bool good = skel_text_read(&t, path);
    if (!good)
        tool_error("skel", "no skeleton: %s: %s", path, strerror(errno));
    for (size_t k = t.count; good && k-- > 0;)
        if (skel_built_has(b, t.functions[k].number))
            good = skel_shape_lines(&t, &t.functions[k], take_line, r);
    free(r->loops);
    skel_text_free(&t);
    return good;
}

static bool is_late(const char *skeleton)
{
    return strstr(skeleton, ".late.") != NULL;
}

static const struct skel_recording *who_names(const struct skel_folder *f, const char *late)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->list[i]->head.late, late) == 0)
            return f->list[i];
    return NULL;
}

/* Reads the skeletons of images before those of mid-function entries: the analysis of a whole
 * function knows more of its loops, and the first row stays. */
bool skel_shapes_read(struct skel_shapes *s, const struct skel_folder *f)
{
    *s = (struct skel_shapes){.images = NULL};
    for (int late = 0; late < 2; late++)
        for (size_t i = 0; i < f->builds.built_count; i++) {
            const struct skel_built *b = f->builds.built[i];
            struct shape_reading r = {.shapes = s, .folder = f, .skeleton = b->name};
            r.whose = late != 0 ? who_names(f, b->name) : NULL;
            if (b->path[0] != '\0' && is_late(b->name) == (late != 0) &&
                (late == 0 || r.whose != NULL) && !read_one(&r, b))
                return false;
        }
    return true;
}

/* --- names ------------------------------------------------------------------------------------ */

static void resolve_image(struct skel_shapes *s, uint32_t image, struct image_symbols *symbols)
{
    for (size_t i = 0; i < s->function_count; i++) {
        char *name = NULL;
        if (s->functions[i].image == image)
            image_symbols_find(symbols, s->functions[i].address, &name, NULL);
        if (name != NULL) {
            free((void *)(uintptr_t)s->functions[i].name);
            s->functions[i].name = name;
        }
    }
    for (size_t i = 0; i < s->loop_count; i++) {
        char *name = NULL, *line = NULL;
        if (s->functions[s->loops[i].function].image == image)
            image_symbols_find(symbols, s->loops[i].head, &name, &line);
        s->loops[i].line = line != NULL ? line : s->loops[i].line;
        free(name);
    }
    for (size_t i = 0; i < s->place_count; i++) {
        char *name = NULL, *line = NULL;
        if (s->places[i].image == image)
            image_symbols_find(symbols, s->places[i].address, &name, &line);
        s->places[i].line = line != NULL ? line : s->places[i].line;
        free(name);
    }
}

void skel_shapes_resolve(struct skel_shapes *s)
{
    for (uint32_t i = 0; i < s->image_count; i++) {
        int problem;
        struct image_symbols *symbols =
            image_symbols_open(s->images[i].path, s->images[i].build_id, &problem);
        if (symbols != NULL)
            resolve_image(s, i, symbols);
        image_symbols_close(symbols);
    }
}

static void free_text(const char *text)
{
    free((void *)(uintptr_t)text);
}

void skel_shapes_free(struct skel_shapes *s)
{
    for (size_t i = 0; i < s->image_count; i++) {
        free_text(s->images[i].path);
        free_text(s->images[i].build_id);
    }
    for (size_t i = 0; i < s->function_count; i++)
        free_text(s->functions[i].name);
    for (size_t i = 0; i < s->loop_count; i++) {
        free_text(s->loops[i].line);
        free_text(s->loops[i].counter);
    }
    for (size_t i = 0; i < s->place_count; i++) {
        free_text(s->places[i].line);
        free_text(s->places[i].expression);
    }
    free(s->skeletons);
    free(s->images);
    free(s->functions);
    free(s->loops);
    free(s->places);
    key_table_free(&s->place_keys);
    *s = (struct skel_shapes){.images = NULL};
}
