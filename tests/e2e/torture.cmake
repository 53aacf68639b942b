# Directories of other programs, killed drivers: what must hold whatever happened.
add_library(torture_plugin MODULE torture_plugin.cpp)
target_include_directories(torture_plugin PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(torture_plugin PRIVATE nlohmann_json::nlohmann_json tune_options)

add_executable(torture_trainable torture_trainable.cpp)
target_link_libraries(torture_trainable PRIVATE tune_trainable tune_options)

# No sanitizer: it is loaded before theirs, and into programs that have none.
add_library(slow_disk MODULE slow_disk.cpp)
target_compile_features(slow_disk PRIVATE cxx_std_20)
target_link_libraries(slow_disk PRIVATE ${CMAKE_DL_LIBS})
if(TUNE_SANITIZE)
  target_compile_options(slow_disk PRIVATE -fno-sanitize=all)
  target_link_options(slow_disk PRIVATE -fno-sanitize=all)
endif()

set(torture_environment
    "TUNE=$<TARGET_FILE:tune>"
    "TOY_TRAINABLE=$<TARGET_FILE:toy_trainable>"
    "MINIMAL_CLIENT=${PROJECT_SOURCE_DIR}/tests/trainable/minimal_client.py"
    "TORTURE_PLUGIN=$<TARGET_FILE:torture_plugin>"
    "TORTURE_TRAINABLE=$<TARGET_FILE:torture_trainable>"
    "PYTHON_PACKAGE=${PROJECT_SOURCE_DIR}/trainable/python"
    "SLOW_DISK=$<TARGET_FILE:slow_disk>"
    "GOLDEN=${PROJECT_SOURCE_DIR}/tests/golden"
    "PYTHONDONTWRITEBYTECODE=1")

foreach(name golden same_decisions)
  add_test(NAME "e2e ${name}" COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.py)
  set_tests_properties("e2e ${name}" PROPERTIES TIMEOUT 900 ENVIRONMENT "${torture_environment}")
endforeach()

# The long form: crash_torture.py --runs 1000, with the same environment.
add_test(NAME "e2e crash torture" COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/crash_torture.py
                                          --runs 20 --seed 1)
set_tests_properties("e2e crash torture" PROPERTIES TIMEOUT 900 ENVIRONMENT "${torture_environment}")

add_test(NAME "e2e python torture" COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/crash_torture.py
                                           --runs 8 --seed 3 --python)
add_test(NAME "e2e workers torture" COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/crash_torture.py
                                            --runs 6 --seed 4 --python --workers 4)
set_tests_properties("e2e workers torture" PROPERTIES TIMEOUT 900 ENVIRONMENT "${torture_environment}")
set_tests_properties("e2e python torture" PROPERTIES TIMEOUT 900 ENVIRONMENT "${torture_environment}")

# The long form: remote_torture.py --runs 50. Skips itself without rclone.
add_test(NAME "e2e remote torture" COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/remote_torture.py
                                           --runs 1 --seed 1)
set_tests_properties("e2e remote torture" PROPERTIES TIMEOUT 900 ENVIRONMENT "${torture_environment}")
add_test(NAME "e2e keep_local torture" COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/remote_torture.py
                                               --runs 1 --seed 2 --keep-local 1)
set_tests_properties("e2e keep_local torture" PROPERTIES TIMEOUT 900 ENVIRONMENT "${torture_environment}")

add_test(NAME "e2e plain torture" COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/plain_torture.py
                                          --runs 12 --seed 1)
set_tests_properties("e2e plain torture" PROPERTIES TIMEOUT 900 ENVIRONMENT "${torture_environment}")
