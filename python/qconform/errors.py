"""What goes wrong because an argument, a file or a case is not as it must be."""

from __future__ import annotations

from typing import Optional


class Error(Exception):
    """An error that names the field, the value that it has, and the rule that the value breaks.

    `field` is an argument, an attribute, an input or a file ("pads"); `value` is what it is, where that is known;
    `rule` is a rule id of the documentation ("C8"). Each is empty where nothing is to be said.
    """

    field: str
    value: str
    rule: str
    message: str

    def __init__(self, message: str, *, field: str = "", value: str = "", rule: str = "") -> None:
        """`message` says what was expected and what was found."""
        super().__init__(message)
        self.field = field
        self.value = value
        self.rule = rule
        self.message = message

    def __str__(self) -> str:
        """As the program writes it: "pads: expected 4 values, got 3 [rule C8]"."""
        field = f"{self.field}: " if self.field else ""
        rule = f" [rule {self.rule}]" if self.rule else ""
        return f"{field}{self.message}{rule}"

    def __reduce__(self) -> tuple[object, ...]:
        """Keep all parts when the error passes from one process to another."""
        return (_made_again, (self.message, self.field, self.value, self.rule))


def _made_again(message: str, field: str, value: str, rule: str) -> Error:
    return Error(message, field=field, value=value, rule=rule)


def from_text(text: str, value: Optional[str] = None) -> Error:
    """The error in what the program writes to standard error: "qconform: pads: expected ... [rule C8]"."""
    line = next((line for line in text.splitlines() if line.startswith("qconform: ")), text.strip())
    message = line[len("qconform: ") :] if line.startswith("qconform: ") else line
    rule = ""
    if message.endswith("]") and " [rule " in message:
        message, _, rule = message[:-1].rpartition(" [rule ")
    field, separator, rest = message.partition(": ")
    if not separator:
        field, rest = "", message
    return Error(rest, field=field, value=value or "", rule=rule)
