"""Fixtures for everything that stands on the kernels."""

import pytest

from spotter.engines import kernels, plain


@pytest.fixture(scope="module", params=["compiled", "numpy"] if kernels.COMPILED else ["numpy"])
def primitives(request):
    """Once with compiled primitives, once with NumPy's."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            for name in kernels.NAMES:
                patch.setattr(kernels, name, getattr(plain, name, None))
        yield request.param
