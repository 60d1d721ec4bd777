// A matrix product as one writes it, with three tile sizes left open: BI, BJ and BK. c = a b, all of them n x n, row by
// row.
static int least(int x, int y) { return x < y ? x : y; }

void matmul(const float* restrict a, const float* restrict b, float* restrict c, int n) {
  for (int i = 0; i < n * n; ++i) c[i] = 0;
  for (int j0 = 0; j0 < n; j0 += BJ)
    for (int k0 = 0; k0 < n; k0 += BK)
      for (int i0 = 0; i0 < n; i0 += BI)
        for (int i = i0; i < least(n, i0 + BI); ++i)
          for (int k = k0; k < least(n, k0 + BK); ++k) {
            const float x = a[i * n + k];
            for (int j = j0; j < least(n, j0 + BJ); ++j) c[i * n + j] += x * b[k * n + j];
          }
}
