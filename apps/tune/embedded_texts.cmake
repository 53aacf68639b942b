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

# The page that `tune report --html` fills in. A string may not be longer than 64 KiB for every
# compiler, so it comes in parts.
set(report_page ${PROJECT_SOURCE_DIR}/apps/dashboard/page/built/report.html)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${report_page})
file(READ ${report_page} text)
string(LENGTH "${text}" length)
set(report_page_parts "")
foreach(at RANGE 0 ${length} 16000)
  string(SUBSTRING "${text}" ${at} 16000 part)
  string(APPEND report_page_parts "    R\"~text~(${part})~text~\",\n")
endforeach()
file(CONFIGURE OUTPUT generated/apps/tune/report_page_text.h CONTENT
"constexpr const char* report_page_parts[] = {
@report_page_parts@};\n" @ONLY)
