"""For all tests."""

import hypothesis
import pytest

# Other processes may take the processor for longer than Hypothesis waits for an example.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

pytest_plugins = ["pytester"]


@pytest.fixture
def small_suite(tmp_path):
    """A file of cases: DequantizeLinear of 8 bits, right and wrong ones, and one of QuantizeLinear."""
    file = tmp_path / "small.json"
    file.write_text(SMALL_SUITE)
    return file


SMALL_SUITE = """{"format": "qconform-cases", "version": 1, "cases": [
 {"id": "two", "expectation": "valid", "rules": ["D1"], "op_type": "DequantizeLinear", "opset_version": 19,
  "inputs": [{"name": "x", "type": "uint8", "shape": [2], "data": [3, 5]},
             {"name": "x_scale", "type": "float", "shape": [], "data": [0.5]},
             {"name": "x_zero_point", "type": "uint8", "shape": [], "data": [1]}]},
 {"id": "zero", "expectation": "valid", "rules": ["D5"], "op_type": "DequantizeLinear", "opset_version": 19,
  "inputs": [{"name": "x", "type": "uint8", "shape": [3], "data": [3, 5, 7]},
             {"name": "x_scale", "type": "float", "shape": [], "data": [0.25]},
             {"name": "x_zero_point", "type": "uint8", "shape": [], "data": [5]}]},
 {"id": "signed", "expectation": "valid", "rules": ["D1", "D8"], "op_type": "DequantizeLinear", "opset_version": 19,
  "inputs": [{"name": "x", "type": "int8", "shape": [], "data": [-3]},
             {"name": "x_scale", "type": "float", "shape": [], "data": [0.25]},
             {"name": "x_zero_point", "type": "int8", "shape": [], "data": [0]}]},
 {"id": "shapes-differ", "expectation": "invalid", "rules": ["D7"], "op_type": "DequantizeLinear",
  "opset_version": 19,
  "inputs": [{"name": "x", "type": "int8", "shape": [1, 2], "data": [-3, 4]},
             {"name": "x_scale", "type": "float", "shape": [2], "data": [0.25, 0.5]},
             {"name": "x_zero_point", "type": "int8", "shape": [], "data": [0]}]},
 {"id": "to-int8", "expectation": "valid", "rules": ["Q2"], "op_type": "QuantizeLinear", "opset_version": 19,
  "inputs": [{"name": "x", "type": "float", "shape": [2], "data": [0.5, 2.5]},
             {"name": "y_scale", "type": "float", "shape": [], "data": [1.0]},
             {"name": "y_zero_point", "type": "int8", "shape": [], "data": [1]}]}
]}"""
