# Writes the commit that SOURCE is at into OUTPUT, a header, if that says something else yet. COMMIT
# stands for it where there is no repository, as in a package's sources.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=40 --exclude=*
                OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(found)
  set(COMMIT ${found})
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define TUNE_COMMIT \"@COMMIT@\"\n" @ONLY)
