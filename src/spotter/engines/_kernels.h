/* Arithmetic of the kernels for one instruction set; `_kernels.c` includes this once for each.

   Before including, define SET(name) to give names a suffix, TARGET as the attribute that lets
   functions use the instruction set, and WIDTH as the number of floats in one of its vectors.
   Every element of a result is summed in one order, whatever the other elements are: a row gives
   the same bits alone and among others. */

typedef float SET(Vector) __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));

/* [rows, halves · WIDTH] of a product: rows of `a` times a packed panel. `rows` and `halves` are
   constants wherever this is inlined, so that all sums stay in registers. */
INLINE TARGET void SET(tile)(int rows, int halves, const float *a, ptrdiff_t down, ptrdiff_t across,
                             const float *panel, ptrdiff_t depth, Matrix c, int more)
{
    SET(Vector) sum[ROWS][2];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int h = 0; h < halves; h++)
            sum[r][h] = (SET(Vector)){0};
    for (ptrdiff_t k = 0; k < depth; k++, a += across, panel += 2 * WIDTH) {
        SET(Vector) b[2];
        UNROLL for (int h = 0; h < halves; h++)
            b[h] = *(const SET(Vector) *)(panel + h * WIDTH);
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int h = 0; h < halves; h++)
                sum[r][h] += a[r * down] * b[h];
    }
    if (c.across == 1 && c.columns == halves * WIDTH) {
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int h = 0; h < halves; h++) {
                SET(Vector) *to = (SET(Vector) *)(c.at + r * c.down + h * WIDTH);
                if (more)
                    sum[r][h] += *to;
                *to = sum[r][h];
            }
        return;
    }
    float part[ROWS][2 * WIDTH];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int h = 0; h < halves; h++)
            *(SET(Vector) *)&part[r][h * WIDTH] = sum[r][h];
    for (int r = 0; r < rows; r++)
        for (ptrdiff_t j = 0; j < c.columns; j++) {
            float *to = c.at + r * c.down + j * c.across;
            *to = more ? *to + part[r][j] : part[r][j];
        }
}

/* Columns of `b` side by side, filled up with zeros to a whole number of vectors. */
static TARGET void SET(pack)(Matrix b, float *restrict panel)
{
    if (b.across == 1 && b.columns == 2 * WIDTH) {
        for (ptrdiff_t k = 0; k < b.rows; k++)
            memcpy(panel + k * 2 * WIDTH, b.at + k * b.down, 2 * WIDTH * sizeof(float));
        return;
    }
    if (b.columns < 2 * WIDTH)
        memset(panel, 0, (size_t)b.rows * 2 * WIDTH * sizeof(float));
    ptrdiff_t j = 0;
    for (; j + 4 <= b.columns; j += 4)
        for (ptrdiff_t k = 0; k < b.rows; k++) {
            const float *from = b.at + k * b.down + j * b.across;
            Quad four = {from[0], from[b.across], from[2 * b.across], from[3 * b.across]};
            *(Quad *)(panel + k * 2 * WIDTH + j) = four;
        }
    for (; j < b.columns; j++)
        for (ptrdiff_t k = 0; k < b.rows; k++)
            panel[k * 2 * WIDTH + j] = b.at[k * b.down + j * b.across];
}

#define TILE(rows) \
    case rows: \
        if (c.columns > WIDTH) \
            SET(tile)(rows, 2, a.at, a.down, a.across, panel, a.columns, c, more); \
        else \
            SET(tile)(rows, 1, a.at, a.down, a.across, panel, a.columns, c, more); \
        break;

/* All rows of `a` times one panel. */
static TARGET void SET(sweep)(Matrix a, const float *panel, Matrix c, int more)
{
    for (ptrdiff_t left = a.rows; left > 0; left -= ROWS) {
        switch (left < ROWS ? left : ROWS) {
            TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6)
        }
        a.at += ROWS * a.down;
        c.at += ROWS * c.down;
    }
}

#undef TILE

/* The same for few columns, each consecutive in memory, and rows that are, too. */
static TARGET void SET(narrow)(Matrix a, Matrix b, Matrix c)
{
    for (ptrdiff_t i = 0; i < a.rows; i++)
        for (ptrdiff_t j = 0; j < b.columns; j++) {
            const float *x = a.at + i * a.down, *y = b.at + j * b.across;
            SET(Vector) sums = {0};
            ptrdiff_t k = 0;
            for (; k + WIDTH <= a.columns; k += WIDTH)
                sums += *(const SET(Vector) *)(x + k) * *(const SET(Vector) *)(y + k);
            Quad four = {0};
            UNROLL for (int lane = 0; lane < WIDTH; lane += 4)
                four += ((const Quad *)&sums)[lane / 4];
            float sum = (four[0] + four[2]) + (four[1] + four[3]);
            for (; k < a.columns; k++)
                sum += x[k] * y[k];
            c.at[i * c.down + j * c.across] = sum;
        }
}

/* c = a b */
static TARGET void SET(product)(Matrix a, Matrix b, Matrix c)
{
    if (b.columns <= NARROW && a.across == 1 && b.down == 1) {
        SET(narrow)(a, b, c);
        return;
    }
    float panel[DEPTH * 2 * WIDTH] __attribute__((aligned(64)));
    if (!b.rows)
        for (ptrdiff_t i = 0; i < c.rows; i++)
            for (ptrdiff_t j = 0; j < c.columns; j++)
                c.at[i * c.down + j * c.across] = 0.0f;
    for (ptrdiff_t k = 0; k < b.rows; k += DEPTH)
        for (ptrdiff_t j = 0; j < b.columns; j += 2 * WIDTH) {
            Matrix strip = part(a, 0, k, a.rows, DEPTH);
            SET(pack)(part(b, k, j, DEPTH, 2 * WIDTH), panel);
            SET(sweep)(strip, panel, part(c, 0, j, c.rows, 2 * WIDTH), k > 0);
        }
}

/* A rational approximation, right to a few units in the last place. */
INLINE TARGET float SET(tanh)(float x)
{
    x = x < -7.905311f ? -7.905311f : (x > 7.905311f ? 7.905311f : x);
    float s = x * x;
    float p = -2.76076847742355e-16f;
    p = p * s + 2.00018790482477e-13f;
    p = p * s - 8.60467152213735e-11f;
    p = p * s + 5.12229709037114e-08f;
    p = p * s + 1.48572235717979e-05f;
    p = p * s + 6.37261928875436e-04f;
    p = p * s + 4.89352455891786e-03f;
    float q = 1.19825839466702e-06f;
    q = q * s + 1.18534705686654e-04f;
    q = q * s + 2.26843463243900e-03f;
    q = q * s + 4.89352518554385e-03f;
    return x * p / q;
}

/* One row: z = activation(z + bias). */
INLINE TARGET void SET(activate)(float *restrict z, const float *restrict bias, ptrdiff_t width,
                                 Activation kind)
{
    if (kind == TANH)
        for (ptrdiff_t j = 0; j < width; j++)
            z[j] = SET(tanh)(z[j] + bias[j]);
    else if (kind == RELU)
        for (ptrdiff_t j = 0; j < width; j++) {
            float y = z[j] + bias[j];
            z[j] = y < 0.0f ? 0.0f : y; /* not a number stays not a number */
        }
    else
        for (ptrdiff_t j = 0; j < width; j++)
            z[j] += bias[j];
}

static TARGET void SET(forward)(Matrix x, Matrix weight, const float *bias, Matrix out,
                                Activation kind)
{
    SET(product)(x, transposed(weight), out);
    for (ptrdiff_t i = 0; i < out.rows; i++) {
        float *row = out.at + i * out.down;
        if (out.across == 1)
            SET(activate)(row, bias, out.columns, kind);
        else
            for (ptrdiff_t j = 0; j < out.columns; j++)
                row[j * out.across] += bias[j];
    }
}

/* One row: d = d · activation'(.) where h is the activation's value; d is added to `total`. */
INLINE TARGET void SET(descend)(float *restrict d, const float *restrict h, float *restrict total,
                                ptrdiff_t width, Activation kind)
{
    if (kind == TANH)
        for (ptrdiff_t j = 0; j < width; j++) {
            d[j] *= 1.0f - h[j] * h[j];
            total[j] += d[j];
        }
    else
        for (ptrdiff_t j = 0; j < width; j++) {
            d[j] = h[j] > 0.0f ? d[j] : 0.0f;
            total[j] += d[j];
        }
}

static TARGET void SET(backward)(Matrix d, Matrix h, Matrix x, Matrix weight, Matrix of_weight,
                                 float *restrict of_bias, Matrix of_x, Activation kind)
{
    for (ptrdiff_t j = 0; j < d.columns; j++)
        of_bias[j] = 0.0f;
    for (ptrdiff_t i = 0; i < d.rows; i++) {
        float *row = d.at + i * d.down;
        if (kind == LINEAR && d.across == 1)
            for (ptrdiff_t j = 0; j < d.columns; j++)
                of_bias[j] += row[j];
        else if (kind == LINEAR)
            for (ptrdiff_t j = 0; j < d.columns; j++)
                of_bias[j] += row[j * d.across];
        else
            SET(descend)(row, h.at + i * h.down, of_bias, d.columns, kind);
    }
    if (x.columns < d.columns) /* vectors lie along the longer side */
        SET(product)(transposed(x), d, transposed(of_weight));
    else
        SET(product)(transposed(d), x, of_weight);
    if (of_x.at)
        SET(product)(d, weight, of_x);
}

/* Σ x², in sixteen lanes so that it is vectorised and yet has one order. */
static TARGET double SET(squares)(const float *x, ptrdiff_t count)
{
    float lanes[16] = {0};
    ptrdiff_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (int j = 0; j < 16; j++)
            lanes[j] += x[i + j] * x[i + j];
    double total = 0.0;
    for (; i < count; i++)
        total += (double)x[i] * x[i];
    for (int j = 0; j < 16; j++)
        total += lanes[j];
    return total;
}

static TARGET void SET(scale)(float *x, ptrdiff_t count, float factor)
{
    for (ptrdiff_t i = 0; i < count; i++)
        x[i] *= factor;
}

static TARGET void SET(adam)(float *restrict flat, const float *restrict gradient,
                             float *restrict mean, float *restrict square, ptrdiff_t count,
                             AdamRates at)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        float g = gradient[i];
        mean[i] += (g - mean[i]) * at.to_mean;
        square[i] = square[i] * at.keep_square + g * g * at.to_square;
        float change = mean[i] / (sqrtf(square[i]) * at.spread + at.eps) + at.decay * flat[i];
        flat[i] -= at.rate * change;
    }
}

static TARGET void SET(rmsprop)(float *restrict flat, const float *restrict gradient,
                                float *restrict square, ptrdiff_t count, float rate, float keep,
                                float take, float eps)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        float g = gradient[i];
        square[i] = square[i] * keep + g * g * take;
        flat[i] -= rate * (g / (sqrtf(square[i]) + eps));
    }
}

#include "_kernels_recurrence.h"

static const Arithmetic SET(arithmetic) = {
    SET_NAME,     SET(forward), SET(backward),    SET(squares), SET(scale),      SET(adam),
    SET(rmsprop), SET(lstm),    SET(lstm_slopes), SET(gru),     SET(gru_slopes),
};
