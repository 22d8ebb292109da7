/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the files that go with Paraver's traces: labels and colours, names of rows, and a view of
 * each channel. */
#include "tools/paraver/prv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int prv_prefixes(const struct event_replay *r, bool processors, char (**prefix)[32],
                 uint8_t **length, struct rt_error *e)
{
    uint32_t threads, rows;
    const struct replay_thread *t = replay_threads(r, &threads);
    rows = threads;
    if (processors)
        (void)replay_processors(r, &rows);
    *prefix = calloc(rows + 1u, sizeof **prefix);
    *length = calloc(rows + 1u, sizeof **length);
    if (*prefix == NULL || *length == NULL) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    for (uint32_t k = 0, in_file = 0; k < rows; k++) {
        in_file = k > 0 && !processors && t[k].file != t[k - 1].file ? 1 : in_file + 1;
        (*length)[k] = (uint8_t)snprintf((*prefix)[k], sizeof **prefix,
                                         "0:1:%u:%u:", processors ? 1 : t[k].file + 1, in_file);
    }
    return 0;
}

static FILE *open_file(const char *path, struct rt_error *e)
{
    FILE *f = fopen(path, "we");
    if (f == NULL)
        rt_error_set(e, "%s: %s", path, strerror(errno));
    return f;
}

static int close_file(FILE *f, const char *path, struct rt_error *e)
{
    int error = ferror(f) != 0 ? EIO : 0;
    if (fclose(f) != 0)
        error = errno;
    if (error != 0)
        rt_error_set(e, "%s: %s", path, strerror(error));
    return -error;
}

static const char *side_of(bool processors)
{
    return processors ? "cpu" : "thread";
}

/* A name may hold any byte, so control characters become '?' and the name stays one line. */
static void print_line(FILE *f, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++)
        (void)fputc(*p < 0x20 || *p == 0x7f ? '?' : *p, f);
    (void)fputc('\n', f);
}

/* --- labels ----------------------------------------------------------------------------------- */

static const struct {
    unsigned state;
    const char *colour;
} colours[] = {
    {0, "117,195,255"},  {1, "0,0,255"},     {3, "255,0,0"},     {4, "255,0,174"},
    {5, "179,0,0"},      {6, "0,255,0"},     {8, "235,0,0"},     {10, "255,0,255"},
    {11, "100,100,177"}, {12, "172,174,41"}, {13, "255,144,26"}, {14, "2,255,177"},
    {15, "192,224,0"},   {16, "66,66,66"},   {17, "255,0,96"},
};

static void print_label(void *context, int64_t value, const char *text)
{
    FILE *f = context;
    (void)fprintf(f, "%-6" PRId64 " ", value);
    print_line(f, text[0] != '\0' ? text : "(no name)");
}

static void print_states(FILE *f, const struct event_replay *r)
{
    (void)fputs("STATES\n", f);
    for (uint32_t k = 0; k < replay_channel_count(r); k++)
        if (replay_channel(r, k).paraver == 0)
            replay_labels(r, k, print_label, f);
    (void)fputs("\nSTATES_COLOR\n", f);
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
        (void)fprintf(f, "%-6u {%s}\n", colours[i].state, colours[i].colour);
}

static bool is_there(const struct replay_channel *c, bool processors)
{
    return processors ? c->on_processor : c->on_thread;
}

int prv_write_pcf(const struct event_replay *r, const char *dir, bool processors,
                  struct rt_error *e)
{
    char path[4200];
    (void)snprintf(path, sizeof path, "%s/%s.pcf", dir, side_of(processors));
    FILE *f = open_file(path, e);
    if (f == NULL)
        return -EIO;
    (void)fprintf(f, "DEFAULT_OPTIONS\n\n"
                     "LEVEL               THREAD\n"
                     "UNITS               NANOSEC\n"
                     "LOOK_BACK           100\n"
                     "SPEED               1\n"
                     "FLAG_ICONS          ENABLED\n"
                     "NUM_OF_STATE_COLORS 1000\n"
                     "YMAX_SCALE          37\n\n\n"
                     "DEFAULT_SEMANTIC\n\n"
                     "THREAD_FUNC         State As Is\n\n\n");
    print_states(f, r);
    for (uint32_t k = 0; k < replay_channel_count(r); k++) {
        struct replay_channel c = replay_channel(r, k);
        if (c.paraver == 0 || !c.is_told || !is_there(&c, processors))
            continue;
        (void)fprintf(f, "\n\nEVENT_TYPE\n0    %-6" PRIu32 " ", c.paraver);
        print_line(f, c.title);
        (void)fputs("VALUES\n", f);
        replay_labels(r, k, print_label, f);
        print_label(f, EMU_BAD, "Unknown");
        if (processors)
            print_label(f, EMU_TOO_MANY_THREADS, "Several threads");
    }
    return close_file(f, path, e);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void print_processor(FILE *f, const struct replay_processor *p, const char *host)
{
    char text[400];
    if (p->number >= 0)
        (void)snprintf(text, sizeof text, "%s:%" PRId32, host, p->number);
    else
        (void)snprintf(text, sizeof text, "%s:several", host);
    print_line(f, text);
}

static void print_processors(FILE *f, const struct event_replay *r, const char *level)
{
    uint32_t n, nodes;
    const struct replay_processor *p = replay_processors(r, &n);
    const char *const *hosts = replay_nodes(r, &nodes);
    (void)fprintf(f, "LEVEL %s SIZE %" PRIu32 "\n", level, n);
    for (uint32_t i = 0; i < n; i++)
        print_processor(f, &p[i], hosts[p[i].node]);
    (void)fputc('\n', f);
}

static void print_nodes(FILE *f, const struct event_replay *r)
{
    uint32_t nodes;
    const char *const *hosts = replay_nodes(r, &nodes);
    (void)fprintf(f, "LEVEL NODE SIZE %" PRIu32 "\n", nodes);
    for (uint32_t i = 0; i < nodes; i++)
        print_line(f, hosts[i]);
    (void)fputc('\n', f);
}

static void print_task(FILE *f, const struct rt_rank_info *info, uint32_t pid)
{
    char world[32] = "";
    if (info->world > 1) /* a spawned MPI world */
        (void)snprintf(world, sizeof world, "world %" PRIu32 ", ", info->world);
    (void)fprintf(f, "rank %" PRId32 " (%spid %" PRIu32 ")\n", info->rank, world, pid);
}

static void print_tasks(FILE *f, const struct event_replay *r)
{
    uint32_t n;
    const struct replay_thread *t = replay_threads(r, &n);
    (void)fprintf(f, "LEVEL TASK SIZE %" PRIu32 "\n", replay_file_count(r));
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || t[i].file != t[i - 1].file)
            print_task(f, rt_rank_info(t[i].rank), t[i].pid);
    (void)fputc('\n', f);
}

static void print_threads(FILE *f, const struct event_replay *r)
{
    uint32_t n;
    const struct replay_thread *t = replay_threads(r, &n);
    (void)fprintf(f, "LEVEL THREAD SIZE %" PRIu32 "\n", n);
    for (uint32_t i = 0; i < n; i++) {
        const struct rt_rank_info *info = rt_rank_info(t[i].rank);
        char text[400], process[64] = "";
        if (info->world > 1) /* a spawned MPI world */
            (void)snprintf(process, sizeof process, " (world %" PRIu32 ", pid %" PRIu32 ")",
                           info->world, t[i].pid);
        else if (!info->is_main) /* another process of the rank */
            (void)snprintf(process, sizeof process, " (pid %" PRIu32 ")", t[i].pid);
        (void)snprintf(text, sizeof text, "%" PRId32 ".%" PRId32 "%s%s%s", info->rank, t[i].number,
                       process, t[i].name[0] != '\0' ? " " : "", t[i].name);
        print_line(f, text);
    }
}

int prv_write_row(const struct event_replay *r, const char *dir, bool processors,
                  struct rt_error *e)
{
    char path[4200];
    (void)snprintf(path, sizeof path, "%s/%s.row", dir, side_of(processors));
    FILE *f = open_file(path, e);
    if (f == NULL)
        return -EIO;
    if (processors) {
        (void)fprintf(f, "LEVEL NODE SIZE 1\nall\n\n");
        print_processors(f, r, "THREAD");
    } else {
        print_processors(f, r, "CPU");
        print_nodes(f, r);
        print_tasks(f, r);
        print_threads(f, r);
    }
    return close_file(f, path, e);
}

/* --- views ------------------------------------------------------------------------------------ */

/* Writes a Paraver configuration: one window over all rows, which shows the channel. */
static void print_view(FILE *f, const struct replay_channel *c, bool processors)
{
    const char *side = processors ? "Processor" : "Thread";
    (void)fprintf(
        f,
        "#ParaverCFG\nConfigFile.Version: 3.4\nConfigFile.NumWindows: 1\n\n\n"
        "################################################################################\n"
        "< NEW DISPLAYING WINDOW %s: %s >\n"
        "################################################################################\n"
        "window_name %s: %s\nwindow_type single\nwindow_id 1\n",
        side, c->title, side, c->title);
    (void)fprintf(f,
                  "window_position_x 0\nwindow_position_y 0\nwindow_width 800\nwindow_height 200\n"
                  "window_comm_lines_enabled %s\nwindow_flags_enabled false\n"
                  "window_noncolor_mode true\nwindow_color_mode %s\n"
                  "window_units Microseconds\nwindow_maximum_y 1000.0\nwindow_minimum_y 1.0\n"
                  "window_compute_y_max true\nwindow_level thread\n"
                  "window_scale_relative 1.000000000000\n"
                  "window_end_time_relative 1.000000000000\n"
                  "window_object appl { 1, { All } }\nwindow_begin_time_relative 0.000000000000\n"
                  "window_open true\nwindow_drawmode draw_randnotzero\n"
                  "window_drawmode_rows draw_randnotzero\nwindow_pixel_size 1\n"
                  "window_labels_to_draw 1\n",
                  c->paraver == 0 ? "true" : "false",
                  c->paraver == 0 || c->kind != EMU_SINGLE ? "window_in_code_mode"
                                                           : "window_in_null_gradient_mode");
    (void)fprintf(
        f,
        "window_selected_functions { 14, { {cpu, Active Thd}, {appl, Adding}, {task, Adding}, "
        "{thread, %s}, {node, Adding}, {system, Adding}, {workload, Adding}, {from_obj, All}, "
        "{to_obj, All}, {tag_msg, All}, {size_msg, All}, {bw_msg, All}, {evt_type, %s}, "
        "{evt_value, All} } }\n"
        "window_compose_functions { 9, { {compose_cpu, As Is}, {compose_appl, As Is}, "
        "{compose_task, As Is}, {compose_thread, As Is}, {compose_node, As Is}, "
        "{compose_system, As Is}, {compose_workload, As Is}, {topcompose1, As Is}, "
        "{topcompose2, As Is} } }\n",
        c->paraver == 0 ? "State As Is" : "Last Evt Val", c->paraver == 0 ? "All" : "=");
    if (c->paraver != 0)
        (void)fprintf(f,
                      "window_filter_module evt_type 1 %" PRIu32
                      "\nwindow_filter_module evt_type_label 1 \"%s\"\n",
                      c->paraver, c->title);
}

static int write_view(const struct replay_channel *c, const char *dir, bool processors,
                      struct rt_error *e)
{
    char path[4300];
    (void)snprintf(path, sizeof path, "%s/cfg/%s-%s.cfg", dir, side_of(processors), c->name);
    FILE *f = open_file(path, e);
    if (f == NULL)
        return -EIO;
    print_view(f, c, processors);
    return close_file(f, path, e);
}

int prv_write_views(const struct event_replay *r, const char *dir, bool processors,
                    struct rt_error *e)
{
    char path[4200];
    int rc = 0;
    (void)snprintf(path, sizeof path, "%s/cfg", dir);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        rt_error_set(e, "%s: %s", path, strerror(errno));
        return -EIO;
    }
    for (uint32_t k = 0; rc == 0 && k < replay_channel_count(r); k++) {
        struct replay_channel c = replay_channel(r, k);
        if (c.is_used && is_there(&c, processors))
            rc = write_view(&c, dir, processors, e);
    }
    return rc;
}
