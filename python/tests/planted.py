"""A backend that is right in some cases and wrong in others, as the case's fingerprint decides."""

import numpy as np

import qconform


def planted(model, inputs):
    """The reference's answer with one bit of one element flipped in two of three cases."""
    case = qconform.Case.from_model(model, inputs)
    try:
        outputs = case.reference()
    except qconform.Error:
        return [np.zeros(1, np.uint8)] * len(case.output_names)  # of cases that have no right answer
    choice = int(case.digest, 16)
    output = outputs[choice % len(outputs)]
    if choice % 3 != 0 and output.size > 0:
        flat = output.reshape(-1).view(np.uint8)
        each = output.dtype.itemsize
        flat[choice // 3 % output.size * each] ^= 1
    return outputs
