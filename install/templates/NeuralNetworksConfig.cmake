# find_package(NeuralNetworks) gives these shared libraries as targets, with their headers:
#   NeuralNetworks::neuralnetworks
#   NeuralNetworks::android  NeuralNetworks::log  NeuralNetworks::nativewindow
# Paths are relative to this file: the tree can be moved.

get_filename_component(_nn_lib "${CMAKE_CURRENT_LIST_DIR}/../.." REALPATH)
get_filename_component(_nn_include "${_nn_lib}/@INCLUDE@" ABSOLUTE)
get_filename_component(_nn_companion "${_nn_lib}/@COMPANION@" ABSOLUTE)

foreach(_nn_name @LIBRARIES@)
  if(NOT EXISTS "${_nn_lib}/lib${_nn_name}.so")
    set(NeuralNetworks_FOUND FALSE)
    set(NeuralNetworks_NOT_FOUND_MESSAGE
      "${_nn_lib}/lib${_nn_name}.so is missing; install nnapi_shim again")
    return()
  endif()
  if(NOT TARGET NeuralNetworks::${_nn_name})
    add_library(NeuralNetworks::${_nn_name} SHARED IMPORTED)
    set_target_properties(NeuralNetworks::${_nn_name} PROPERTIES
      IMPORTED_LOCATION "${_nn_lib}/lib${_nn_name}.so"
      IMPORTED_SONAME "lib${_nn_name}.so"
      INTERFACE_INCLUDE_DIRECTORIES "${_nn_include}")
    if(NOT _nn_name STREQUAL "neuralnetworks")
      set_property(TARGET NeuralNetworks::${_nn_name} APPEND PROPERTY
        INTERFACE_INCLUDE_DIRECTORIES "${_nn_companion}")
    endif()
  endif()
endforeach()

foreach(_nn_component IN LISTS NeuralNetworks_FIND_COMPONENTS)
  if(NOT TARGET NeuralNetworks::${_nn_component})
    set(NeuralNetworks_FOUND FALSE)
    set(NeuralNetworks_NOT_FOUND_MESSAGE
      "there is no ${_nn_component}; there are: @LIBRARIES@")
  endif()
endforeach()
