# What `cmake --install` leaves beside the program: the libraries, the headers that users see, and
# the package files for find_package(tune). Two sets of targets, so that a training program that
# links tune::trainable needs none of the driver's libraries.
include(CMakePackageConfigHelpers)

set(tune_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tune)
set(tune_driver_rooms tune_core tune_math tune_space tune_plain tune_spec tune_files tune_store tune_exec tune_host tune_remote tune_loop
                      tune_schedulers tune_searchers tune_callbacks tune_simulation)
foreach(room IN LISTS tune_driver_rooms)
  string(REPLACE "tune_" "" exported ${room})
  set_target_properties(${room} PROPERTIES EXPORT_NAME ${exported})
endforeach()

install(TARGETS tune_trainable EXPORT tuneTrainableTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tune_tuner ${tune_driver_rooms} EXPORT tuneTunerTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(set IN ITEMS tuneTrainableTargets tuneTunerTargets)
  install(EXPORT ${set} NAMESPACE tune:: DESTINATION ${tune_package_dir})
endforeach()

configure_package_config_file(tuner/tuneConfig.cmake.in tuneConfig.cmake
                              INSTALL_DESTINATION ${tune_package_dir})
# Before 1.0 every minor version may change the interface.
write_basic_package_version_file(tuneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tuneConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/tuneConfigVersion.cmake
        DESTINATION ${tune_package_dir})

# The headers to include, and what they include themselves; a test holds this list to that.
set(tune_public_headers
    callbacks/callbacks.h
    schedulers/mutations.h
    schedulers/schedulers.h
    searchers/bohb_options.h
    searchers/gp_options.h
    searchers/searchers.h
    searchers/tpe_options.h
    trainable/blobs.h
    trainable/trainable.h
    trainable/values.h
    tuner/core/callback.h
    tuner/core/catalogue.h
    tuner/core/checkpoint.h
    tuner/core/clock.h
    tuner/core/compact_text.h
    tuner/core/lifetimes.h
    tuner/core/rare.h
    tuner/core/constraint.h
    tuner/core/decision.h
    tuner/space/domain.h
    tuner/core/error.h
    tuner/core/exact_number.h
    tuner/core/event.h
    tuner/core/experiment.h
    tuner/core/expression.h
    tuner/core/expression_functions.h
    tuner/core/expression_tree.h
    tuner/core/failure_rules.h
    tuner/core/metrics.h
    tuner/core/objective.h
    tuner/core/options.h
    tuner/core/problem.h
    tuner/math/random.h
    tuner/core/remote_config.h
    tuner/core/resources.h
    tuner/core/result.h
    tuner/core/retention.h
    tuner/core/rungs_report.h
    tuner/core/scheduler.h
    tuner/space/search_space.h
    tuner/core/searcher.h
    tuner/space/space_tree.h
    tuner/core/state_cost.h
    tuner/core/stopper.h
    tuner/core/trial.h
    tuner/core/why.h
    tuner/exec/detect_resources.h
    tuner/simulation/simulated_program.h
    tuner/loop/loop_end.h
    tuner/plugin.h
    tuner/recorded_results.h
    tuner/result_grid.h
    tuner/loop/resume_plan.h
    tuner/run.h
    tuner/simulation/simulation.h
    tuner/plain/checkpoint_files.h
    tuner/plain/command_words.h
    tuner/plain/plain_program.h
    tuner/plain/save_order.h
    tuner/spec/spec.h
    tuner/tuner.h)
foreach(header IN LISTS tune_public_headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tune/${folder})
endforeach()
