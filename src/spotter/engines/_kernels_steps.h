/* Clipping and the update rules on one flat vector. Included by `_kernels.c`, whose helpers it uses.
 */

static PyObject *clip(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    double limit;
    float *gradient;
    if (wrong_count(count, 2) || !(gradient = vector(&held, args[0], 1, -1)) ||
        !numbers(args + 1, 1, &limit))
        return let_go(&held, NULL);
    ptrdiff_t length = length_of(&held);
    double norm = sqrt(now->squares(gradient, length));
    double factor = limit / (norm + 1e-6);
    if (limit < INFINITY && !(factor >= 1.0))
        now->scale(gradient, length, (float)factor);
    return let_go(&held, PyFloat_FromDouble(norm));
}

/* Where the second learning rate begins. */
static int split_at(PyObject *number, ptrdiff_t length, ptrdiff_t *split)
{
    *split = PyLong_AsSsize_t(number);
    if (*split == -1 && PyErr_Occurred())
        return 0;
    if (*split < 0 || *split > length) {
        PyErr_Format(PyExc_ValueError, "cannot split %zd elements at %zd", length, *split);
        return 0;
    }
    return 1;
}

static PyObject *adam(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    float *flat, *gradient, *mean, *square;
    ptrdiff_t length, split;
    double n[7]; /* rate, second rate, steps, first beta, second beta, eps, decay */
    if (wrong_count(count, 12) || !(flat = vector(&held, args[0], 1, -1)))
        return let_go(&held, NULL);
    length = length_of(&held);
    if (!(gradient = vector(&held, args[1], 0, length)) ||
        !(mean = vector(&held, args[2], 1, length)) ||
        !(square = vector(&held, args[3], 1, length)) || !split_at(args[4], length, &split) ||
        !numbers(args + 5, 7, n))
        return let_go(&held, NULL);
    /* (m / c₁) / (√v / √c₂ + ε), with c₁ and √c₂ moved to where they cost nothing */
    double of_mean = 1.0 - pow(n[3], n[2]), of_square = sqrt(1.0 - pow(n[4], n[2]));
    AdamRates at = {
        .rate = (float)n[0],
        .to_mean = (float)(1.0 - n[3]),
        .keep_square = (float)n[4],
        .to_square = (float)(1.0 - n[4]),
        .spread = (float)(of_mean / of_square),
        .eps = (float)(n[5] * of_mean),
        .decay = (float)n[6],
    };
    now->adam(flat, gradient, mean, square, split, at);
    at.rate = (float)n[1];
    now->adam(flat + split, gradient + split, mean + split, square + split, length - split, at);
    return nothing(&held);
}

static PyObject *rmsprop(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    float *flat, *gradient, *square;
    ptrdiff_t length, split;
    double n[4]; /* rate, second rate, decay, eps */
    if (wrong_count(count, 8) || !(flat = vector(&held, args[0], 1, -1)))
        return let_go(&held, NULL);
    length = length_of(&held);
    if (!(gradient = vector(&held, args[1], 0, length)) ||
        !(square = vector(&held, args[2], 1, length)) || !split_at(args[3], length, &split) ||
        !numbers(args + 4, 4, n))
        return let_go(&held, NULL);
    float keep = (float)n[2], take = (float)(1.0 - n[2]), eps = (float)n[3];
    now->rmsprop(flat, gradient, square, split, (float)n[0], keep, take, eps);
    now->rmsprop(flat + split, gradient + split, square + split, length - split, (float)n[1], keep,
                 take, eps);
    return nothing(&held);
}
