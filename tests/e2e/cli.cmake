# The command line, as people run it: the real binary, real trials, Python's own unittest.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

# What somebody else's plugin looks like, and one that was built with other headers.
add_library(example_plugin MODULE example_plugin.cpp)
add_library(outdated_plugin MODULE example_plugin.cpp)
foreach(plugin example_plugin outdated_plugin)
  target_include_directories(${plugin} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${plugin} PRIVATE nlohmann_json::nlohmann_json tune_options)
endforeach()
target_compile_definitions(example_plugin PRIVATE PLUGIN_ABI=tune::plugin_abi)
target_compile_definitions(outdated_plugin PRIVATE PLUGIN_ABI=0)

# The halves in C++ of a table of the page on trainables.
add_executable(featured_trainable featured_trainable.cpp)
target_link_libraries(featured_trainable PRIVATE tune_trainable tune_options)

# What somebody writes who can write to a store.
add_executable(journal_lines journal_lines.cpp)
target_link_libraries(journal_lines PRIVATE tune_checkpoints tune_journal tune_options)

# Not under the sanitizers: a run of preload did not end there once, and it is not known why; the
# others are about what is written in Python, and have the driver do what it does in those below.
if(NOT TUNE_SANITIZE)
  set(in_python preload python_sklearn callback features notebook ported python python_given python_libraries python_restore python_reuse tensorboard)
endif()
foreach(name ${in_python} agent_jobs ask json json_tasks blobs check cli cluster constraints look meanings objectives one_driver ran failures faults handover init interrupts leaving plain plain_checkpoints
        plain_examples policy protocol remote swift keep_local resume control events
        schedulers simulate slurm status texts workers lineage machine snapshot_period trials report plot dashboard browser)
  # Its other tests start a hundred drawings by another program.
  set(only)
  if(TUNE_SANITIZE AND name STREQUAL plot)
    set(only Plot.test_its_numbers_are_those_of_the_other_commands)
  endif()
  add_test(NAME "e2e ${name}" COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.py ${only})
  set_tests_properties(
    "e2e ${name}"
    PROPERTIES
      TIMEOUT
      900
      ENVIRONMENT
      "TUNE=$<TARGET_FILE:tune>;TOY_TRAINABLE=$<TARGET_FILE:toy_trainable>;FEATURED_TRAINABLE=$<TARGET_FILE:featured_trainable>;JOURNAL_LINES=$<TARGET_FILE:journal_lines>;SANITIZE=${TUNE_SANITIZE};MINIMAL_CLIENT=${PROJECT_SOURCE_DIR}/tests/trainable/minimal_client.py;PLUGIN=$<TARGET_FILE:example_plugin>;OUTDATED_PLUGIN=$<TARGET_FILE:outdated_plugin>;DIGITS=$<TARGET_FILE:digits>;PBT_TOY=$<TARGET_FILE:pbt_toy>;SINGLE_FILE=$<TARGET_FILE:single_file>;COMPLETION=${PROJECT_SOURCE_DIR}/apps/tune/completion;EXAMPLES=${PROJECT_SOURCE_DIR}/apps/examples;EXAMPLES_VENV=${CMAKE_BINARY_DIR}/examples_venv;TENSORBOARD_VENV=${PROJECT_BINARY_DIR}/tensorboard_venv;PYTHON_PACKAGE=${PROJECT_SOURCE_DIR}/trainable/python;PYTHONDONTWRITEBYTECODE=1"
  )
endforeach()
# The page that `tune report` fills: without npm, of what can be told of its files.
add_test(NAME "e2e page" COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/page_test.py)
set_tests_properties("e2e page" PROPERTIES TIMEOUT 300 ENVIRONMENT "PAGE_MODULES=${PROJECT_BINARY_DIR}/page_modules")
# What is true of trials here is true of those under agents, two of them on this machine. (Not what a test tells by a trial that
# starts again when its driver was killed: there it goes on.)
function(add_by_agents name)
  get_test_property("e2e ${name}" ENVIRONMENT environment)
  list(FILTER environment EXCLUDE REGEX "^TUNE=")
  list(APPEND environment "TUNE=${CMAKE_CURRENT_SOURCE_DIR}/tune_by_agents.sh" "TUNE_PROGRAM=$<TARGET_FILE:tune>")
  add_test(NAME "e2e ${name} by agents"
           COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.py ${ARGN})
  set_tests_properties("e2e ${name} by agents" PROPERTIES TIMEOUT 300 ENVIRONMENT "${environment}")
endfunction()
add_by_agents(
  workers
  WorkersTest.test_ranks_train_and_save_together
  WorkersTest.test_a_rank_that_dies_is_why_and_all_begin_again
  WorkersTest.test_a_killed_driver_loses_nothing_and_leaves_nobody
  WorkersTest.test_populations_clone_and_go_on_with_all_ranks
  WorkersTest.test_processes_are_used_again
  WorkersTest.test_of_plain_ranks_the_first_one_is_listened_to_and_all_come_to_their_end)
add_by_agents(plain Plain.test_a_script_is_tuned_without_any_file_beside_it Plain.test_schedulers_stop_it_early
              Plain.test_each_iteration_is_kept_once_when_the_driver_is_killed_again_and_again)
add_by_agents(
  plain_checkpoints
  PlainCheckpoints.test_directories_that_become_whole_at_once_are_all_recorded
  PlainCheckpoints.test_pbt_clones_it_from_the_donors_files
  PlainCheckpoints.test_an_exit_code_may_say_that_it_has_saved_and_is_to_be_run_again)
if(NOT TUNE_SANITIZE)
  add_by_agents(preload Preload.test_a_forked_trial_is_like_any_other_but_has_its_modules
                Preload.test_all_ranks_of_all_trials_are_forked_from_one_process)
endif()

# They run several of their tests at once, which mostly wait. They begin first, as no other would run beside the last of them.
set(in_parallel check leaving plain_checkpoints remote keep_local json)
if(NOT TUNE_SANITIZE)
  list(APPEND in_parallel tensorboard)
endif()
list(TRANSFORM in_parallel PREPEND "e2e ")
set_tests_properties(${in_parallel} PROPERTIES PROCESSORS 2 COST 100)
