/* SPDX-License-Identifier: BSD-3-Clause
 * A program that uses most of a library: whole libm, or whole hdf5 FILE (compiled with
 * -DWITH_HDF5). Prints what it computes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

static int use_libm(void)
{
    double sum = 0, part;
    for (int i = 1; i < 500; i++) {
        double x = i * 0.37;
        int e;
        sum += sin(x) + cos(x) + tan(x) + exp(-x / 100) + log(x) + pow(x, 0.3) + atan2(x, 3) +
               tgamma(1 + x / 1e3) + erf(x) + erfc(x) + cbrt(x) + hypot(x, 2) + fmod(x, 1.1) +
               sinh(x / 1e3) + lgamma(x) + j0(x) + y1(x) + remainder(x, 0.7) + nextafter(x, 0) +
               ldexp(x, -3) + expm1(x / 1e3) + log1p(x) + asinh(x) + acosh(1 + x) +
               atanh(1 / (2 + x)) + log2(x) + exp2(x / 100) + log10(x) + asin(1 / (1 + x)) +
               acos(1 / (1 + x)) + (double)lrint(x) + frexp(x, &e) + e + modf(x, &part) + part;
        sum += (double)(sinf((float)x) + powf((float)x, 0.5f) + expf((float)-x));
        sum += (double)(sinl((long double)x) + expl((long double)-x));
    }
    return printf("%.15g\n", sum) < 0;
}

#ifdef WITH_HDF5
#include <hdf5.h>

static int use_hdf5(const char *path)
{
    hsize_t size[2] = {100, 20}, chunk[2] = {10, 20};
    static int values[100][20], back[100][20];
    long sum = 0;
    for (int i = 0; i < 100; i++)
        for (int k = 0; k < 20; k++)
            values[i][k] = i * k;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, size, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(list, 2, chunk);
    (void)H5Pset_deflate(list, 6);
    for (int n = 0; n < 10; n++) {
        char name[16];
        (void)snprintf(name, sizeof name, "set%d", n);
        hid_t set = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, list, H5P_DEFAULT);
        (void)H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        hid_t scalar = H5Screate(H5S_SCALAR);
        hid_t attribute = H5Acreate2(set, "n", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
        (void)H5Awrite(attribute, H5T_NATIVE_INT, &n);
        (void)H5Aclose(attribute);
        (void)H5Sclose(scalar);
        (void)H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back);
        (void)H5Dclose(set);
        for (int i = 0; i < 100; i++)
            sum += back[i][19] * (n + 1);
    }
    (void)H5Pclose(list);
    (void)H5Sclose(space);
    return printf("%ld %d\n", sum, (int)H5Fclose(file)) < 0;
}
#endif

int main(int argc, char **argv)
{
#ifdef WITH_HDF5
    if (argc > 2 && strcmp(argv[1], "hdf5") == 0)
        return use_hdf5(argv[2]);
#endif
    return argc > 1 && strcmp(argv[1], "libm") == 0 ? use_libm() : 2;
}
