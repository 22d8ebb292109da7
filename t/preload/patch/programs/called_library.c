/* SPDX-License-Identifier: BSD-3-Clause
 * A library that programs of t/preload/patch load and unload. */
int plugged(int x);
__attribute__((constructor, noinline, noclone)) static void begins(void)
{
    __asm__ volatile(".globl at_begin\nat_begin: nop");
}

__attribute__((noinline, noclone)) int plugged(int x)
{
    __asm__ volatile(".globl at_plugged\nat_plugged: nop");
    return x + 1;
}
