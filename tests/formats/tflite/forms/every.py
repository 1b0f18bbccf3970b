"""All forms."""

from collections.abc import Iterator

from tests.formats.tflite.forms import axes, elementwise, images, moving, shaping
from tests.formats.tflite.forms.form import Form


def every() -> Iterator[Form]:
    """Each once."""
    seen = set()
    for family in (elementwise, shaping, moving, images, axes):
        for form in family.forms():
            if str(form) not in seen:
                seen.add(str(form))
                yield form
