# For projects that were written for Android's NDK and name its libraries as if they were part of the
# system: target_link_libraries(app neuralnetworks android log). Unchanged, they are configured with
#   cmake -DCMAKE_PROJECT_INCLUDE=<this file> ...

get_filename_component(_nn_lib "${CMAKE_CURRENT_LIST_DIR}/../.." REALPATH)
get_filename_component(_nn_include "${_nn_lib}/@INCLUDE@" ABSOLUTE)
get_filename_component(_nn_companion "${_nn_lib}/@COMPANION@" ABSOLUTE)
include_directories(SYSTEM "${_nn_include}" "${_nn_companion}")
link_directories("${_nn_lib}")
list(APPEND CMAKE_BUILD_RPATH "${_nn_lib}")
list(APPEND CMAKE_LIBRARY_PATH "${_nn_lib}")
