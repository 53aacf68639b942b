# The pages, as people read them: what they show is run, and their links lead somewhere. One test a page.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

# The C++ that pages show.
add_library(docs_snippets OBJECT docs/snippets.cpp)
target_link_libraries(docs_snippets PRIVATE tune_tuner tune_simulation tune_options)
add_executable(quadratic docs/quadratic.cpp)
target_link_libraries(quadratic PRIVATE tune_trainable tune_options)

file(GLOB pages CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/*.md ${PROJECT_SOURCE_DIR}/docs/*.md
     ${PROJECT_SOURCE_DIR}/apps/examples/*/*.md)
set(tests "e2e docs page")
add_test(NAME "e2e docs page" COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/docs_page_test.py)
# What a page shows is the same under the sanitizers, and what it runs is tested there.
if(TUNE_SANITIZE)
  set(pages README.md)
endif()
foreach(page ${pages})
  list(APPEND tests "docs ${page}")
  add_test(NAME "docs ${page}" COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/docs_page.py ${PROJECT_SOURCE_DIR}/${page})
endforeach()
set_tests_properties(${tests} PROPERTIES TIMEOUT 900 ENVIRONMENT "BIN=$<TARGET_FILE_DIR:tune>")
