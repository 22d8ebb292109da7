// SPDX-License-Identifier: BSD-3-Clause
// Functions r_* that are entered and left in every way, and note that themselves: record PART
// [PLUGIN]. Prints for each thread, in order of creation, what has happened in it: "+name" and
// "-name", only of what is inside windows (PART windows opens and closes them).
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <regtrace.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define PLAIN extern "C" __attribute__((noinline))
#else
#define PLAIN extern "C" __attribute__((noinline, noclone))
#endif
#ifdef __OPTIMIZE__
// gcc then makes a jump of a call at the end; clang does so from -O2 on.
#define TAIL_CALLS true
#else
#define TAIL_CALLS false
#endif
#ifdef __clang__
#define MUST_JUMP __attribute__((musttail))
#else
#define MUST_JUMP
#endif
static volatile int sink;

// --- the program's own notes ---------------------------------------------------------------------

static const int MOST = 400000, THREADS = 8;
struct Account {
    const char **what;
    bool *begins;
    int count;
    const char *open[300];
    int depth, window;
};
static Account accounts[THREADS + 1];
static __thread Account *account;
static bool recorded = true;
static volatile int window = 1;

static inline __attribute__((always_inline)) void note(const char *name, bool begins)
{
    if (!recorded || account->count == MOST)
        return;
    account->what[account->count] = name;
    account->begins[account->count++] = begins;
}
struct Scope {
    const char *name;
    int mine;
    inline __attribute__((always_inline)) explicit Scope(const char *n) : name(n), mine(window)
    {
        note(name, true);
        account->open[account->depth++] = name;
    }
    inline __attribute__((always_inline)) ~Scope()
    {
        account->depth--;
        if (mine == window)
            note(name, false);
    }
};
#define HERE Scope scope(__func__)

static void begin(int i)
{
    account = &accounts[i];
    account->what = new const char *[MOST];
    account->begins = new bool[MOST];
}

static void print()
{
    for (int i = 0; i <= THREADS; i++)
        for (int k = 0; k < accounts[i].count; k++)
            printf("%d %c%s\n", i, accounts[i].begins[k] ? '+' : '-', accounts[i].what[k]);
}

// --- the functions -------------------------------------------------------------------------------

PLAIN int r_leaf(int n)
{
    HERE;
    return sink = n + 1;
}
PLAIN int r_recursive(int n)
{
    HERE;
    static int (*volatile again)(int) = r_recursive;
    return n == 0 ? r_leaf(0) : 1 + again(n - 1);
}
PLAIN double r_mixed(double x, float f, const int *p, long a, long b, long c, long d, long e,
                     long g)
{
    HERE;
    double y = x * f + *p;
    for (int i = 0; i < 3; i++)
        y += r_leaf(i) + (double)(a - b + c - d + e - g);
    return y;
}
struct Large {
    long words[20];
};
PLAIN Large r_large(int n)
{
    HERE;
    Large l;
    for (int i = 0; i < 20; i++)
        l.words[i] = n + i;
    r_leaf(n);
    return l;
}
PLAIN void r_thrower(int n)
{
    HERE;
    if (n % 3 != 0)
        throw n;
    sink = n;
}
PLAIN void r_between(int n)
{
    HERE;
    r_thrower(n);
    r_leaf(n);
}
PLAIN int r_catcher(int n)
{
    HERE;
    try {
        r_between(n);
    } catch (int) {
        return r_leaf(n);
    }
    return 0;
}
static jmp_buf back;
PLAIN void r_leaper(int n)
{
    note("r_leaper", true);
    sink = n;
    note("r_leaper", false);
    if (n % 2 != 0)
        longjmp(back, 1);
}
PLAIN void r_above(int n)
{
    note("r_above", true);
    r_leaper(n);
    note("r_above", false);
}
PLAIN void r_on_signal(int)
{
    HERE;
    r_leaf(5);
}
PLAIN void r_last(int n)
{
    HERE;
    sink = n;
}
PLAIN void r_tail(int n)
{
    note("r_tail", true);
    if (TAIL_CALLS) {
        note("r_tail", false);
        MUST_JUMP return r_last(n);
    }
    r_last(n);
    note("r_tail", false);
}
PLAIN int r_compare(const void *a, const void *b)
{
    HERE;
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}
PLAIN int r_tree(int depth, unsigned seed)
{
    HERE;
    int n = 1;
    for (unsigned i = 0; depth > 0 && i < seed % 4; i++)
        n += r_tree(depth - 1, seed * 1103515245u + 12345u + i * 7u);
    return n;
}

// --- parts ---------------------------------------------------------------------------------------

static void leaps()
{
    for (volatile int i = 0; i < 40; i = i + 1)
        if (setjmp(back) == 0)
            r_above(i);
        else if (i % 2 != 0)
            note("r_above", false); // left by the jump
}

static void *worker(void *p)
{
    begin((int)(long)p);
    for (unsigned i = 0; i < 60; i++)
        sink = r_tree(6, i * 2654435761u + (unsigned)(long)p);
    return nullptr;
}
static void threads()
{
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], nullptr, worker, reinterpret_cast<void *>(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], nullptr);
}

static void signals()
{
    static char room[65536];
    stack_t other = {};
    other.ss_sp = room;
    other.ss_size = sizeof room;
    sigaltstack(&other, nullptr);
    struct sigaction a = {};
    a.sa_handler = r_on_signal;
    sigaction(SIGUSR1, &a, nullptr);
    a.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &a, nullptr);
}
PLAIN void r_interrupted(int n)
{
    HERE;
    raise(n % 2 == 0 ? SIGUSR1 : SIGUSR2);
    r_leaf(n);
}

static void open_window()
{
    window = window + 1;
    recorded = true;
    account->depth = 0;
    regtrace_start(0);
}
static void close_window()
{
    regtrace_stop(0);
    while (account->depth > 0)
        note(account->open[--account->depth], false);
    recorded = false;
    window = window + 1;
}
PLAIN void r_edges(int n)
{
    // Enters and leaves windows, so that it is itself entered and left in windows or outside, as n
    // says.
    bool in = recorded;
    int mine = window;
    note("r_edges", true);
    account->open[account->depth++] = "r_edges";
    r_leaf(n);
    if (n > 0) {
        if (n % 2 != 0)
            in ? close_window() : open_window();
        r_edges(n - 1);
    }
    r_leaf(n);
    if (mine == window) {
        account->depth--;
        note("r_edges", false);
    }
}

static void forks()
{
    pid_t child = fork();
    if (child == 0) {
        r_leaf(1);
        r_leaf(2);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    r_leaf(3);
}

typedef int plugged(int);
static void plugin(const char *path)
{
    for (int i = 0; i < 3; i++) {
        void *handle = dlopen(path, RTLD_NOW);
        plugged *f = reinterpret_cast<plugged *>(dlsym(handle, "plugged"));
        for (int k = 0; k < 10; k++)
            sink = f(k);
        dlclose(handle);
    }
}

static volatile bool over;
static void *climber(void *p)
{
    begin((int)(long)p);
    int first = r_tree(5, 99);
    while (!over)
        if (r_tree(5, 99) != first)
            abort();
    return nullptr;
}
/* Opens and closes windows of all threads, so that probes come and go wherever the threads are. */
static void flips()
{
    pthread_t t[THREADS];
    recorded = false;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], nullptr, climber, reinterpret_cast<void *>(i + 1));
    for (int i = 0; i < 200; i++) {
        regtrace_start(1);
        usleep(200);
        regtrace_stop(1);
        usleep(200);
    }
    over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], nullptr);
}

static ucontext_t main_context, contexts[2];
PLAIN void r_steps(int which)
{
    for (int i = 0; i < 10; i++) {
        r_leaf(i);
        swapcontext(&contexts[which], &main_context);
    }
}
static void run_steps(int which)
{
    r_steps(which);
}
static void coroutines()
{
    static char stacks[2][65536];
    recorded = false; // calls on two stacks do not nest in the thread's notes
    for (int i = 0; i < 2; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = sizeof stacks[i];
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], reinterpret_cast<void (*)()>(run_steps), 1, i);
    }
    for (int i = 0; i < 22; i++)
        swapcontext(&main_context, &contexts[i % 2]);
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    int numbers[50], i;
    begin(0);
    if (strcmp(part, "plain") == 0)
        for (i = 0; i < 30; i++) {
            sink = r_recursive(i);
            if (r_mixed(i, 2, &i, 1, 2, 3, 4, 5, 6) != 3.0 * i - 3 || r_large(i).words[7] != i + 7)
                abort();
        }
    else if (strcmp(part, "exceptions") == 0)
        for (i = 0; i < 30; i++)
            sink = r_catcher(i);
    else if (strcmp(part, "leaps") == 0)
        leaps();
    else if (strcmp(part, "threads") == 0)
        threads();
    else if (strcmp(part, "signals") == 0) {
        signals();
        for (i = 0; i < 20; i++)
            r_interrupted(i);
    } else if (strcmp(part, "tails") == 0)
        for (i = 0; i < 30; i++)
            r_tail(i);
    else if (strcmp(part, "callbacks") == 0) {
        for (i = 0; i < 50; i++)
            numbers[i] = (i * 7919) % 50;
        qsort(numbers, 50, sizeof numbers[0], r_compare);
    } else if (strcmp(part, "windows") == 0) {
        recorded = false;
        for (i = 1; i < 8; i++) {
            r_edges(i);
            if (recorded)
                close_window();
        }
    } else if (strcmp(part, "forks") == 0)
        forks();
    else if (strcmp(part, "plugin") == 0 && argc > 2)
        plugin(argv[2]);
    else if (strcmp(part, "flips") == 0)
        flips();
    else if (strcmp(part, "coroutines") == 0)
        coroutines();
    else
        return 2;
    print();
    return 0;
}
