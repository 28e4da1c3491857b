# STRATA_STATIC: links static libraries (.a) and their own dependencies; builds cJSON, for which Debian has no static library, from its
# released source. Included at the top level, before CMake looks for libraries.
set(PKG_CONFIG_ARGN --static)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -static-pie")
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections -Wl,-z,noexecstack)

# A library for which there is a substitute is left out if only its shared form is installed.
find_library(STRATA_ISAL_STATIC libisal.a)
if(NOT STRATA_ISAL_STATIC)
    set(STRATA_ISAL OFF CACHE BOOL "" FORCE)
endif()

set(STRATA_CJSON_SOURCE "" CACHE PATH "Folder with cJSON.c and cJSON.h (default: Debian's source package, fetched)")
if(NOT STRATA_CJSON_SOURCE)
    set(STRATA_CJSON_SOURCE ${CMAKE_BINARY_DIR}/cjson)
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/cjson-source ${STRATA_CJSON_SOURCE} RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "The source of cJSON could not be had. Name it with -DSTRATA_CJSON_SOURCE=DIR")
    endif()
endif()
configure_file(${STRATA_CJSON_SOURCE}/cJSON.h ${CMAKE_BINARY_DIR}/cjson-include/cjson/cJSON.h COPYONLY)
add_library(strata_cjson STATIC ${STRATA_CJSON_SOURCE}/cJSON.c)
target_include_directories(strata_cjson SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/cjson-include)
target_compile_options(strata_cjson PRIVATE -w)
add_library(PkgConfig::libcjson ALIAS strata_cjson)
