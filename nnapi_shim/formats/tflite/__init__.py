"""TensorFlow Lite's files."""
