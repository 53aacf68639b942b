# What a package holds beside what is built, and the package itself: `cpack -G DEB` in a build of the
# preset release (docs/packaging.md).
set(tune_data_dir ${CMAKE_INSTALL_DATADIR}/tune)
install(FILES docs/experiment.schema.json DESTINATION ${tune_data_dir})
install(FILES docs/skill/SKILL.md DESTINATION ${tune_data_dir}/skills/tune)
# To be given to pip, or to be named in PYTHONPATH: which Python, and which environment, is the user's affair.
install(DIRECTORY trainable/python DESTINATION ${tune_data_dir}
        PATTERN __pycache__ EXCLUDE
        PATTERN ".*_cache" EXCLUDE
        PATTERN "*.egg-info" EXCLUDE)

# The pages lie to each other as in the sources, so that their links hold.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md AGENTS.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING
        PATTERN "*.md"
        PATTERN "pictures/*"
        PATTERN schemas EXCLUDE)
install(DIRECTORY apps/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/apps
        PATTERN CMakeLists.txt EXCLUDE
        PATTERN run EXCLUDE)
foreach(file IN ITEMS tests/trainable/minimal_client.py tests/e2e/example_plugin.cpp)
  cmake_path(GET file PARENT_PATH folder)
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()

# As Debian's own packages name the release that they are for: deb12.
cmake_host_system_information(RESULT system QUERY DISTRIB_INFO)
string(REPLACE debian deb release "${system_ID}${system_VERSION_ID}")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tune)
set(CPACK_PACKAGE_VENDOR "the authors of tune")
set(CPACK_PACKAGE_CONTACT "the authors of tune <nobody@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "search for hyperparameters with many trials of any program")
set(CPACK_PACKAGE_DESCRIPTION
    "Runs many trials of a training program as processes, steers, saves and resumes them.
With headers and libraries for training programs and drivers in C++.")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~${release})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What a C++ program needs to compile against: a trainable the first, a driver all of them.
string(REGEX MATCH "^[0-9]+\\.[0-9]+" boost ${Boost_VERSION})
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "nlohmann-json3-dev, libboost${boost}-dev, libboost-filesystem${boost}-dev, libsimdjson-dev, libre2-dev, libssl-dev, rclone")
include(CPack)
