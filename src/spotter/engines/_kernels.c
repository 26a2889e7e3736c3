/* Compiled kernels under the NumPy engine: what `plain.py` says, without NumPy's passes over memory
   and without its overhead for small arrays. No BLAS, no NumPy headers: arrays come through the
   buffer protocol, so one binary serves every Python from 3.11 on.

   The arithmetic is in `_kernels.h`, compiled for several instruction sets; the best one this
   processor has is chosen on import. Shapes and types are checked here, once, and trusted there. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(__GNUC__) && !defined(__clang__)
#error "these kernels need vector types (GCC or Clang); without them NumPy is faster"
#endif

#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

enum { ROWS = 6, DEPTH = 128, NARROW = 4, MOST_BUFFERS = 11 };
/* Multiplications from which on other threads may run meanwhile; handing over the interpreter
   for less costs more than it gives. */
static const double LONG_WORK = 4e6;

typedef enum { LINEAR, TANH, RELU, ACTIVATIONS } Activation;

typedef float Quad __attribute__((vector_size(16), aligned(4), may_alias));

typedef struct {
    float *at;
    ptrdiff_t rows, columns, down, across; /* strides in floats */
} Matrix;

typedef struct {
    float rate, to_mean, keep_square, to_square, spread, eps, decay;
} AdamRates;

/* What a GRU or LSTM is computed from and what it leaves, as policy/recurrence.py names it. */
typedef struct {
    Matrix gates, weight, hidden, cell, before, held, kept, shown, recalled, output;
    Matrix of_output, of_gates, of_a;
    const float *bias;
    const int64_t *sizes;
    ptrdiff_t steps, most; /* sequences of the first step */
    float *scratch;
} Cells;

typedef struct {
    const char *name;
    void (*forward)(Matrix, Matrix, const float *, Matrix, Activation);
    void (*backward)(Matrix, Matrix, Matrix, Matrix, Matrix, float *, Matrix, Activation);
    double (*squares)(const float *, ptrdiff_t);
    void (*scale)(float *, ptrdiff_t, float);
    void (*adam)(float *, const float *, float *, float *, ptrdiff_t, AdamRates);
    void (*rmsprop)(float *, const float *, float *, ptrdiff_t, float, float, float, float);
    void (*lstm)(Cells);
    void (*lstm_slopes)(Cells);
    void (*gru)(Cells);
    void (*gru_slopes)(Cells);
} Arithmetic;

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

static float *row(Matrix m, ptrdiff_t i) { return m.at + i * m.down; }

static Matrix transposed(Matrix m)
{
    return (Matrix){m.at, m.columns, m.rows, m.across, m.down};
}

/* From row i, column j, at most so many of them. */
static Matrix part(Matrix m, ptrdiff_t i, ptrdiff_t j, ptrdiff_t rows, ptrdiff_t columns)
{
    return (Matrix){m.at + i * m.down + j * m.across, least(rows, m.rows - i),
                    least(columns, m.columns - j), m.down, m.across};
}

#define SET(name) name##_baseline
#define SET_NAME "baseline"
#define TARGET
#define WIDTH 4
#include "_kernels.h"
#undef SET
#undef SET_NAME
#undef TARGET
#undef WIDTH

#ifdef __x86_64__
#define SET(name) name##_avx2
#define SET_NAME "avx2"
#define TARGET __attribute__((target("avx2,fma")))
#define WIDTH 8
#include "_kernels.h"
#undef SET
#undef SET_NAME
#undef TARGET
#undef WIDTH

#ifdef __clang__
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma")))
#else
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma,prefer-vector-width=512")))
#endif
#define SET(name) name##_avx512
#define SET_NAME "avx512"
#define WIDTH 16
#include "_kernels.h"
#endif

static const Arithmetic *now = &arithmetic_baseline;

static const Arithmetic *find_set(const char *name)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (!strcmp(name, "avx512") && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("fma"))
        return &arithmetic_avx512;
    if (!strcmp(name, "avx2") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &arithmetic_avx2;
#endif
    return strcmp(name, "baseline") ? NULL : &arithmetic_baseline;
}

/* ---- arrays ---- */

/* The buffers one call has taken hold of. */
typedef struct {
    Py_buffer views[MOST_BUFFERS];
    int count;
} Held;

static PyObject *let_go(Held *held, PyObject *result)
{
    while (held->count)
        PyBuffer_Release(&held->views[--held->count]);
    return result;
}

static PyObject *nothing(Held *held)
{
    Py_INCREF(Py_None);
    return let_go(held, Py_None);
}

static const char *format_of(const Py_buffer *view)
{
    const char *format = view->format ? view->format : "B";
    return *format == '@' || *format == '=' || *format == '<' ? format + 1 : format;
}

/* A buffer of that many dimensions of floats or (`whole`) 64-bit integers. */
static Py_buffer *hold(Held *held, PyObject *array, int dimensions, int writable, int whole)
{
    Py_buffer *view = &held->views[held->count];
    if (PyObject_GetBuffer(array, view, writable ? PyBUF_RECORDS : PyBUF_RECORDS_RO))
        return NULL;
    held->count++;
    const char *format = format_of(view);
    int fits = whole ? (*format == 'l' || *format == 'q') && view->itemsize == 8
                     : *format == 'f' && view->itemsize == 4;
    if (!fits || format[1] || view->ndim != dimensions) {
        PyErr_Format(PyExc_ValueError, "expected %d dimensions of %s, got %d of format '%s'",
                     dimensions, whole ? "int64" : "float32", view->ndim, format);
        return NULL;
    }
    int astray = (uintptr_t)view->buf % (uintptr_t)view->itemsize != 0;
    for (int i = 0; i < dimensions; i++)
        astray |= view->strides[i] % view->itemsize != 0;
    if (astray) {
        PyErr_SetString(PyExc_ValueError, "elements must lie at multiples of their size");
        return NULL;
    }
    return view;
}

static int wrong_length(ptrdiff_t found, ptrdiff_t expected)
{
    if (expected < 0 || found == expected)
        return 0;
    PyErr_Format(PyExc_ValueError, "expected a length of %zd, got %zd", expected, found);
    return 1;
}

/* Lengths below 0 stand for any. */
static int matrix(Held *held, PyObject *array, int writable, ptrdiff_t rows, ptrdiff_t columns,
                  Matrix *to)
{
    Py_buffer *view = hold(held, array, 2, writable, 0);
    if (!view || wrong_length(view->shape[0], rows) || wrong_length(view->shape[1], columns))
        return 0;
    *to = (Matrix){view->buf, view->shape[0], view->shape[1], view->strides[0] / 4,
                   view->strides[1] / 4};
    return 1;
}

/* Consecutive floats. */
static float *vector(Held *held, PyObject *array, int writable, ptrdiff_t length)
{
    Py_buffer *view = hold(held, array, 1, writable, 0);
    if (!view || wrong_length(view->shape[0], length))
        return NULL;
    if (view->shape[0] > 1 && view->strides[0] != 4) {
        PyErr_SetString(PyExc_ValueError, "expected consecutive elements");
        return NULL;
    }
    /* an empty array may have no address */
    static float empty;
    return view->buf ? view->buf : &empty;
}

static ptrdiff_t length_of(const Held *held) { return held->views[held->count - 1].shape[0]; }

static int wrong_count(Py_ssize_t found, Py_ssize_t expected)
{
    if (found == expected)
        return 0;
    PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", expected, found);
    return 1;
}

static int numbers(PyObject *const *args, int count, double *to)
{
    for (int i = 0; i < count; i++) {
        to[i] = PyFloat_AsDouble(args[i]);
        if (to[i] == -1.0 && PyErr_Occurred())
            return 0;
    }
    return 1;
}

static int activation(PyObject *number, Activation *kind)
{
    long found = PyLong_AsLong(number);
    if (found == -1 && PyErr_Occurred())
        return 0;
    if (found < 0 || found >= ACTIVATIONS) {
        PyErr_Format(PyExc_ValueError, "there is no activation %ld", found);
        return 0;
    }
    *kind = (Activation)found;
    return 1;
}

/* ---- layers ---- */

static PyObject *forward(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    Matrix x, weight, out;
    Activation kind;
    float *bias;
    if (wrong_count(count, 5) || !activation(args[4], &kind) ||
        !matrix(&held, args[0], 0, -1, -1, &x) ||
        !matrix(&held, args[1], 0, -1, x.columns, &weight) ||
        !(bias = vector(&held, args[2], 0, weight.rows)) ||
        !matrix(&held, args[3], 1, x.rows, weight.rows, &out))
        return let_go(&held, NULL);
    if (kind != LINEAR && out.columns > 1 && out.across != 1) {
        PyErr_SetString(PyExc_ValueError, "the output of an activation must have whole rows");
        return let_go(&held, NULL);
    }
    double work = (double)x.rows * weight.rows * weight.columns;
    PyThreadState *state = work > LONG_WORK ? PyEval_SaveThread() : NULL;
    now->forward(x, weight, bias, out, kind);
    if (state)
        PyEval_RestoreThread(state);
    return nothing(&held);
}

static PyObject *backward(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    Held held = {.count = 0};
    Matrix d, h = {0}, x, weight, of_weight, of_x = {0};
    Activation kind;
    float *of_bias;
    if (wrong_count(count, 8) || !activation(args[7], &kind) ||
        !matrix(&held, args[0], kind != LINEAR, -1, -1, &d) ||
        (kind != LINEAR && !matrix(&held, args[1], 0, d.rows, d.columns, &h)) ||
        !matrix(&held, args[2], 0, d.rows, -1, &x) ||
        !matrix(&held, args[3], 0, d.columns, x.columns, &weight) ||
        !matrix(&held, args[4], 1, d.columns, x.columns, &of_weight) ||
        !(of_bias = vector(&held, args[5], 1, d.columns)) ||
        (args[6] != Py_None && !matrix(&held, args[6], 1, d.rows, x.columns, &of_x)))
        return let_go(&held, NULL);
    if (kind != LINEAR && d.columns > 1 && (d.across != 1 || h.across != 1)) {
        PyErr_SetString(PyExc_ValueError, "the output of an activation must have whole rows");
        return let_go(&held, NULL);
    }
    double work = 2.0 * (double)x.rows * weight.rows * weight.columns;
    PyThreadState *state = work > LONG_WORK ? PyEval_SaveThread() : NULL;
    now->backward(d, h, x, weight, of_weight, of_bias, of_x, kind);
    if (state)
        PyEval_RestoreThread(state);
    return nothing(&held);
}

#include "_kernels_losses.h"
#include "_kernels_steps.h"
#include "_kernels_cores.h"

/* ---- the module ---- */

static PyObject *instruction_sets(PyObject *self, PyObject *nothing_given)
{
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    PyObject *found = PyList_New(0);
    for (int i = 0; found && i < 3; i++) {
        const Arithmetic *set = find_set(names[i]);
        PyObject *name = set ? PyUnicode_FromString(set->name) : NULL;
        if (set && (!name || PyList_Append(found, name)))
            Py_CLEAR(found);
        Py_XDECREF(name);
    }
    return found;
}

static PyObject *use(PyObject *self, PyObject *name)
{
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    if (!bytes)
        return NULL;
    const Arithmetic *set = find_set(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    if (!set)
        return PyErr_Format(PyExc_ValueError, "this processor has no %R", name);
    now = set;
    Py_RETURN_NONE;
}

#define FAST(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}

static PyMethodDef methods[] = {
    FAST(forward),
    FAST(backward),
    FAST(clip),
    FAST(adam),
    FAST(rmsprop),
    FAST(categorical),
    FAST(categorical_slope),
    FAST(standardize),
    FAST(surrogate),
    FAST(shift),
    FAST(value_loss),
    FAST(lstm),
    FAST(lstm_slopes),
    FAST(gru),
    FAST(gru_slopes),
    {"instruction_sets", instruction_sets, METH_NOARGS, NULL},
    {"use", use, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "spotter.engines._kernels",
    .m_doc = "Compiled versions of spotter.engines.plain.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__kernels(void)
{
    static const char *const best_first[] = {"avx512", "avx2", "baseline"};
    const Arithmetic *found = NULL;
    for (int i = 0; !found; i++)
        found = find_set(best_first[i]);
    now = found;
    return PyModule_Create(&module);
}
