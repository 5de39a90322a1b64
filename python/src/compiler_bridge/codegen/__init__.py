"""Turns ONNX models into C++."""
