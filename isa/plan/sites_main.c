/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-isa sites: finds where an image must be patched for a request.
 *
 * It runs before the traced program's main, and answers on stdout with lines whose fields are
 * separated by tabs:
 *
 *   plan  REQUEST SITES REFUSED UNSURE FILE   the plan is in that file (format: isa/isa.h)
 *   plan  REQUEST SITES REFUSED UNSURE =N     no cache: N bytes follow this line, then a newline
 *   say   REQUEST TEXT                        for the user: nearest names, places left alone
 *   !     REQUEST REASON                      the request cannot be answered
 *   end                                       always the last line
 *
 * With --instruction ADDRESS BYTES it reads no image. The answer is a plan of one site: the
 * instruction that these bytes (in hexadecimal) begin with, made to run elsewhere.
 *
 * Requests: isa/plan/site.h. Exit status: 0; 1 if a request cannot be answered; 2 for a wrong
 * command line. */
#include "isa/commands.h"
#include "isa/plan/plan_cache.h"
#include "isa/plan/site.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "Usage: regtrace-isa sites [--cache FOLDER | --no-cache] [--text] IMAGE REQUEST... [-- IMAGE "
    "REQUEST...]...\n"
    "       regtrace-isa sites --instruction ADDRESS BYTES\n"
    "Says where an image is to be patched. For regtrace's own use.\n"
    "Requests: enter:NAME rets:NAME returns:[NAME] exits:NAME symbol:NAME[+OFFSET] address:N "
    "offset:N ssc:HEX "
    "int3 magic\n"
    "          cpuid itext:BYTES isa_extension:NAME isa_category:NAME functions:REGEX starts:REGEX "
    "callers:REGEX\n"
    "          stubs:REGEX inlined:NAME\n"
    "--text lists sites instead of writing plans.\n";

struct site_job {
    struct image *image;
    bool read; /* the image's symbols have been read */
    /* Made when first needed; partial if that is enough for the request. */
    struct code *code;
    struct code names; /* replaces `code` for plans that need none: has no segments */
    char **requests;   /* all requests for this image */
    int request_count;
    struct cache cache;
    bool text;
};

static void print_field(const char *text)
{
    (void)putchar('\t');
    for (; *text != '\0'; text++)
        (void)putchar((unsigned char)*text < ' ' ? ' ' : *text);
}

static void refuse(const char *request, const char *reason)
{
    (void)putchar('!');
    print_field(request);
    print_field(reason);
    (void)putchar('\n');
}

static void print_hex(const char *name, const uint8_t *bytes, unsigned n)
{
    (void)printf("\t%s=", name);
    for (unsigned i = 0; i < n; i++)
        (void)printf("%02x", bytes[i]);
}

static void print_copy(const struct plan *p, const char *name, const struct isa_copy *c)
{
    (void)printf("\t%s=%u:", name, c->displaced);
    for (unsigned i = 0; i < c->bytes; i++)
        (void)printf("%02x", p->bytes[c->code + i]);
    for (unsigned i = 0; i < c->fixup_count; i++) {
        const struct isa_fixup *f = &p->fixups[c->fixups + i];
        (void)printf(":%u,%u,%" PRIx64, f->at, f->end, f->target);
    }
}

/* Prints a site on a line: address, patch=, flags=, bytes=, one=, jump= (displaced:code:fixups), or
 * the reason of refusal. */
static void print_sites(const struct plan *p)
{
    for (size_t i = 0; i < p->site_count; i++) {
        const struct isa_site *s = &p->sites[i];
        (void)printf("site\t%" PRIx64 "\tpatch=%u\tflags=%x", s->address, s->patch, s->flags);
        if ((s->flags & ISA_SITE_REFUSED) != 0) {
            (void)printf("\trefused=%s\n", p->text + s->reason);
            continue;
        }
        print_hex("bytes", p->bytes + s->bytes,
                  s->jump.displaced != 0 ? s->jump.displaced : s->one.displaced);
        print_copy(p, "one", &s->one);
        if (s->jump.displaced != 0)
            print_copy(p, "jump", &s->jump);
        (void)putchar('\n');
    }
}

static void print_plan(const struct isa_plan *h, const char *text, const char *where)
{
    (void)fputs("plan", stdout);
    print_field(text);
    (void)printf("\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64, h->sites.count, h->refused, h->unsure);
    print_field(where);
    (void)putchar('\n');
}

/* Prints the remarks after the request in a plan's text. */
static void print_remarks(const struct isa_plan *h, const char *text)
{
    for (const char *t = text; (t += strlen(t) + 1) < text + h->text.count;) {
        (void)fputs("say", stdout);
        print_field(text);
        print_field(t);
        (void)putchar('\n');
    }
}

static bool hand_out(struct site_job *j, const struct plan *p, const char *request)
{
    char path[PATH_MAX];
    size_t n;
    struct isa_plan h;
    uint8_t *bytes = plan_bytes(p, &n);
    if (bytes == NULL)
        return false;
    memcpy(&h, bytes, sizeof h);
    bool kept = cache_path(&j->cache, j->image, request, path) &&
                cache_put(j->cache.folder, path, bytes, n);
    if (!kept && !j->text)
        (void)snprintf(path, sizeof path, "=%zu", n);
    print_plan(&h, (const char *)bytes + h.text.offset, j->text ? "-" : path);
    if (j->text)
        print_sites(p);
    else if (!kept)
        (void)(fwrite(bytes, 1, n, stdout), putchar('\n'));
    print_remarks(&h, (const char *)bytes + h.text.offset);
    free(bytes);
    return true;
}

static bool from_cache(const struct site_job *j, const char *request)
{
    char path[PATH_MAX];
    struct isa_plan h;
    if (j->text || !cache_path(&j->cache, j->image, request, path) ||
        !cache_has(path, j->image, request))
        return false;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *bytes = fd >= 0 && fstat(fd, &st) == 0 ? malloc((size_t)st.st_size) : NULL;
    bool read_all = bytes != NULL && read(fd, bytes, (size_t)st.st_size) == st.st_size &&
                    plan_is_whole((uint8_t *)bytes, (size_t)st.st_size, j->image, request);
    if (read_all) {
        memcpy(&h, bytes, sizeof h);
        print_plan(&h, bytes + h.text.offset, path);
        print_remarks(&h, bytes + h.text.offset);
    }
    free(bytes);
    if (fd >= 0)
        (void)close(fd);
    return read_all;
}

/* Decodes the part of the image that all requests for known places need. */
static struct code *open_part(const struct site_job *j)
{
    static struct request q;
    struct address_list places = {.at = NULL};
    struct callees callees = {.functions.at = NULL};
    for (int i = 0; i < j->request_count; i++) {
        if (request_read(&q, j->requests[i], NULL) != 0)
            continue;
        (void)request_places(&q, j->image, &places);
        if (q.kind == REQUEST_EXITS)
            (void)request_callees(&q, j->image, &callees);
    }
    struct code *c = code_open_part(j->image, &places, &callees);
    free(places.at);
    callees_free(&callees);
    return c;
}

/* Decodes the image once, for the first request that needs it; only a part if that is enough. */
static bool prepare(struct site_job *j, const struct request *q, struct rt_error *e)
{
    struct address_list places = {.at = NULL};
    if (j->code != NULL && !j->code->partial)
        return true;
    if (!j->read && image_read(j->image, e) != 0)
        return false;
    j->read = true;
    if (request_is_elsewhere(q, j->image))
        return true;
    bool part = request_places(q, j->image, &places);
    free(places.at);
    if (j->code != NULL && part)
        return true;
    code_close(j->code);
    j->code = part ? open_part(j) : code_open(j->image);
    if (j->code == NULL)
        rt_error_set(e, "%s: no memory", j->image->path);
    return j->code != NULL;
}

/* A partial map may leave in doubt what a complete map decides: then decodes everything. */
static int make(struct site_job *j, struct plan *p, const struct request *q)
{
    j->names = (struct code){.image = j->image};
    int rc = plan_make(p, j->code != NULL ? j->code : &j->names, q);
    if (rc != 0 || j->code == NULL || !j->code->partial || q->kind == REQUEST_EXITS ||
        (p->unsure == 0 && p->refused == 0))
        return rc;
    plan_free(p);
    code_close(j->code);
    j->code = code_open(j->image);
    *p = (struct plan){.code = NULL};
    return j->code != NULL ? plan_make(p, j->code, q) : -ENOMEM;
}

static bool answer(struct site_job *j, const char *request)
{
    static struct request q;
    struct rt_error e = {""};
    struct plan p;
    if (request_read(&q, request, &e) != 0) {
        refuse(request, e.text);
        return false;
    }
    if (from_cache(j, request))
        return true;
    cache_lock(&j->cache, j->image);
    bool done = from_cache(j, request); /* made by the process that held the lock */
    if (!done && prepare(j, &q, &e)) {
        int rc = make(j, &p, &q);
        done = rc == 0 && hand_out(j, &p, request);
        if (!done)
            rt_error_set(&e, "%s", rc == -ENAMETOOLONG ? "it is too long" : "no memory");
        plan_free(&p);
    }
    cache_unlock(&j->cache);
    if (!done)
        refuse(request, e.text);
    return done;
}

/* Answers all requests for one image: the words before the next "--". */
static bool answer_all(struct site_job *j, char **words, int count)
{
    struct rt_error e = {""};
    bool all = true;
    j->code = NULL;
    j->read = false;
    j->requests = words + 1;
    j->request_count = count - 1;
    j->image = image_peek(words[0], &e);
    for (int k = 1; k < count; k++) {
        if (j->image == NULL)
            refuse(words[k], e.text);
        all = j->image != NULL && answer(j, words[k]) && all;
    }
    code_close(j->code);
    image_close(j->image);
    (void)fflush(stdout); /* the waiting process sees progress */
    return all;
}

/* Answers --instruction for a thread that is in the middle of something: uses no files and no
 * cache. */
static bool answer_instruction(const char *address, const char *bytes)
{
    static struct request q;
    static const struct image none;
    const struct code code = {.image = &none};
    struct site_job j = {.cache = {.lock = -1}};
    struct rt_error e = {""};
    struct plan p = {.code = NULL};
    char text[64], *end;
    uint64_t at = strtoull(address, &end, 0);
    (void)snprintf(text, sizeof text, "itext:%s", bytes);
    const char *why = *end != '\0' ? "there is no such address" : NULL;
    if (why == NULL && request_read(&q, text, &e) != 0)
        why = e.text;
    if (why == NULL)
        why = plan_make_instruction(&p, &code, at, q.bytes, q.byte_count);
    if (why == NULL && !hand_out(&j, &p, "instruction"))
        why = "no memory";
    if (why != NULL)
        refuse("instruction", why);
    plan_free(&p);
    (void)puts("end");
    return why == NULL;
}

static bool is_end(const char *word)
{
    return word == NULL || strcmp(word, "--") == 0;
}

int sites_main(int argc, char **argv)
{
    struct site_job j = {.cache = {.lock = -1}};
    const char *folder = NULL;
    bool cached = true, all = true;
    int i = 1;
    if (argc == 4 && strcmp(argv[1], "--instruction") == 0)
        return !answer_instruction(argv[2], argv[3]);
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--cache") == 0 && i + 1 < argc)
            folder = argv[++i];
        else if (strcmp(argv[i], "--no-cache") == 0)
            cached = false;
        else if (strcmp(argv[i], "--text") == 0)
            j.text = true;
        else
            break;
    }
    if (argc - i < 2 || strncmp(argv[i], "--", 2) == 0) {
        bool help = i < argc && strcmp(argv[i], "--help") == 0;
        (void)fputs(usage, help ? stdout : stderr);
        return help ? 0 : 2;
    }
    if (cached && !j.text)
        cache_open(&j.cache, folder);
    for (int from = i; from < argc; from = i + 1) {
        for (i = from; !is_end(argv[i]);)
            i++;
        all = (i == from || answer_all(&j, argv + from, i - from)) && all;
    }
    (void)puts("end");
    return fflush(stdout) == 0 && all ? 0 : 1;
}
