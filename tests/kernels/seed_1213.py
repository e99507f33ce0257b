# SimtError: k: the simulator itself failed: TypeError("'NoneType' object is not subscriptable")
# launch: (1213, (2, 1), (16, 4))
from numba import cuda


@cuda.jit(device=True)
def dev0(k, f):
    if k < 2:
        return (min(k, 7), f)
    return (k & 12, -f)


@cuda.jit
def k(out_i, out_f, out_z, out_2, hist, a, b, c, d, e, f, g, h, y, z, n, x):
    tx, ty = cuda.grid(2)
    i = ty * cuda.gridsize(2)[0] + tx
    w = x + x
    k2 = 0
    while k2 < 3:
        k2 += 1
        for j3 in range(i % 5):
            out_i[i] += j3
        else:
            break
        w = dev0(i, w)[1]
    out_f[i] = w + k2
