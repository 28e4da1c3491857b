# Turns the page and the fonts into C: bundles the scripts, compiles WebAssembly, packs and embeds. Included at the top
# level; sets embedded_sources.
find_program(STRATA_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
if(NOT STRATA_CLANG)
    strata_missing("clang, which compiles the page's WebAssembly," clang)
endif()
find_program(STRATA_ESBUILD NAMES esbuild)
if(NOT STRATA_ESBUILD)
    strata_missing("esbuild, which bundles the page's scripts and styles," esbuild)
endif()
find_program(STRATA_WASM_LD NAMES wasm-ld wasm-ld-19 wasm-ld-18 wasm-ld-17 wasm-ld-16 wasm-ld-15 wasm-ld-14)
if(NOT STRATA_WASM_LD)
    strata_missing("wasm-ld, which links the page's WebAssembly," lld)
endif()
find_program(STRATA_WASM_OPT NAMES wasm-opt) # a page without it is 7 KB larger
set(wasm_language -std=c17 -ffreestanding -fno-builtin -fvisibility=hidden -Wall -Wextra -Wconversion -Wshadow -Werror)
# strata_font(VARIABLE FILE STYLE): finds the file of a font: the variable's value, the place where distributions
# install it, or fontconfig's answer.
function(strata_font variable file style)
    find_file(${variable} ${file} PATHS /usr/share/fonts /usr/local/share/fonts
              PATH_SUFFIXES truetype/dejavu dejavu dejavu-sans-fonts TTF NO_DEFAULT_PATH
              DOC "${file}, which is built into the program for PNGs")
    find_program(STRATA_FC_MATCH NAMES fc-match)
    if(NOT ${variable} AND STRATA_FC_MATCH)
        execute_process(COMMAND ${STRATA_FC_MATCH} -f "%{file}" "DejaVu Sans:style=${style}" OUTPUT_VARIABLE found)
        if(found MATCHES "/${file}$") # fontconfig answers with another font where it lacks the one
            set(${variable} ${found} CACHE FILEPATH "" FORCE)
        endif()
    endif()
    if(NOT EXISTS "${${variable}}")
        strata_missing("${file} (or is elsewhere: -D${variable}=/path/to/${file})" fonts-dejavu-core)
    endif()
endfunction()
strata_font(STRATA_FONT DejaVuSans.ttf Book)
strata_font(STRATA_FONT_BOLD DejaVuSans-Bold.ttf Bold)

# ---- embedded files ----

set(embedded ${CMAKE_BINARY_DIR}/embedded)
file(MAKE_DIRECTORY ${embedded})

# strata_embed(FILE NAME [OF]): embeds the file as the array NAME. OF: adds the hash of this file for a
# Content-Security-Policy.
function(strata_embed input name)
    add_custom_command(
        OUTPUT ${embedded}/${name}.c
        COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${embedded}/${name}.c -DNAME=${name} -DHASH_OF=${ARGN}
                -P ${PROJECT_SOURCE_DIR}/scripts/embed.cmake
        DEPENDS ${input} ${ARGN} ${PROJECT_SOURCE_DIR}/scripts/embed.cmake
        VERBATIM)
    set(embedded_sources ${embedded_sources} ${embedded}/${name}.c PARENT_SCOPE)
endfunction()

# strata_embed_packed(FILE NAME [OF]): the same for the packed form of the file that an inert element of a page holds.
if(NOT liblzma_FOUND)
    strata_missing("liblzma, which packs the page's parts," liblzma-dev)
endif()
add_executable(strata_pack scripts/pack.c)
target_link_libraries(strata_pack PRIVATE PkgConfig::zlib PkgConfig::liblzma)
function(strata_embed_packed input name)
    add_custom_command(
        OUTPUT ${embedded}/${name}.packed
        COMMAND strata_pack ${input} ${embedded}/${name}.packed
        DEPENDS ${input} strata_pack
        VERBATIM)
    strata_embed(${embedded}/${name}.packed ${name} ${ARGN})
    set(embedded_sources ${embedded_sources} PARENT_SCOPE)
endfunction()

# The records and constants that C and JavaScript share, which scripts import as "page_api", and the colours.
set(page_api ${embedded}/api.js)
add_custom_command(
    OUTPUT ${page_api} ${embedded}/palette.css
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/page-api ${embedded} ${STRATA_CLANG}
    DEPENDS scripts/page-api render/page/page_api.def render/raster/colorings.h render/raster/palette.def
            templates/page.html
    VERBATIM)

# strata_bundle(ENTRY): an entry file of templates/ and all it imports as one minified file, ${embedded}/ENTRY, with
# ENTRY.meta.json beside it, which lists its sources.
file(GLOB_RECURSE template_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/templates/*.js
     ${PROJECT_SOURCE_DIR}/templates/*.css)
function(strata_bundle entry)
    add_custom_command(
        OUTPUT ${embedded}/${entry}
        COMMAND ${STRATA_ESBUILD} templates/${entry} --bundle --minify --format=iife --charset=utf8
                --target=chrome105,firefox121,safari16.4 --log-level=warning
                --loader:.gz=base64 --alias:unpack.wasm.gz=${unpack_file} --alias:page_api=${page_api} --alias:palette.css=${embedded}/palette.css
                --metafile=${embedded}/${entry}.meta.json --outfile=${embedded}/${entry}
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        DEPENDS ${template_files} ${unpack_file} ${page_api} ${embedded}/palette.css
        VERBATIM)
endfunction()

# ---- the module that unpacks the page: the smallest is as fast, and every browser with WebAssembly runs it ----

set(unpack_module ${CMAKE_BINARY_DIR}/unpack.wasm)
set(unpack_file ${unpack_module}.gz) # 1.1 KB shorter in the page than the module itself
set(unpack_shrink)
if(STRATA_WASM_OPT)
    set(unpack_shrink COMMAND ${STRATA_WASM_OPT} -Oz --converge --low-memory-unused --strip-producers ${unpack_module}
        -o ${unpack_module})
endif()
add_custom_command(
    OUTPUT ${unpack_file}
    COMMAND ${STRATA_CLANG} --target=wasm32 ${wasm_language} -Oz -nostdlib -Wl,--no-entry,--strip-all,-z,stack-size=4096
            -o ${unpack_module} ${PROJECT_SOURCE_DIR}/templates/unpack.c
    ${unpack_shrink}
    COMMAND gzip -9nf ${unpack_module}
    DEPENDS ${PROJECT_SOURCE_DIR}/templates/unpack.c
    COMMENT "Building what unpacks the page"
    VERBATIM)

strata_embed(${STRATA_FONT} asset_font_regular)
strata_embed(${STRATA_FONT_BOLD} asset_font_bold)
strata_embed(${PROJECT_SOURCE_DIR}/templates/shell.html asset_shell_html)
strata_embed(${PROJECT_SOURCE_DIR}/templates/index.html asset_index_html)
strata_embed(${PROJECT_SOURCE_DIR}/python/torch_strata/recorder.py asset_recorder_py)
# Browsers ignore indentation.
add_custom_command(
    OUTPUT ${embedded}/page.html
    COMMAND sed "s/^ *//" ${PROJECT_SOURCE_DIR}/templates/page.html > ${embedded}/page.html
    DEPENDS ${PROJECT_SOURCE_DIR}/templates/page.html
    VERBATIM)
strata_embed_packed(${embedded}/page.html asset_page_html)

# Each text is exactly the content of its element, over which its hash is computed. Texts that boot.js unpacks are
# packed.
foreach(bundle boot.js boot.css index.js index.css)
    string(REPLACE "." "_" name ${bundle})
    strata_bundle(${bundle})
    strata_embed(${embedded}/${bundle} asset_${name} ${embedded}/${bundle})
endforeach()
foreach(bundle main.js page.css pair.js pair.css)
    string(REPLACE "." "_" name ${bundle})
    strata_bundle(${bundle})
    strata_embed_packed(${embedded}/${bundle} asset_${name} ${embedded}/${bundle})
endforeach()

# ---- WebAssembly: the same trace, layout and raster as the program's, for the page ----

# The page computes with the program's own code: all of these folders except sources that only the program needs.
set(native_sources
    analysis/findings/figures.c analysis/findings/oom_advice.c
    analysis/compare/causes.c analysis/compare/compare_named.c analysis/compare/index.c
    analysis/compare/index_findings.c analysis/compare/index_words.c analysis/compare/outlier_differences.c
    analysis/compare/outliers.c analysis/compare/peers.c analysis/compare/ranks.c analysis/model/whatif_budget.c
    analysis/model/whatif_run.c base/base64.c base/buffer.c base/json_writer.c
    layout/device_part.c layout/merge.c layout/owner.c trace/redact.c)
set(shared_sources)
foreach(folder base trace layout analysis/model analysis/loop analysis/findings analysis/compare render/raster)
    file(GLOB found CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${folder}/*.c)
    list(APPEND shared_sources ${found})
endforeach()
list(REMOVE_ITEM shared_sources ${native_sources})
set(wasm_file ${CMAKE_BINARY_DIR}/strata.wasm)
set(wasm_shrink)
if(STRATA_WASM_OPT)
    # Large functions with one caller are not inlined, which makes the packed module 1.1 KB shorter. Repeating the
    # passes until nothing changes and leaving out alignment hints saves 0.5 KB.
    set(wasm_shrink COMMAND ${STRATA_WASM_OPT} -Oz --converge --dealign --one-caller-inline-max-function-size=100
        --low-memory-unused --enable-simd --enable-bulk-memory --enable-mutable-globals --enable-sign-ext
        --strip-producers ${wasm_file} -o ${wasm_file})
endif()
# Code that runs for every pixel, event or allocation during a drag is optimised for speed, the rest for size, because
# every page contains it.
set(wasm_fast ${shared_sources} ${page_sources})
list(FILTER wasm_fast INCLUDE REGEX "^(base|trace|render/raster)/|layout/(groups|scene|scene_groups|segment_curve|timeline)\\.c")
# Runs only while the view rests, once for a page, or for a few words, so it is optimised for size.
list(FILTER wasm_fast EXCLUDE REGEX "areas|band_names|map_raster|raster_(marks|lines)|base/(arena|format|hashed|ordered|suggest|text|units|words)\\.c|trace/(id_slots|own_code|redact|trace|trace_check|payload_(format|open|pack.*))\\.c")
set(wasm_flags --target=wasm32 ${wasm_language} -mbulk-memory -msimd128 -I${PROJECT_SOURCE_DIR})
set(wasm_objects)
foreach(source ${shared_sources} ${page_sources})
    set(object ${CMAKE_BINARY_DIR}/wasm/${source}.o)
    set(level -Oz)
    if(source MATCHES "layout/scene_groups.c|compare/site_parts.c|base/sort.c|raster/raster.c") # -O3 is no faster here, and larger
        set(level -O2)
    elseif(source MATCHES "trace/payload_read.c|layout/timeline.c") # tables, once (allocations have a file of their own); curves: as fast
        set(level -Os)
    elseif(source IN_LIST wasm_fast)
        set(level -O3)
    endif()
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(
        OUTPUT ${object}
        COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${STRATA_CLANG} ${wasm_flags} ${level} -MD -MF ${object}.d -MT ${object}
                -c ${PROJECT_SOURCE_DIR}/${source} -o ${object}
        DEPENDS ${PROJECT_SOURCE_DIR}/${source}
        DEPFILE ${object}.d
        COMMENT "Building ${source} for the page"
        VERBATIM)
    list(APPEND wasm_objects ${object})
endforeach()
add_custom_command(
    OUTPUT ${wasm_file}
    COMMAND ${STRATA_CLANG} --target=wasm32 -nostdlib
            -Wl,--no-entry,--strip-all,--compress-relocations,-z,stack-size=262144 -o ${wasm_file} ${wasm_objects}
    ${wasm_shrink}
    DEPENDS ${wasm_objects}
    COMMENT "Linking the page's WebAssembly"
    VERBATIM)
strata_embed_packed(${wasm_file} asset_strata_wasm)
