// SPDX-License-Identifier: BSD-3-Clause
// Functions that are entered in every way: called PART [PLUGIN]. Prints how often the functions of
// the part were entered, as the program itself counts.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
static volatile int entered, others;

namespace first
{
PLAIN void over(int)
{
    entered = entered + 1;
}
PLAIN void over(double)
{
    entered = entered + 1;
}
} // namespace first
namespace second
{
PLAIN void over(int)
{
    others = others + 1;
}
} // namespace second

struct object {
    virtual ~object() = default;
    PLAIN virtual void over()
    {
        entered = entered + 1;
    }
};

extern "C" {
PLAIN int recursive(int n)
{
    static int (*volatile again)(int) = recursive;
    entered = entered + 1;
    return n == 0 ? 0 : 1 + again(n - 1);
}

PLAIN void thrown(int n)
{
    entered = entered + 1;
    if (n % 2 != 0)
        throw n;
}

PLAIN void called(int n)
{
    entered = entered + n;
    __asm__ volatile("");
}

// Its last call is a jump.
PLAIN void tail(int n)
{
    called(n);
}

PLAIN void own_trap(int)
{
    others = others + 1;
}
}

static object *volatile made;

static int overloads(const char *)
{
    object o;
    made = &o;
    for (int i = 0; i < 5; i++) {
        first::over(i);
        first::over(1.0 * i);
        second::over(i);
        made->over();
    }
    return entered + others;
}

static int qualified(const char *)
{
    return overloads(nullptr), others;
}

static int deep(const char *)
{
    return recursive(9) == 9 ? entered : -1;
}

static int exceptions(const char *)
{
    int caught = 0;
    for (int i = 0; i < 6; i++)
        try {
            thrown(i);
        } catch (int) {
            caught++;
        }
    return caught == 3 ? entered : -1;
}

static int ways(const char *)
{
    void (*volatile pointer)(int) = called;
    for (int i = 0; i < 4; i++) {
        pointer(1);
        tail(1);
        called(1);
    }
    return entered;
}

// Loads the plug-in twice, and unloads it in between.
static int plugin(const char *path)
{
    int n = 0;
    for (int i = 0; i < 2; i++) {
        void *handle = dlopen(path, RTLD_NOW);
        auto f =
            handle != nullptr ? reinterpret_cast<int (*)(int)>(dlsym(handle, "plugged")) : nullptr;
        for (int k = 0; f != nullptr && k < 3; k++)
            n = f(n);
        if (handle != nullptr)
            dlclose(handle);
    }
    return n;
}

static void on_trap(int)
{
    own_trap(0);
}

// Calls the program's own handler of SIGTRAP, by raise() and by an int3.
static int traps(const char *)
{
    std::signal(SIGTRAP, on_trap);
    for (int i = 0; i < 3; i++) {
        called(1);
        std::raise(SIGTRAP);
        __asm__ volatile("int3");
    }
    sigset_t set, was;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    called(1);
    std::raise(SIGTRAP);
    int early = others;
    sigprocmask(SIG_UNBLOCK, &set, &was);
    return early == 6 && others == 7 && sigismember(&was, SIGTRAP) == 1 ? entered : -1;
}

static int forks(const char *)
{
    called(1);
    pid_t child = fork();
    if (child == 0) {
        called(1);
        std::exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    called(1);
    return status == 0 ? entered + 1 : -1;
}

static int leaps(const char *)
{
    static std::jmp_buf back;
    for (volatile int i = 0; i < 3; i = i + 1)
        if (setjmp(back) == 0) {
            called(1);
            std::longjmp(back, 1);
        }
    return entered;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const char *);
    } parts[] = {{"overloads", overloads},   {"qualified", qualified}, {"deep", deep},
                 {"exceptions", exceptions}, {"ways", ways},           {"plugin", plugin},
                 {"traps", traps},           {"forks", forks},         {"leaps", leaps}};
    for (const auto &part : parts)
        if (argc > 1 && std::strcmp(argv[1], part.name) == 0) {
            std::printf("%d\n", part.run(argc > 2 ? argv[2] : nullptr));
            return 0;
        }
    return 2;
}
