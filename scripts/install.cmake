# What is installed: the program, and what is generated from the tables of its options. Included at the top level.
include(GNUInstallDirs)
set(manual ${CMAKE_BINARY_DIR}/manual)
file(READ ${PROJECT_SOURCE_DIR}/cli/options.h options_header)
string(REGEX MATCHALL "X\\([A-Z0-9]+, [a-z0-9]+\\)" verb_lines "${options_header}")
set(manual_files)
# strata_manual(WHAT FILE): writes what the program prints for WHAT.
function(strata_manual what file)
    add_custom_command(
        OUTPUT ${manual}/${file}
        COMMAND ${CMAKE_COMMAND} -DSTRATA=$<TARGET_FILE:strata> -DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR} -DWHAT=${what} -DOUTPUT=${manual}/${file}
                -P ${PROJECT_SOURCE_DIR}/scripts/manual.cmake
        DEPENDS strata ${PROJECT_SOURCE_DIR}/scripts/manual.cmake
        VERBATIM)
    set(manual_files ${manual_files} ${manual}/${file} PARENT_SCOPE)
endfunction()
file(MAKE_DIRECTORY ${manual})
strata_manual(man strata.1)
foreach(line ${verb_lines})
    string(REGEX REPLACE ".*, ([a-z0-9]+)\\).*" "\\1" verb "${line}")
    strata_manual(${verb} strata-${verb}.1)
endforeach()
set(manual_pages ${manual_files})
strata_manual(bash strata.bash)
strata_manual(zsh _strata)
strata_manual(fish strata.fish)
add_custom_target(strata_manual ALL DEPENDS ${manual_files})

if(SKBUILD)
    install(TARGETS strata RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
    return()
endif()
install(TARGETS strata RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${manual_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${manual}/strata.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME strata)
install(FILES ${manual}/_strata DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${manual}/strata.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
if(STRATA_STATIC)
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/notices ${STRATA_CJSON_SOURCE}
                    OUTPUT_FILE ${CMAKE_BINARY_DIR}/NOTICES COMMAND_ERROR_IS_FATAL ANY)
    install(FILES ${CMAKE_BINARY_DIR}/NOTICES DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.md")

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME strata)
set(contact "The developers of Strata <strata@example.com>")
if(NOT "$ENV{DEBEMAIL}" STREQUAL "")
    set(contact "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_PACKAGE_CONTACT ${contact} CACHE STRING "Who answers for a package (docs/release.md)")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "pictures and reports of PyTorch memory snapshots")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Turns a snapshot of PyTorch's allocator into an interactive page in one
file, a picture or a report: every allocation over the run, by the line of
your own code that made it, what leaks, and what held the memory when it ran
out. Compares recordings, checks limits in pipelines, and plans what would
fit.")
if(STRATA_STATIC)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
else()
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/scripts/package.cmake)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
include(CPack)
