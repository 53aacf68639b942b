# What `cmake --install` leaves beside the program: the libraries, the headers that users see, and
# the package files for find_package(tune). Two sets of targets, so that a training program that
# links tune::trainable needs none of the driver's libraries.
include(CMakePackageConfigHelpers)

set(tune_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tune)
set(tune_driver_rooms
    tune_base tune_disk tune_model tune_policy tune_process tune_math tune_space tune_callbacks
    tune_schedulers tune_searchers tune_journal tune_checkpoints tune_control tune_plain
    tune_execution tune_execution_reactor tune_execution_plain tune_execution_local tune_cluster tune_host tune_remote tune_spec
    tune_run_commit tune_run_checkpoints tune_run_workers tune_run_trials tune_run tune_simulation)
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
    searchers/freeze_thaw_options.h
    searchers/gp_options.h
    searchers/searchers.h
    searchers/tpe_options.h
    trainable/blobs.h
    trainable/trainable.h
    trainable/values.h
    tuner/base/boxed_default.h
    tuner/base/clock.h
    tuner/base/error.h
    tuner/base/exact_number.h
    tuner/base/expression.h
    tuner/base/expression_functions.h
    tuner/base/expression_tree.h
    tuner/base/interned_text.h
    tuner/base/problem.h
    tuner/base/wide_sum.h
    tuner/execution/local/detect_resources.h
    tuner/math/random.h
    tuner/model/checkpoint.h
    tuner/model/constraint.h
    tuner/model/decision.h
    tuner/model/event.h
    tuner/model/experiment.h
    tuner/model/failure_rules.h
    tuner/model/lifetimes.h
    tuner/model/metrics.h
    tuner/model/objective.h
    tuner/model/rationale.h
    tuner/model/remote_config.h
    tuner/model/resources.h
    tuner/model/result.h
    tuner/model/retention.h
    tuner/model/state_cost.h
    tuner/model/trial.h
    tuner/plugin.h
    tuner/policy/callback.h
    tuner/policy/catalogue.h
    tuner/policy/decision_epochs.h
    tuner/policy/options.h
    tuner/policy/rungs_report.h
    tuner/policy/scheduler.h
    tuner/policy/searcher.h
    tuner/policy/stopper.h
    tuner/recorded_results.h
    tuner/result_grid.h
    tuner/run.h
    tuner/run/loop_end.h
    tuner/run/resume_plan.h
    tuner/plain/checkpoint_files.h
    tuner/plain/command_words.h
    tuner/plain/plain_program.h
    tuner/plain/save_order.h
    tuner/simulation/simulated_program.h
    tuner/simulation/simulation.h
    tuner/space/domain.h
    tuner/space/prior.h
    tuner/space/search_space.h
    tuner/space/space_tree.h
    tuner/spec/spec.h
    tuner/tuner.h)
foreach(header IN LISTS tune_public_headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tune/${folder})
endforeach()
