"""Is this quantized kernel right, and if not, why?"""

from qconform.errors import Error

__all__ = ["Error"]
