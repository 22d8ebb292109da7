# SPDX-License-Identifier: BSD-3-Clause
"""Prints an HDF5 file as text: each group and dataset with its attributes, its type and its rows.

Unlike the file's bytes, this does not depend on the version of the HDF5 library."""
import sys

import h5py
import numpy


def show_attributes(item):
    for name in sorted(item.attrs):
        print(f"  @{name} = {item.attrs[name]!r}")


def show(name, item):
    if isinstance(item, h5py.Dataset):
        print(f"{name}: {item.dtype} {item.shape}")
        show_attributes(item)
        for row in numpy.atleast_1d(item[()]):
            print(" ", row)
    else:
        print(f"{name}/")
        show_attributes(item)


numpy.set_printoptions(threshold=sys.maxsize, linewidth=10000)
with h5py.File(sys.argv[1], "r") as file:
    show_attributes(file)
    file.visititems(show)
