"""The table that bench_compiling makes of its output."""

from tests.bench.bench_compiling import table

OUTPUT = """\
  1326.1 us  LSTM-f16-27in
   407.9 us  LSTM-f32-27in
    12.4 us  ADD-qu8-3in
     9.6 us  ADD-f32-3in
     8.5 us  RELU-f32-1in
     7.0 us  AXIS_ALIGNED_BBOX_TRANSFORM-qu16_qu8-4in
416 kinds and types, 18 take longer than 150 us an operation
"""


def test_a_table_has_the_slowest_type_of_each_operation():
    assert table(OUTPUT.splitlines(keepends=True)) == [
        "| operation | type | us | operation | type | us | operation | type | us |",
        "|---|---|---|---|---|---|---|---|---|",
        "| LSTM | f16 | 1326 | RELU | f32 | 8 |  |  |  |",
        "| ADD | qu8 | 12 | AXIS_ALIGNED_BBOX_TRANSFORM | qu16_qu8 | 7 |  |  |  |",
    ]
