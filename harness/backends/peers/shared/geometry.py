"""What peers need whose interface has numbers instead of ONNX's attributes. Only for valid nodes."""


class Convolution:
    """Spatial dimensions, strides, dilations, pads at the begin and at the end, and the group of a convolution."""

    def __init__(self, case, x, w):
        attribute = case.attributes.get
        self.kernel = list(w.shape[2:])
        rank = len(self.kernel)
        self.strides = list(attribute("strides", [1] * rank))
        self.dilations = list(attribute("dilations", [1] * rank))
        self.group = attribute("group", 1)
        auto_pad = attribute("auto_pad", b"NOTSET").decode()
        pads = list(attribute("pads", [0] * 2 * rank)) if auto_pad == "NOTSET" else [0] * 2 * rank
        self.begins, self.ends = pads[:rank], pads[rank:]
        same = [self._same_total(size, axis) for axis, size in enumerate(x.shape[2:])]
        upper = ([total // 2 for total in same], [total - total // 2 for total in same])
        if auto_pad == "SAME_UPPER":
            self.begins, self.ends = upper
        if auto_pad == "SAME_LOWER":
            self.ends, self.begins = upper
        self.pads_nothing = not any(self.begins + self.ends)
        self.pads_like_same_upper = (self.begins, self.ends) == upper

    def _same_total(self, size, axis):
        outputs = -(-size // self.strides[axis])
        reach = (self.kernel[axis] - 1) * self.dilations[axis] + 1
        return max(0, (outputs - 1) * self.strides[axis] + reach - size)
