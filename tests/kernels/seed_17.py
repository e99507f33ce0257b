# lockstep: out_f[0] is 3.0, compiled code gives nan
# launch: (17, 2, 32)
from numba import cuda


@cuda.jit
def k(out_i, out_f, out_z, out_2, hist, a, b, c, d, e, f, g, h, y, z, n, x):
    i = cuda.grid(1)
    u = x * 0.0 / (x * 0.0)
    out_f[i] = min(u, 3) + max(u, 2.0, i)
