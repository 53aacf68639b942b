# The library and the examples as users have them: real processes, an installation, and the order
# of the house. Python's own unittest.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

add_executable(library_program library_program.cpp)
target_link_libraries(library_program PRIVATE tune_tuner tune_options)

function(tune_python_test name script)
  add_test(NAME "${name}" COMMAND Python3::Interpreter -B ${script})
  set_tests_properties("${name}" PROPERTIES TIMEOUT 900 ENVIRONMENT "${ARGN}")
endfunction()

tune_python_test("e2e library" ${CMAKE_CURRENT_SOURCE_DIR}/library_test.py
                 "LIBRARY_PROGRAM=$<TARGET_FILE:library_program>"
                 "SINGLE_FILE=$<TARGET_FILE:single_file>" "DIGITS=$<TARGET_FILE:digits>"
                 "TUNE=$<TARGET_FILE:tune>")
tune_python_test("e2e digits resume" ${CMAKE_CURRENT_SOURCE_DIR}/digits_resume_test.py
                 "DIGITS=$<TARGET_FILE:digits>" "TUNE=$<TARGET_FILE:tune>")
tune_python_test("e2e pbt toy" ${CMAKE_CURRENT_SOURCE_DIR}/pbt_toy_test.py
                 "EXAMPLE=${PROJECT_SOURCE_DIR}/apps/examples/pbt_toy"
                 "PBT_TOY=$<TARGET_FILE:pbt_toy>" "TUNE=$<TARGET_FILE:tune>")

# An installed static library wants the flags that it was built with.
set(launcher "")
if(CMAKE_CXX_COMPILER_LAUNCHER)
  list(GET CMAKE_CXX_COMPILER_LAUNCHER -1 launcher)  # without what it is told
endif()
string(REPLACE "," " -fsanitize=" sanitizer_flags "${TUNE_SANITIZE}")
if(TUNE_SANITIZE)
  string(PREPEND sanitizer_flags "-fsanitize=")
endif()
tune_python_test("e2e outside project" ${CMAKE_CURRENT_SOURCE_DIR}/outside_project_test.py
                 "TUNE_BUILD=${CMAKE_BINARY_DIR}" "TUNE_CMAKE=${CMAKE_COMMAND}"
                 "TUNE_CMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
                 "TUNE_CMAKE_CXX_COMPILER_LAUNCHER=${launcher}"
                 "TUNE_CMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS} ${sanitizer_flags}"
                 "TUNE_CMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}")
if(NOT TUNE_SANITIZE)  # nobody packs those
  tune_python_test("e2e package" ${CMAKE_CURRENT_SOURCE_DIR}/package_test.py
                   "TUNE_BUILD=${CMAKE_BINARY_DIR}" "TUNE_CMAKE=${CMAKE_COMMAND}")
endif()

tune_python_test("house layers" ${PROJECT_SOURCE_DIR}/tests/check_layers.py)
tune_python_test("house layers can be broken" ${PROJECT_SOURCE_DIR}/tests/check_layers_test.py
                 "TUNE_BUILD=${CMAKE_BINARY_DIR}")
