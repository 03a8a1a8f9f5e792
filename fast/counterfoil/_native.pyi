"""What the builder makes of fast/native: the functions and constants that its cdef files declare.

Both are Any: the types of cffi know no struct's fields, which is most of what this extension hands out.
"""

from typing import Any

ffi: Any
lib: Any
