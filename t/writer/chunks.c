/* SPDX-License-Identifier: BSD-3-Clause
 * Compares raw reading of chunks of /events with H5Dread, for all ways of storing them. Also
 * damages chunks in each place, and reads from a child process that lies. */
#include "t/tap.h"
#include "writer/read/event_chunks.h"
#include "writer/read/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK = 1000, ROWS = 5 * CHUNK + 137, MOST = 3 * (int)SCHEMA_EVENT_CHUNK };

static char path[4096];
static struct rt_event written[MOST], got[MOST], want[MOST];

static uint64_t scramble(uint64_t i)
{
    i = (i ^ (i >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    return i ^ (i >> 29);
}

/* Fills rows like a program's. `a` cannot be compressed, and no byte of a row is always 0. */
static void fill_rows(void)
{
    for (uint64_t i = 0; i < MOST; i++)
        written[i] = (struct rt_event){.clock = UINT64_C(0x0102030405060708) + 37 * i,
                                       .code = EVENT_MPI_ENTER((uint32_t)i % 40) | 1u << 30,
                                       .thread = -(int32_t)(i / 500),
                                       .window = 0x11223344 + (int32_t)(i % 3),
                                       .cpu = (uint16_t)(i + 256),
                                       .flags = (uint16_t)(i % 7 + 512),
                                       .a = scramble(i),
                                       .b = UINT64_C(0xf0e0d0c0b0a09080) + i % 5};
}

/* A file that differs from what schema_create_dataset() makes. */
struct kind {
    const char *name;
    hsize_t chunk; /* 0: contiguous */
    bool shuffle, deflate, deflate_first, checksum, partial_unfiltered;
    bool wider;   /* one field has another type */
    bool refused; /* chunks_open() refuses it */
};

static hid_t list_of(const struct kind *k)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (k->chunk != 0)
        (void)H5Pset_chunk(list, 1, &k->chunk);
    if (k->deflate_first)
        (void)H5Pset_deflate(list, 1);
    if (k->shuffle)
        (void)H5Pset_shuffle(list);
    if (k->deflate)
        (void)H5Pset_deflate(list, 1);
    if (k->checksum)
        (void)H5Pset_fletcher32(list);
    if (k->partial_unfiltered)
        (void)H5Pset_chunk_opts(list, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    return list;
}

static hid_t file_type(const struct kind *k)
{
    hid_t ours = schema_memory_type(SCHEMA_EVENTS);
    if (!k->wider)
        return ours;
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct rt_event));
    for (unsigned i = 0; i < (unsigned)H5Tget_nmembers(ours); i++) {
        char *name = H5Tget_member_name(ours, i);
        hid_t member =
            strcmp(name, "a") == 0 ? H5Tcopy(H5T_STD_U64BE) : H5Tget_member_type(ours, i);
        (void)H5Tinsert(type, name, H5Tget_member_offset(ours, i), member);
        (void)H5Tclose(member);
        (void)H5free_memory(name);
    }
    (void)H5Tclose(ours);
    return type;
}

static hid_t create_file(void)
{
    hid_t access = schema_file_access();
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    (void)H5Pclose(access);
    return file;
}

static bool write_rows(hid_t dataset, hsize_t rows)
{
    hid_t type = schema_memory_type(SCHEMA_EVENTS);
    bool good = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, written) >= 0;
    (void)H5Tclose(type);
    return good && rows <= MOST;
}

static bool make_file(const struct kind *k, hsize_t rows)
{
    hsize_t most = k->chunk != 0 ? H5S_UNLIMITED : rows;
    hid_t file = create_file(), list = list_of(k), type = file_type(k);
    hid_t space = H5Screate_simple(1, &rows, &most);
    hid_t dataset = H5Dcreate2(file, "events", type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    bool good = dataset >= 0 && write_rows(dataset, rows);
    (void)H5Dclose(dataset);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Pclose(list);
    return H5Fclose(file) >= 0 && good;
}

static bool read_by_hdf5(hid_t dataset, hsize_t first, hsize_t n, struct rt_event *out)
{
    hid_t type = schema_memory_type(SCHEMA_EVENTS), space = H5Dget_space(dataset);
    hid_t memory = H5Screate_simple(1, &n, NULL);
    bool good = H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &n, NULL) >= 0 &&
                H5Dread(dataset, type, memory, space, H5P_DEFAULT, out) >= 0;
    (void)H5Sclose(memory);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    return good;
}

/* Reads ranges that begin and end anywhere in chunks, in an order that makes chunks leave the cache
 * and come back. */
static bool all_ranges(struct chunks *c, hid_t dataset, uint64_t rows)
{
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t first = scramble(i) % rows, n = scramble(i + 1000) % (rows - first) + 1;
        n = i % 3 == 0 ? n : n % 700 + 1 < rows - first ? n % 700 + 1 : rows - first;
        memset(got, 0xee, n * sizeof *got);
        if (!chunks_read(c, first, n, got) || !read_by_hdf5(dataset, first, n, want) ||
            memcmp(got, want, n * sizeof *got) != 0 ||
            memcmp(got, written + first, n * sizeof *got) != 0)
            return false;
    }
    return chunks_read(c, 0, rows, got) && memcmp(got, written, rows * sizeof *got) == 0;
}

static void judge(const char *name, bool refused, uint64_t rows)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "events", H5P_DEFAULT);
    struct chunks *c = chunks_open(dataset);
    ok((c == NULL) == refused, "%s: %s", name, refused ? "left to HDF5" : "read here");
    if (c != NULL && !refused)
        ok(all_ranges(c, dataset, rows), "%s: the rows are those that HDF5 reads", name);
    chunks_close(c);
    (void)H5Dclose(dataset);
    (void)H5Fclose(file);
}

#ifdef HAVE_LIBDEFLATE
enum { INFLATES = 1 };
#else
enum { INFLATES = 0 };
#endif

static void test_kinds(void)
{
    static const struct kind kinds[] = {
        {.name = "nothing done to them", .chunk = CHUNK},
        {.name = "shuffled", .chunk = CHUNK, .shuffle = true},
        {.name = "deflated", .chunk = CHUNK, .deflate = true, .refused = !INFLATES},
        {.name = "shuffled and deflated",
         .chunk = CHUNK,
         .shuffle = true,
         .deflate = true,
         .refused = !INFLATES},
        {.name = "one row", .chunk = 1, .shuffle = true, .deflate = true, .refused = !INFLATES},
        {.name = "17 rows", .chunk = 17, .shuffle = true},
        {.name = "shuffled when they were deflated",
         .chunk = CHUNK,
         .shuffle = true,
         .deflate_first = true,
         .refused = true},
        {.name = "deflated twice",
         .chunk = CHUNK,
         .deflate = true,
         .deflate_first = true,
         .refused = true},
        {.name = "with a checksum",
         .chunk = CHUNK,
         .shuffle = true,
         .deflate = true,
         .checksum = true,
         .refused = true},
        {.name = "the last one not filtered",
         .chunk = CHUNK,
         .shuffle = true,
         .deflate = true,
         .partial_unfiltered = true,
         .refused = true},
        {.name = "another byte order",
         .chunk = CHUNK,
         .shuffle = true,
         .wider = true,
         .refused = true},
        {.name = "not in chunks", .chunk = 0, .refused = true},
        {.name = "more than is kept in memory", .chunk = 100000, .refused = true},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        ok(make_file(&kinds[i], ROWS), "%s: a file", kinds[i].name);
        judge(kinds[i].name, kinds[i].refused, ROWS);
    }
}

/* Datasets as the writer makes them, with a last chunk that is full and one that is not. */
static void test_schema(void)
{
    for (unsigned deflate = 0; deflate <= 6; deflate += 3)
        for (hsize_t rows = MOST - 1; rows <= MOST; rows++) {
            char name[64];
            hid_t file = create_file();
            hid_t dataset = schema_create_dataset(file, SCHEMA_EVENTS, deflate);
            bool good = H5Dset_extent(dataset, &rows) >= 0 && write_rows(dataset, rows);
            (void)H5Dclose(dataset);
            (void)H5Fclose(file);
            (void)snprintf(name, sizeof name, "the writer's, level %u, %u rows", deflate,
                           (unsigned)rows);
            ok(good, "%s: a file", name);
            judge(name, deflate != 0 && !INFLATES, rows);
        }
}

/* A chunk whose filters were skipped, a chunk that is too short, and a chunk that was never
 * written. */
static void test_odd_chunks(void)
{
    static const struct kind k = {.chunk = CHUNK, .shuffle = true};
    hsize_t bare = 6 * CHUNK, never = 7 * CHUNK, longer = ROWS + 2 * CHUNK, after = 2 * CHUNK;
    bool good = make_file(&k, ROWS);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "events", H5P_DEFAULT);
    /* HDF5 records which filters of a chunk were skipped only if the chunk is new. */
    good = good && H5Dset_extent(dataset, &longer) >= 0 &&
           H5Dwrite_chunk(dataset, H5P_DEFAULT, 1, &bare, CHUNK * sizeof *written,
                          written + bare) >= 0 &&
           H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &after, CHUNK * sizeof *written / 2,
                          written + after) >= 0;
    (void)H5Dclose(dataset);
    (void)H5Fclose(file);
    ok(good, "a file with odd chunks");
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    dataset = H5Dopen2(file, "events", H5P_DEFAULT);
    struct chunks *c = chunks_open(dataset);
    ok(c != NULL && !chunks_read(c, bare, 1, got) && read_by_hdf5(dataset, bare, CHUNK, want) &&
           memcmp(want, written + bare, CHUNK * sizeof *want) == 0,
       "one whose filters were left out is left to HDF5");
    ok(c != NULL && !chunks_read(c, after, 1, got), "likewise one that is too short");
    ok(c != NULL && !chunks_read(c, never, 1, got) && read_by_hdf5(dataset, never, 1, want),
       "likewise one that was never written");
    ok(c != NULL && chunks_read(c, 0, CHUNK, got) && chunks_read(c, 3 * CHUNK, CHUNK, got) &&
           memcmp(got, written + (size_t)3 * CHUNK, CHUNK * sizeof *got) == 0,
       "those around them are read");
    chunks_close(c);
    (void)H5Dclose(dataset);
    (void)H5Fclose(file);
}

/* Finds where the file has a chunk: its address and its size in bytes. */
static bool place_of(hsize_t chunk, haddr_t *at, hsize_t *bytes)
{
    unsigned mask;
    hsize_t offset = chunk * CHUNK;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "events", H5P_DEFAULT);
    bool good = H5Dget_chunk_info_by_coord(dataset, &offset, &mask, at, bytes) >= 0;
    (void)H5Dclose(dataset);
    (void)H5Fclose(file);
    return good;
}

static bool flip(int fd, uint64_t at)
{
    unsigned char byte;
    bool good = pread(fd, &byte, 1, (off_t)at) == 1;
    byte ^= 0x55;
    return good && pwrite(fd, &byte, 1, (off_t)at) == 1;
}

/* Returns whether the raw reading of a damaged chunk fails (sets *noticed) or agrees with HDF5. */
static bool agrees(hsize_t chunk, bool *noticed)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "events", H5P_DEFAULT);
    struct chunks *c = chunks_open(dataset);
    hsize_t first = chunk * CHUNK, n = ROWS - first < CHUNK ? ROWS - first : CHUNK;
    bool raw = chunks_read(c, first, n, got);
    bool same =
        !raw || (read_by_hdf5(dataset, first, n, want) && memcmp(got, want, n * sizeof *got) == 0);
    *noticed = !raw;
    chunks_close(c);
    (void)H5Dclose(dataset);
    (void)H5Fclose(file);
    return same;
}

static void test_damage(void)
{
    static const struct kind k = {.chunk = CHUNK, .shuffle = true, .deflate = true};
    haddr_t at;
    hsize_t bytes;
    if (!INFLATES) {
        skip("damage", "built without libdeflate");
        return;
    }
    ok(make_file(&k, ROWS), "a file to damage");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    for (hsize_t chunk = 0; chunk <= ROWS / CHUNK; chunk++) {
        unsigned tried = 0, unnoticed = 0, other = 0;
        bool found = place_of(chunk, &at, &bytes), noticed;
        for (hsize_t i = 0; found && i < bytes; i += i < 40 || i + 8 >= bytes ? 1 : bytes / 40) {
            found = flip(fd, at + i);
            other += !agrees(chunk, &noticed);
            unnoticed += !noticed;
            found = found && flip(fd, at + i);
            tried++;
        }
        ok(found && tried > 60 && other == 0 && agrees(chunk, &noticed) && !noticed,
           "chunk %u: damage of %u bytes, one by one, is left to HDF5", (unsigned)chunk, tried);
        /* Two bits of zlib's header only say how hard the compressor tried. */
        ok(unnoticed <= 1, "chunk %u: and nothing is read of it", (unsigned)chunk);
    }
    (void)close(fd);
}

/* A child process that claims to have read more rows than it was asked for. */
static void test_liar(void)
{
    int pair[2];
    struct rt_error e = {{0}};
    size_t n = 77;
    struct {
        struct reader_message m;
        uint64_t rows;
    } answer = {{READER_ROWS, 0, sizeof(uint64_t)}, 11};
    void *shared = mmap(NULL, READER_SHARED * sizeof(struct rt_event), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        ok(false, "no memory or no sockets");
        return;
    }
    memcpy(shared, written, 11 * sizeof *written);
    struct reader_link l = {.child = -1, .fd = pair[0], .shared = shared, .path = "file"};
    bool asked = write(pair[1], &answer, sizeof answer) == (ssize_t)sizeof answer;
    ok(asked && reader_link_read(&l, 0, 11, got, &n, &e) == 0 && n == 11 &&
           memcmp(got, written, 11 * sizeof *got) == 0,
       "rows are those of the shared memory");
    asked = write(pair[1], &answer, sizeof answer) == (ssize_t)sizeof answer;
    is_int(asked ? reader_link_read(&l, 0, 10, got, &n, &e) : 0, -EBADMSG,
           "a child that has more than was asked for is not believed");
    ok(n == 0 && strstr(e.text, "file is damaged") != NULL && l.shared == NULL,
       "and is heard no more");
    is_int(reader_link_read(&l, 0, 10, got, &n, &e), -EBADMSG, "nor asked");
    (void)close(pair[1]);
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/regtrace-chunks-%d.h5", tmp != NULL ? tmp : "/tmp",
                   (int)getpid());
    if (schema_start_hdf5(NULL) != 0)
        return 99;
    fill_rows();
    test_kinds();
    test_schema();
    test_odd_chunks();
    test_damage();
    test_liar();
    (void)unlink(path);
    return done_testing();
}
