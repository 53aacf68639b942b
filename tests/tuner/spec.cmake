find_path(VALIJSON_INCLUDE_DIR valijson/validator.hpp REQUIRED)
set(spec_tests resume_changes_test.cpp spec_test.cpp spec_json_test.cpp spec_schema_test.cpp spec_stop_test.cpp
               spec_support.cpp)
list(TRANSFORM spec_tests PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
tune_test(test_spec SOURCES ${spec_tests} LINK tune_spec)
target_include_directories(test_spec SYSTEM PRIVATE ${VALIJSON_INCLUDE_DIR})
target_compile_definitions(test_spec PRIVATE TUNE_SOURCE_DIRECTORY="${PROJECT_SOURCE_DIR}")
