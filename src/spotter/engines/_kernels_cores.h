/* GRU and LSTM over sequences as Python calls them. Included by `_kernels.c`, whose helpers it
   uses; the arithmetic is in `_kernels_recurrence.h`. */

/* One row after another, each consecutive; lengths below 0 stand for any. */
static int rows_of(Held *held, PyObject *array, int writable, ptrdiff_t rows, ptrdiff_t columns,
                   Matrix *to)
{
    if (!matrix(held, array, writable, rows, columns, to))
        return 0;
    if (to->columns > 1 && to->across != 1) {
        PyErr_SetString(PyExc_ValueError, "expected whole rows");
        return 0;
    }
    return 1;
}

/* How many sequences each step has: never more than the step before, B in all. */
static int sizes_of(Held *held, PyObject *array, ptrdiff_t rows, ptrdiff_t most, Cells *at)
{
    Py_buffer *view = hold(held, array, 1, 0, 1);
    if (!view)
        return 0;
    if (view->shape[0] > 1 && view->strides[0] != 8) {
        PyErr_SetString(PyExc_ValueError, "expected consecutive elements");
        return 0;
    }
    at->sizes = view->buf;
    at->steps = view->shape[0];
    at->most = at->steps ? (ptrdiff_t)at->sizes[0] : 0;
    ptrdiff_t total = 0;
    int64_t last = most < 0 ? rows : most;
    for (ptrdiff_t t = 0; t < at->steps; last = at->sizes[t++]) {
        if (at->sizes[t] < 0 || at->sizes[t] > last) {
            PyErr_Format(PyExc_ValueError, "step %zd has %lld sequences after %lld", t,
                         (long long)at->sizes[t], (long long)last);
            return 0;
        }
        total += (ptrdiff_t)at->sizes[t];
    }
    return !wrong_length(total, rows);
}

/* Runs `compute` with room for packed weights and `wide` numbers per sequence. */
static PyObject *run_cells(Held *held, void (*compute)(Cells), Cells at, ptrdiff_t wide)
{
    const ptrdiff_t panel = 32; /* columns of the widest */
    ptrdiff_t down = at.weight.rows, across = at.weight.columns;
    ptrdiff_t there = across * ((down + panel - 1) / panel * panel);
    ptrdiff_t back = down * ((across + panel - 1) / panel * panel);
    size_t room = (size_t)((there > back ? there : back) + at.most * wide + 1);
    at.scratch = PyMem_Malloc(room * sizeof(float));
    if (!at.scratch) {
        PyErr_NoMemory();
        return let_go(held, NULL);
    }
    double work = (double)at.gates.rows * down * across;
    PyThreadState *state = work > LONG_WORK ? PyEval_SaveThread() : NULL;
    compute(at);
    if (state)
        PyEval_RestoreThread(state);
    PyMem_Free(at.scratch);
    return nothing(held);
}

/* `weight` [parts · H, H], and `gates` [B, parts · H]. */
static int weight_and_gates(Held *held, PyObject *weight, PyObject *gates, int writable,
                            ptrdiff_t parts, Cells *at)
{
    if (!matrix(held, weight, 0, -1, -1, &at->weight) ||
        wrong_length(at->weight.rows, parts * at->weight.columns))
        return 0;
    return rows_of(held, gates, writable, -1, at->weight.rows, &at->gates);
}

static PyObject *lstm(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    Cells at = {0};
    if (wrong_count(count, 11) || !weight_and_gates(&held, args[1], args[0], 1, 4, &at))
        return let_go(&held, NULL);
    ptrdiff_t size = at.weight.columns, all = at.gates.rows;
    if (!(at.bias = vector(&held, args[2], 0, 4 * size)) ||
        !rows_of(&held, args[4], 0, -1, size, &at.hidden) ||
        !rows_of(&held, args[5], 0, at.hidden.rows, size, &at.cell) ||
        !sizes_of(&held, args[3], all, at.hidden.rows, &at) ||
        !rows_of(&held, args[6], 1, all, size, &at.before) ||
        !rows_of(&held, args[7], 1, all, size, &at.held) ||
        !rows_of(&held, args[8], 1, all, size, &at.kept) ||
        !rows_of(&held, args[9], 1, all, size, &at.shown) ||
        !rows_of(&held, args[10], 1, all, size, &at.output))
        return let_go(&held, NULL);
    return run_cells(&held, now->lstm, at, 0);
}

static PyObject *lstm_slopes(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    Cells at = {0};
    if (wrong_count(count, 7) || !weight_and_gates(&held, args[2], args[1], 0, 4, &at))
        return let_go(&held, NULL);
    ptrdiff_t size = at.weight.columns, all = at.gates.rows;
    if (!rows_of(&held, args[0], 0, all, size, &at.of_output) ||
        !sizes_of(&held, args[3], all, -1, &at) ||
        !rows_of(&held, args[4], 0, all, size, &at.held) ||
        !rows_of(&held, args[5], 0, all, size, &at.shown) ||
        !rows_of(&held, args[6], 1, all, 4 * size, &at.of_gates))
        return let_go(&held, NULL);
    return run_cells(&held, now->lstm_slopes, at, 2 * size);
}

static PyObject *gru(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    Cells at = {0};
    if (wrong_count(count, 8) || !weight_and_gates(&held, args[1], args[0], 1, 3, &at))
        return let_go(&held, NULL);
    ptrdiff_t size = at.weight.columns, all = at.gates.rows;
    if (!(at.bias = vector(&held, args[2], 0, 3 * size)) ||
        !rows_of(&held, args[4], 0, -1, size, &at.hidden) ||
        !sizes_of(&held, args[3], all, at.hidden.rows, &at) ||
        !rows_of(&held, args[5], 1, all, size, &at.before) ||
        !rows_of(&held, args[6], 1, all, size, &at.recalled) ||
        !rows_of(&held, args[7], 1, all, size, &at.output))
        return let_go(&held, NULL);
    return run_cells(&held, now->gru, at, 3 * size);
}

static PyObject *gru_slopes(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    Cells at = {0};
    if (wrong_count(count, 8) || !weight_and_gates(&held, args[2], args[1], 0, 3, &at))
        return let_go(&held, NULL);
    ptrdiff_t size = at.weight.columns, all = at.gates.rows;
    if (!rows_of(&held, args[0], 0, all, size, &at.of_output) ||
        !sizes_of(&held, args[3], all, -1, &at) ||
        !rows_of(&held, args[4], 0, all, size, &at.before) ||
        !rows_of(&held, args[5], 0, all, size, &at.recalled) ||
        !rows_of(&held, args[6], 1, all, 3 * size, &at.of_gates) ||
        !rows_of(&held, args[7], 1, all, 3 * size, &at.of_a))
        return let_go(&held, NULL);
    return run_cells(&held, now->gru_slopes, at, size);
}
