# Makes what a Debian package needs besides what is installed: compressed manual pages and a changelog. Run by CPack.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()
if(CPACK_PACKAGE_CONTACT MATCHES "@example.com")
    message(STATUS "Nobody answers for this package: set DEBFULLNAME and DEBEMAIL before the first cmake (docs/release.md)")
endif()
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
file(WRITE ${share}/doc/strata/changelog "strata (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * This version, as its source has it.

 -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 1970 00:00:00 +0000
")
file(GLOB files ${share}/man/man1/*.1)
execute_process(COMMAND gzip -9nf ${files} ${share}/doc/strata/changelog RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "gzip: ${result}")
endif()
