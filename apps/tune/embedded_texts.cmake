# The texts that `tune schema` and `tune init --skill` print, as data of the program.
file(GLOB schemas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/schemas/*.json)
set(embedded_texts "")
foreach(file IN ITEMS ${schemas} ${PROJECT_SOURCE_DIR}/docs/experiment.schema.json ${PROJECT_SOURCE_DIR}/docs/skill/SKILL.md)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  cmake_path(GET file STEM name)
  if(name STREQUAL experiment)
    set(name spec)
  endif()
  file(READ ${file} text)
  string(APPEND embedded_texts "    {\"${name}\", R\"~text~(${text})~text~\"},\n")
endforeach()
file(CONFIGURE OUTPUT generated/apps/tune/embedded_texts.h CONTENT
"struct EmbeddedText {
  const char* name;
  const char* text;
};
constexpr EmbeddedText embedded_texts[] = {
@embedded_texts@};\n" @ONLY)
