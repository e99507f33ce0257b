# lockstep: out_i[1] is np.int64(-2147483648), compiled code gives np.int64(2147483648)
# launch: (2914, 1, 32)
from numba import cuda, int32


@cuda.jit
def k(out_i, out_f, out_z, out_2, hist, a, b, c, d, e, f, g, h, y, z, n, x):
    i = cuda.grid(1)
    out_i[i] = -int32(cuda.brev(int32(i)))
    out_f[i] = ~cuda.brev(int32(i))
