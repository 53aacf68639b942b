tune_room(tune_spec)
set(spec_sources resume_changes.cpp spec.cpp spec_failures.cpp spec_fields.cpp spec_json.cpp spec_policy_file.cpp
                 spec_resources.cpp spec_stop.cpp spec_trainable.cpp)
list(TRANSFORM spec_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
target_sources(tune_spec PRIVATE ${spec_sources})
target_link_libraries(tune_spec PUBLIC tune_core)
