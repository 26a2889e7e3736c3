"""HTML and SVG that cannot be forgotten to be escaped: only `Markup` passes as it is.

Run ids, reasons, environment ids and settings come from files anybody may have written.
"""

from html import escape


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def el(name: str, *children: object, **attributes: object) -> Markup:
    """One element. `class_` becomes class, `stroke_width` stroke-width; None leaves one out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: object) -> Markup:
    """Neighbours, escaped unless they are markup."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else escape(str(child), quote=False)
            for child in children
        )
    )
