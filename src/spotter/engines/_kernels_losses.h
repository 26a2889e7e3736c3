/* Heads and losses: a few numbers per sample, so one plain pass over them is enough. Included by
   `_kernels.c`, whose helpers it uses. */

/* 64-bit places below `entries`, at any stride. */
typedef struct {
    const char *at;
    ptrdiff_t step;
} Places;

static int64_t place(Places places, ptrdiff_t i) { return *(const int64_t *)(places.at + i * places.step); }

static int places(Held *held, PyObject *array, ptrdiff_t length, ptrdiff_t entries, Places *to)
{
    Py_buffer *view = hold(held, array, 1, 0, 1);
    if (!view || wrong_length(view->shape[0], length))
        return 0;
    *to = (Places){view->buf, view->strides[0]};
    for (ptrdiff_t i = 0; i < length; i++)
        if (place(*to, i) < 0 || place(*to, i) >= entries) {
            PyErr_Format(PyExc_ValueError, "there is no entry %lld among %zd",
                         (long long)place(*to, i), entries);
            return 0;
        }
    return 1;
}

static float at(Matrix m, ptrdiff_t i, ptrdiff_t j) { return m.at[i * m.down + j * m.across]; }

static PyObject *categorical(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    Matrix out, logs, probs;
    Places action;
    float *chosen, *entropy;
    if (wrong_count(count, 6) || !matrix(&held, args[0], 0, -1, -1, &out) ||
        !places(&held, args[1], out.columns, out.rows, &action) ||
        !matrix(&held, args[2], 1, out.rows, out.columns, &logs) ||
        !matrix(&held, args[3], 1, out.rows, out.columns, &probs) ||
        !(chosen = vector(&held, args[4], 1, out.columns)) ||
        !(entropy = vector(&held, args[5], 1, out.columns)))
        return let_go(&held, NULL);
    for (ptrdiff_t j = 0; j < out.columns; j++) {
        float most = at(out, 0, j), total = 0.0f, sum = 0.0f;
        for (ptrdiff_t i = 1; i < out.rows; i++)
            most = at(out, i, j) > most ? at(out, i, j) : most;
        for (ptrdiff_t i = 0; i < out.rows; i++) {
            float weight = expf(at(out, i, j) - most);
            probs.at[i * probs.down + j * probs.across] = weight;
            total += weight;
        }
        float log_total = logf(total);
        for (ptrdiff_t i = 0; i < out.rows; i++) {
            float p = at(probs, i, j) / total, log_p = at(out, i, j) - most - log_total;
            probs.at[i * probs.down + j * probs.across] = p;
            logs.at[i * logs.down + j * logs.across] = log_p;
            sum += p * log_p;
        }
        entropy[j] = -sum;
        chosen[j] = at(logs, place(action, j), j);
    }
    return nothing(&held);
}

static PyObject *categorical_slope(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    Matrix logs, probs, slope;
    Places action;
    float *entropy, *of_log_prob;
    double of_entropy;
    if (wrong_count(count, 7) || !matrix(&held, args[0], 0, -1, -1, &logs) ||
        !matrix(&held, args[1], 0, logs.rows, logs.columns, &probs) ||
        !places(&held, args[2], logs.columns, logs.rows, &action) ||
        !(entropy = vector(&held, args[3], 0, logs.columns)) ||
        !(of_log_prob = vector(&held, args[4], 0, logs.columns)) ||
        !numbers(args + 5, 1, &of_entropy) ||
        !matrix(&held, args[6], 1, logs.rows, logs.columns, &slope))
        return let_go(&held, NULL);
    for (ptrdiff_t i = 0; i < logs.rows; i++)
        for (ptrdiff_t j = 0; j < logs.columns; j++) {
            float p = at(probs, i, j), found = i == place(action, j) ? of_log_prob[j] : 0.0f;
            found -= p * of_log_prob[j];
            /* in this order: a masked entry's huge logarithm meets its probability of 0 first */
            found -= (float)of_entropy * (p * (at(logs, i, j) + entropy[j]));
            slope.at[i * slope.down + j * slope.across] = found;
        }
    return nothing(&held);
}

static PyObject *standardize(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    float *x, *out;
    if (wrong_count(count, 2) || !(x = vector(&held, args[0], 0, -1)) ||
        !(out = vector(&held, args[1], 1, length_of(&held))))
        return let_go(&held, NULL);
    ptrdiff_t length = length_of(&held);
    double sum = 0.0, squares = 0.0;
    for (ptrdiff_t i = 0; i < length; i++)
        sum += x[i];
    float mean = length ? (float)(sum / length) : 0.0f;
    for (ptrdiff_t i = 0; i < length; i++) {
        out[i] = x[i] - mean;
        squares += (double)out[i] * out[i];
    }
    float spread = length > 1 ? (float)(sqrt(squares / (length - 1)) + 1e-8) : 1.0f;
    for (ptrdiff_t i = 0; i < length; i++)
        out[i] /= spread;
    return nothing(&held);
}

static PyObject *surrogate(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    float *ratio, *advantage, *slope;
    double range;
    if (wrong_count(count, 4) || !(ratio = vector(&held, args[0], 0, -1)) ||
        !(advantage = vector(&held, args[1], 0, length_of(&held))) ||
        !(slope = vector(&held, args[2], 1, length_of(&held))) || !numbers(args + 3, 1, &range))
        return let_go(&held, NULL);
    ptrdiff_t length = length_of(&held);
    double loss = 0.0;
    float low = (float)(1.0 - range), high = (float)(1.0 + range), share = -1.0f / length;
    for (ptrdiff_t i = 0; i < length; i++) {
        float inside = ratio[i] < low ? low : (ratio[i] > high ? high : ratio[i]);
        float free = ratio[i] * advantage[i], limited = inside * advantage[i];
        /* where the clipped term is the smaller one it is constant; not a number stays one */
        int is_constant = limited < free;
        loss -= is_constant ? limited : free;
        slope[i] = is_constant ? 0.0f : free * share;
    }
    return let_go(&held, PyFloat_FromDouble(loss / length));
}

static PyObject *shift(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    float *log_ratio, *ratio;
    double range;
    if (wrong_count(count, 3) || !(log_ratio = vector(&held, args[0], 0, -1)) ||
        !(ratio = vector(&held, args[1], 0, length_of(&held))) || !numbers(args + 2, 1, &range))
        return let_go(&held, NULL);
    ptrdiff_t length = length_of(&held), outside = 0;
    double kl = 0.0, approx_kl = 0.0;
    for (ptrdiff_t i = 0; i < length; i++) {
        float change = ratio[i] - 1.0f;
        kl -= log_ratio[i];
        approx_kl += change - log_ratio[i];
        outside += fabsf(change) > (float)range;
    }
    PyObject *found =
        Py_BuildValue("(ddd)", kl / length, approx_kl / length, (double)outside / length);
    return let_go(&held, found);
}

/* Half squared or (finite `delta`) Huber error; returns its derivative. */
static float error_of(float difference, float delta, float *loss)
{
    float size = fabsf(difference);
    if (size > delta) {
        *loss = delta * (size - 0.5f * delta);
        return difference < 0.0f ? -delta : delta;
    }
    *loss = 0.5f * difference * difference;
    return difference;
}

static PyObject *value_loss(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    float *value, *target, *old, *slope;
    double n[2]; /* Huber's delta, clip range; infinity for neither */
    if (wrong_count(count, 6) || !(value = vector(&held, args[0], 0, -1)) ||
        !(target = vector(&held, args[1], 0, length_of(&held))) ||
        !(old = vector(&held, args[2], 0, length_of(&held))) ||
        !(slope = vector(&held, args[3], 1, length_of(&held))) || !numbers(args + 4, 2, n))
        return let_go(&held, NULL);
    ptrdiff_t length = length_of(&held);
    float delta = (float)n[0], range = (float)n[1], share = 1.0f / length;
    double total = 0.0;
    for (ptrdiff_t i = 0; i < length; i++) {
        float loss, held_loss, moved = value[i] - old[i];
        float found = error_of(value[i] - target[i], delta, &loss);
        if (fabsf(moved) > range) {
            error_of(old[i] + (moved < 0.0f ? -range : range) - target[i], delta, &held_loss);
            if (held_loss > loss) {
                loss = held_loss;
                found = 0.0f;
            }
        }
        total += loss;
        slope[i] = found * share;
    }
    return let_go(&held, PyFloat_FromDouble(total / length));
}
