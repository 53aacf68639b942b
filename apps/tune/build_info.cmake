# What `tune --version --json` says. The commit is asked for at each build, in a file of its own.
set(TUNE_COMMIT "" CACHE STRING "The commit, where git cannot say it")
set(commit_header ${CMAKE_CURRENT_BINARY_DIR}/generated/apps/tune/commit.h)
add_custom_target(
  tune_commit
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${commit_header}
          -DCOMMIT=${TUNE_COMMIT} -P ${CMAKE_CURRENT_SOURCE_DIR}/commit.cmake
  BYPRODUCTS ${commit_header}
  COMMENT "Asking for the commit")
add_dependencies(tune tune_commit)
get_filename_component(re2_file ${RE2_LIBRARY} REALPATH)
string(REGEX REPLACE ".*\\.so\\." "" RE2_VERSION ${re2_file})
file(STRINGS ${XXHASH_INCLUDE_DIR}/xxhash.h xxhash_lines REGEX "define XXH_VERSION_[MR].* [0-9]+")
string(REGEX REPLACE "[^;]*VERSION_[A-Z]+ +([0-9]+)" "\\1" xxhash_version "${xxhash_lines}")
list(JOIN xxhash_version . xxHash_VERSION)
set(libraries "")
foreach(library IN ITEMS Boost CLI11 Eigen3 RE2 nlohmann_json simdjson xxHash)
  list(APPEND libraries "{\"${library}\", \"${${library}_VERSION}\"}")
endforeach()
list(JOIN libraries ", " libraries)
file(CONFIGURE OUTPUT generated/apps/tune/built_with.h CONTENT
"#define TUNE_COMPILER \"@CMAKE_CXX_COMPILER_ID@ @CMAKE_CXX_COMPILER_VERSION@\"
#define TUNE_BUILD_TYPE \"@CMAKE_BUILD_TYPE@\"
#define TUNE_LIBRARIES @libraries@\n" @ONLY)
target_include_directories(tune PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
set_source_files_properties(build_info.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
