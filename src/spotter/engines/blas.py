"""One thread for NumPy's matrix products.

A small product is over before a second thread has woken up, and on few cores waiting threads take
time from the environments. One thread also adds in one order, whatever the machine is doing.
"""

from functools import cache

from threadpoolctl import threadpool_limits


@cache
def single_thread() -> None:
    """For this process, from now on."""
    threadpool_limits(1, user_api="blas")
