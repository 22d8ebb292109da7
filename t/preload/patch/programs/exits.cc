// SPDX-License-Identifier: BSD-3-Clause
// Functions that are left in every way: exits PART [PLUGIN] [marks]. Marks say whether the thread
// is inside the function that the test names (1) or outside (2), and so whether a window of that
// function holds them. Prints how often the outermost call ends; with "marks" also how many marks
// of the inside the program has set.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <regtrace.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
static volatile int left, sink;
static int marks;

static void inside()
{
    __atomic_add_fetch(&marks, 1, __ATOMIC_RELAXED);
    regtrace_mark_set(7, 1);
}
static void outside()
{
    regtrace_mark_set(7, 2);
}

extern "C" {
PLAIN int once(int n)
{
    inside();
    return sink = n;
}

PLAIN int recursive(int n)
{
    static int (*volatile again)(int) = recursive;
    inside();
    int r = n == 0 ? 0 : 1 + again(n - 1);
    inside();
    return r;
}

PLAIN void thrower(int n)
{
    inside();
    if (n % 2 != 0)
        throw n;
    inside();
}

// An exception passes through this function.
PLAIN void between(int n)
{
    inside();
    thrower(n);
    sink = n;
}

static std::jmp_buf back;
PLAIN void leaper(int n)
{
    inside();
    if (n % 2 != 0)
        std::longjmp(back, 1);
    sink = n;
}

static sigjmp_buf signal_back;
PLAIN void interrupted()
{
    inside();
    std::raise(SIGUSR1);
    sink = 1;
}

PLAIN void on_signal(int)
{
    inside();
    sink = 2;
}

PLAIN int compare(const void *a, const void *b)
{
    inside();
    left = left + 1;
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

PLAIN void *worker(void *)
{
    inside();
    for (int i = 0; i < 50; i++)
        sink = i;
    inside();
    return nullptr;
}

PLAIN void *dies(void *)
{
    inside();
    pthread_exit(nullptr);
}

PLAIN void last(int n)
{
    inside();
    sink = n;
    __asm__ volatile("");
}
// Its last call is a jump.
PLAIN void tail(int n)
{
    inside();
    last(n);
}

PLAIN void pong(int n);
PLAIN void ping(int n)
{
    if (n > 0)
        pong(n - 1);
    else
        inside();
}
PLAIN void pong(int n)
{
    if (n > 0)
        ping(n - 1);
    else
        inside();
}

PLAIN void forker()
{
    inside();
    pid_t child = fork();
    if (child > 0)
        waitpid(child, nullptr, 0);
    else
        sink = 3;
}
}

// A word of the program lies where a return address would be. The word, and what it points to, must
// stay as they are.
static long kept[2] = {0x1122334455667788, 7};
PLAIN static int part(const char *)
{
    void *address = kept;
    __asm__ volatile("push %0\n\t"
                     ".globl no_function\n\t"
                     ".type no_function, @function\n\t"
                     "no_function: nop\n\t"
                     "pop %0"
                     : "+r"(address)
                     :
                     : "memory");
    inside();
    return address == kept && kept[0] == 0x1122334455667788 ? 1 : -1;
}

static int each(int (*f)(int), int n)
{
    for (int i = 0; i < n; i++) {
        outside();
        f(i);
    }
    outside();
    return n;
}

static int plain(const char *)
{
    int (*volatile pointer)(int) = once;
    return each(pointer, 5);
}

PLAIN static void again()
{
    inside();
    sink = 5;
}
extern "C" PLAIN void plainly()
{
    again();
}
// Each call stands where the call before returns to.
static int in_a_row(const char *)
{
    plainly();
    plainly();
    outside();
    plainly();
    plainly();
    plainly();
    outside();
    return 5;
}

// The handler's stack is an array in a frame of the thread. What runs there has higher addresses
// than the function that it interrupts, but is not its caller.
static int array_stack(const char *)
{
    char room[64 << 10];
    stack_t stack = {};
    stack.ss_sp = room;
    stack.ss_size = sizeof room;
    sigaltstack(&stack, nullptr);
    struct sigaction a = {};
    a.sa_handler = [](int) { last(1); };
    a.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &a, nullptr);
    for (int i = 0; i < 3; i++) {
        interrupted();
        outside();
    }
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
    return 3;
}

// A coroutine is abandoned inside the function, which others then call on other stacks.
static ucontext_t given_up, giver;
static char given_stack[64 << 10];
extern "C" PLAIN int suspended(int stays)
{
    inside();
    if (stays != 0)
        swapcontext(&given_up, &giver);
    return sink = 4;
}
static int abandoned(const char *)
{
    getcontext(&given_up);
    given_up.uc_stack.ss_sp = given_stack;
    given_up.uc_stack.ss_size = sizeof given_stack;
    given_up.uc_link = &giver;
    makecontext(&given_up, reinterpret_cast<void (*)()>(suspended), 1, 1);
    swapcontext(&giver, &given_up);
    for (int i = 0; i < 3; i++)
        suspended(0);
    return 3;
}

// The program makes code, changes it after the call instruction, and reads it: the tool must not
// write there.
static int generated(const char *)
{
    auto *code = static_cast<unsigned char *>(mmap(
        nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    static const unsigned char bytes[] = {0x53, 0x48, 0xb8, 0,    0, 0, 0, 0, 0,    0,
                                          0,    0xff, 0xd0, 0xb8, 1, 0, 0, 0, 0x5b, 0xc3};
    void (*function)() = plainly;
    std::memcpy(code, bytes, sizeof bytes);
    std::memcpy(code + 3, &function, sizeof function);
    int total = 0;
    for (int i = 0; i < 4; i++) {
        code[14] = static_cast<unsigned char>(i);
        total += reinterpret_cast<int (*)()>(code)();
    }
    return total == 6 && code[13] == 0xb8 ? 1 : -1;
}

static int deep(const char *)
{
    return each(recursive, 4);
}

static int exceptions(const char *)
{
    for (int i = 0; i < 4; i++)
        try {
            outside();
            between(i);
            outside();
        } catch (int) {
            outside();
        }
    return 4;
}

static int leaps(const char *)
{
    for (volatile int i = 0; i < 4; i = i + 1)
        if (setjmp(back) == 0)
            leaper(i);
        else
            outside();
    outside();
    return 4;
}

static void jump_out(int)
{
    siglongjmp(signal_back, 1);
}

static int signals(const char *)
{
    std::signal(SIGUSR1, jump_out);
    for (volatile int i = 0; i < 3; i = i + 1) {
        if (sigsetjmp(signal_back, 1) == 0)
            interrupted();
        outside();
    }
    return 3;
}

static int alternate(const char *)
{
    static char room[64 << 10];
    stack_t stack = {};
    stack.ss_sp = room;
    stack.ss_size = sizeof room;
    sigaltstack(&stack, nullptr);
    struct sigaction a = {};
    a.sa_handler = on_signal;
    a.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &a, nullptr);
    for (int i = 0; i < 3; i++) {
        outside();
        std::raise(SIGUSR1);
        outside();
    }
    return 3;
}

static int callbacks(const char *)
{
    int a[] = {3, 1, 2, 6, 5, 4, 9, 7};
    outside();
    std::qsort(a, 8, sizeof a[0], compare);
    outside();
    return left;
}

static int in_threads(void *(*f)(void *))
{
    pthread_t t[8];
    for (auto &one : t)
        pthread_create(&one, nullptr, f, nullptr);
    for (auto &one : t)
        pthread_join(one, nullptr);
    return 8;
}

static int threads(const char *)
{
    return in_threads(worker);
}

static int deaths(const char *)
{
    return in_threads(dies);
}

static int tails(const char *)
{
    for (int i = 0; i < 3; i++) {
        tail(1);
        outside();
    }
    return 3;
}

static int mutual(const char *)
{
    for (int i = 0; i < 2; i++) {
        outside();
        ping(1001);
        outside();
    }
    return 2;
}

static ucontext_t home, away;
static char coroutine_stack[64 << 10];

PLAIN static void yielder()
{
    once(1);
    swapcontext(&away, &home); // the caller is still in steps()
    once(2);
}
extern "C" PLAIN void steps()
{
    inside();
    yielder();
    inside();
}
static void coroutine()
{
    steps();
    outside();
}
// steps() is entered on one stack, while other functions come and go on the other.
static int coroutines(const char *)
{
    getcontext(&away);
    away.uc_stack.ss_sp = coroutine_stack;
    away.uc_stack.ss_size = sizeof coroutine_stack;
    away.uc_link = &home;
    makecontext(&away, coroutine, 0);
    swapcontext(&home, &away);
    last(1); // has a probe, and its stack has higher addresses
    swapcontext(&home, &away);
    outside();
    return 1;
}

static int forks(const char *)
{
    pid_t self = getpid();
    forker();
    outside();
    if (getpid() != self)
        _exit(0);
    return 2;
}

static int plugin(const char *path)
{
    int n = 0;
    for (int i = 0; i < 2; i++) {
        void *handle = dlopen(path, RTLD_NOW);
        auto f =
            handle != nullptr ? reinterpret_cast<int (*)(int)>(dlsym(handle, "plugged")) : nullptr;
        for (int k = 0; f != nullptr && k < 3; k++) {
            n = f(n);
            outside();
        }
        if (handle != nullptr)
            dlclose(handle);
    }
    return n;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const char *);
    } parts[] = {{"plain", plain},
                 {"deep", deep},
                 {"exceptions", exceptions},
                 {"leaps", leaps},
                 {"signals", signals},
                 {"alternate", alternate},
                 {"callbacks", callbacks},
                 {"threads", threads},
                 {"deaths", deaths},
                 {"tails", tails},
                 {"mutual", mutual},
                 {"coroutines", coroutines},
                 {"forks", forks},
                 {"plugin", plugin},
                 {"part", part},
                 {"in_a_row", in_a_row},
                 {"array_stack", array_stack},
                 {"abandoned", abandoned},
                 {"generated", generated}};
    for (const auto &part : parts)
        if (argc > 1 && std::strcmp(argv[1], part.name) == 0) {
            std::printf("%d\n", part.run(argc > 2 ? argv[2] : nullptr));
            if (argc > 2 && std::strcmp(argv[argc - 1], "marks") == 0)
                std::printf("%d\n", marks);
            return 0;
        }
    return 2;
}
