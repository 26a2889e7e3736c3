/* GRU and LSTM over sequences, for one instruction set; `_kernels.h` includes this. The formulas
   and what each array holds are in policy/recurrence.py.

   Sequences are few and steps many, so weights are packed once for all steps. */

/* All columns of `b`, panel after panel. */
static TARGET void SET(pack_all)(Matrix b, float *panels)
{
    for (ptrdiff_t j = 0; j < b.columns; j += 2 * WIDTH, panels += b.rows * 2 * WIDTH)
        SET(pack)(part(b, 0, j, b.rows, 2 * WIDTH), panels);
}

/* c = a b, or c += a b. */
static TARGET void SET(times)(Matrix a, const float *panels, Matrix c, int more)
{
    for (ptrdiff_t j = 0; j < c.columns; j += 2 * WIDTH, panels += a.columns * 2 * WIDTH)
        SET(sweep)(a, panels, part(c, 0, j, c.rows, 2 * WIDTH), more);
}

INLINE TARGET float SET(sigmoid)(float x) { return 0.5f * SET(tanh)(0.5f * x) + 0.5f; }

INLINE TARGET void SET(lstm_row)(float *restrict i, float *restrict f, float *restrict n,
                                 float *restrict o, const float *restrict bias,
                                 const float *restrict held, float *restrict kept,
                                 float *restrict shown, float *restrict output, ptrdiff_t size)
{
    for (ptrdiff_t j = 0; j < size; j++) {
        i[j] = SET(sigmoid)(i[j] + bias[j]);
        f[j] = SET(sigmoid)(f[j] + bias[size + j]);
        n[j] = SET(tanh)(n[j] + bias[2 * size + j]);
        o[j] = SET(sigmoid)(o[j] + bias[3 * size + j]);
        kept[j] = f[j] * held[j] + i[j] * n[j];
        shown[j] = SET(tanh)(kept[j]);
        output[j] = o[j] * shown[j];
    }
}

static TARGET void SET(lstm)(Cells at)
{
    ptrdiff_t size = at.weight.columns, start = 0;
    Matrix h = at.hidden, c = at.cell;
    SET(pack_all)(transposed(at.weight), at.scratch);
    for (ptrdiff_t t = 0; t < at.steps; start += at.sizes[t++]) {
        ptrdiff_t count = (ptrdiff_t)at.sizes[t];
        Matrix gates = part(at.gates, start, 0, count, 4 * size);
        h.rows = count;
        SET(times)(h, at.scratch, gates, 1);
        for (ptrdiff_t k = 0; k < count; k++) {
            float *g = row(gates, k), *held = row(at.held, start + k);
            memcpy(row(at.before, start + k), row(h, k), (size_t)size * sizeof(float));
            memcpy(held, row(c, k), (size_t)size * sizeof(float));
            SET(lstm_row)(g, g + size, g + 2 * size, g + 3 * size, at.bias, held,
                          row(at.kept, start + k), row(at.shown, start + k),
                          row(at.output, start + k), size);
        }
        h = part(at.output, start, 0, count, size);
        c = part(at.kept, start, 0, count, size);
    }
}

INLINE TARGET void SET(lstm_slope)(const float *restrict g, const float *restrict of_output,
                                   const float *restrict held, const float *restrict shown,
                                   const float *restrict carried, float *restrict of_cell,
                                   float *restrict of_i, float *restrict of_f,
                                   float *restrict of_n, float *restrict of_o, ptrdiff_t size)
{
    for (ptrdiff_t j = 0; j < size; j++) {
        float i = g[j], f = g[size + j], n = g[2 * size + j], o = g[3 * size + j];
        float slope = of_output[j] + carried[j];
        float by_cell = slope * o * (1.0f - shown[j] * shown[j]) + of_cell[j];
        of_i[j] = by_cell * n * i * (1.0f - i);
        of_f[j] = by_cell * held[j] * f * (1.0f - f);
        of_n[j] = by_cell * i * (1.0f - n * n);
        of_o[j] = slope * shown[j] * o * (1.0f - o);
        of_cell[j] = by_cell * f;
    }
}

static TARGET void SET(lstm_slopes)(Cells at)
{
    ptrdiff_t size = at.weight.columns, stop = at.gates.rows, most = at.most;
    /* rows of sequences that have ended stay zero */
    float *panels = at.scratch + 2 * most * size;
    Matrix carried = {at.scratch, most, size, size, 1}, of_cell = carried;
    of_cell.at += most * size;
    memset(at.scratch, 0, (size_t)(2 * most * size) * sizeof(float));
    SET(pack_all)(at.weight, panels);
    for (ptrdiff_t t = at.steps - 1; t >= 0; t--) {
        ptrdiff_t count = (ptrdiff_t)at.sizes[t], start = stop - count;
        Matrix into = part(at.of_gates, start, 0, count, 4 * size);
        for (ptrdiff_t k = 0; k < count; k++) {
            float *of = row(into, k);
            SET(lstm_slope)(row(at.gates, start + k), row(at.of_output, start + k),
                            row(at.held, start + k), row(at.shown, start + k), row(carried, k),
                            row(of_cell, k), of, of + size, of + 2 * size, of + 3 * size, size);
        }
        SET(times)(into, panels, part(carried, 0, 0, count, size), 0);
        stop = start;
    }
}

INLINE TARGET void SET(gru_row)(float *restrict r, float *restrict z, float *restrict n,
                                const float *restrict a, const float *restrict bias,
                                const float *restrict before, float *restrict recalled,
                                float *restrict output, ptrdiff_t size)
{
    for (ptrdiff_t j = 0; j < size; j++) {
        r[j] = SET(sigmoid)(r[j] + a[j] + bias[j]);
        z[j] = SET(sigmoid)(z[j] + a[size + j] + bias[size + j]);
        recalled[j] = a[2 * size + j] + bias[2 * size + j];
        n[j] = SET(tanh)(n[j] + r[j] * recalled[j]);
        output[j] = n[j] + z[j] * (before[j] - n[j]);
    }
}

static TARGET void SET(gru)(Cells at)
{
    ptrdiff_t size = at.weight.columns, start = 0;
    Matrix h = at.hidden, a = {at.scratch, at.most, 3 * size, 3 * size, 1};
    float *panels = at.scratch + at.most * 3 * size;
    SET(pack_all)(transposed(at.weight), panels);
    for (ptrdiff_t t = 0; t < at.steps; start += at.sizes[t++]) {
        ptrdiff_t count = (ptrdiff_t)at.sizes[t];
        h.rows = count;
        SET(times)(h, panels, part(a, 0, 0, count, 3 * size), 0);
        for (ptrdiff_t k = 0; k < count; k++) {
            float *g = row(at.gates, start + k), *before = row(at.before, start + k);
            memcpy(before, row(h, k), (size_t)size * sizeof(float));
            SET(gru_row)(g, g + size, g + 2 * size, row(a, k), at.bias, before,
                         row(at.recalled, start + k), row(at.output, start + k), size);
        }
        h = part(at.output, start, 0, count, size);
    }
}

INLINE TARGET void SET(gru_slope)(const float *restrict g, const float *restrict of_output,
                                  const float *restrict before, const float *restrict recalled,
                                  float *restrict carried, float *restrict of_g,
                                  float *restrict of_a, ptrdiff_t size)
{
    for (ptrdiff_t j = 0; j < size; j++) {
        float r = g[j], z = g[size + j], n = g[2 * size + j];
        float slope = of_output[j] + carried[j];
        float of_n = slope * (1.0f - z) * (1.0f - n * n);
        of_a[j] = of_n * recalled[j] * r * (1.0f - r);
        of_a[size + j] = slope * (before[j] - n) * z * (1.0f - z);
        of_a[2 * size + j] = of_n * r;
        of_g[2 * size + j] = of_n;
        carried[j] = slope * z;
    }
    memcpy(of_g, of_a, (size_t)(2 * size) * sizeof(float));
}

static TARGET void SET(gru_slopes)(Cells at)
{
    ptrdiff_t size = at.weight.columns, stop = at.gates.rows, most = at.most;
    float *panels = at.scratch + most * size;
    Matrix carried = {at.scratch, most, size, size, 1};
    memset(at.scratch, 0, (size_t)(most * size) * sizeof(float));
    SET(pack_all)(at.weight, panels);
    for (ptrdiff_t t = at.steps - 1; t >= 0; t--) {
        ptrdiff_t count = (ptrdiff_t)at.sizes[t], start = stop - count;
        for (ptrdiff_t k = 0; k < count; k++)
            SET(gru_slope)(row(at.gates, start + k), row(at.of_output, start + k),
                           row(at.before, start + k), row(at.recalled, start + k),
                           row(carried, k), row(at.of_gates, start + k), row(at.of_a, start + k),
                           size);
        SET(times)(part(at.of_a, start, 0, count, 3 * size), panels,
                   part(carried, 0, 0, count, size), 1);
        stop = start;
    }
}
